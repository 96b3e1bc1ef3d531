// Entity: what is known about one, and what a person may correct.
//
// In: #/entity/ID. Out: the page. Merge, split and reject are decisions of `review_links`, which last and can be undone
// at once; its type is what its note states, so retyping writes a note.
import { act, calm, call, entity, h, later, n, percent, place, say, toEntity } from "./base.js";

const reload = () => window.dispatchEvent(new HashChangeEvent("hashchange"));

export async function entityPage({ rest, signal, title }) {
  const entity_id = Number(rest);
  const [it, decisions] = await Promise.all([
    call("explain_entity", { entity_id, limit: 200, why: true }, signal),
    call("entity_decisions", { entity_id }, signal),
  ]);
  const { name, type } = it.entity;
  title(name);
  return {
    content: [
      h("h1", {}, name),
      h(
        "p",
        { class: "faint" },
        `${type} · ${n(it.n_mentions, "mention")} in ${n(it.n_documents, "document")}`,
        it.home && [" · ", place({ path: it.home })],
        " · ",
        h("a", { href: `#/map?entity=${entity_id}` }, "on the map"),
      ),
      it.definition
        ? h(
            "blockquote",
            { class: "definition" },
            it.definition.text,
            " ",
            h("footer", {}, place(it.definition), ` ${it.definition.by}`),
          )
        : "",
      h(
        "div",
        { class: "beside" },
        h("div", {}, relations(it, decisions), goesWith(it), sources(it)),
        h(
          "aside",
          { "aria-label": "Names and corrections" },
          timeline(it.timeline),
          names(it, decisions),
          later("Same name", () => namesakes(it, signal)),
          corrections(it, signal),
        ),
      ),
    ],
  };
}

/** Decides by key, with a way back. */
async function decide(verdict, key, what, show = reload) {
  const done = await act(() => call("review_links", { [verdict]: [key], limit: 1 }), what);
  if (done === undefined) return;
  await show();
  const undo = h(
    "button",
    {
      type: "button",
      onclick: async () => {
        await act(() => call("review_links", { undo: [key], limit: 1 }), "undone");
        reload();
      },
    },
    "Undo",
  );
  document.getElementById("said").append(" ", undo);
}

/** Relations by type and direction, each with its evidence. */
function relations(it, decisions) {
  const own = it.entity.id;
  const keyOf = (one) =>
    decisions.relations.find(
      (known) =>
        known.subject_id === one.subject_id && known.predicate === one.predicate && known.object_id === one.object_id,
    )?.key;
  const groups = new Map();
  for (const one of it.relations) {
    const heading = one.subject_id === own ? `${one.predicate} …` : `… ${one.predicate} it`;
    groups.set(heading, [...(groups.get(heading) ?? []), one]);
  }
  const row = (one) => {
    const [id, name] = one.subject_id === own ? [one.object_id, one.object] : [one.subject_id, one.subject];
    const key = keyOf(one);
    const quote = (evidence) =>
      h(
        "blockquote",
        { class: evidence.pattern.startsWith("against") ? "against" : "" },
        evidence.text,
        " ",
        h(
          "footer",
          {},
          place(evidence),
          ` ${evidence.pattern} ${percent(evidence.confidence)}`,
          evidence.date ? ` ${evidence.date}` : "",
        ),
      );
    return h(
      "li",
      {},
      h("a", { class: "entity", href: toEntity(id), "data-step": true }, name),
      ` ${percent(one.confidence)} `,
      key !== undefined &&
        h(
          "button",
          {
            type: "button",
            "aria-label": `Reject: ${one.subject} ${one.predicate} ${one.object}`,
            onclick: () => decide("reject", key, "rejected; answers show it no more"),
          },
          "Reject",
        ),
      one.evidence.map(quote),
    );
  };
  return h(
    "section",
    {},
    h("h2", {}, n(it.relations.length, "relation")),
    [...groups].map(([heading, all]) => [h("h3", {}, heading), h("ul", { class: "relations" }, all.map(row))]),
  );
}

/** What is mentioned together with it, besides its relations, each with the text that says most. */
function goesWith(it) {
  if (!it.goes_with) return "";
  const row = (one) =>
    h(
      "li",
      { "data-step": true },
      entity(one),
      ` ${n(one.n_together, "time")}`,
      one.units.slice(0, 1).map((unit) => h("blockquote", {}, unit.text, " ", h("footer", {}, place(unit)))),
    );
  return h("section", {}, h("h2", {}, "Goes with"), h("ul", { class: "relations" }, it.goes_with.map(row)));
}

function sources(it) {
  return h(
    "section",
    {},
    h("h2", {}, "Mentioned in"),
    h(
      "ul",
      { class: "relations" },
      it.sources.map((one) =>
        h("li", { "data-step": true }, place(one), ` ${n(one.n_mentions, "mention")}`, h("blockquote", {}, one.text)),
      ),
    ),
  );
}

function timeline(it) {
  if (!it) return "";
  const most = Math.max(...it.counts.map((one) => one.n_mentions), 1);
  return h(
    "section",
    {},
    h("h2", {}, "Timeline"),
    h("p", { class: "faint" }, `first ${it.first.day}, last ${it.last.day}`),
    h(
      "table",
      { class: "bars" },
      h("caption", { class: "quiet" }, `Mentions by ${it.per}`),
      h(
        "tbody",
        {},
        it.counts.map((one) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, one.period),
            h("td", {}, h("meter", { max: String(most), value: String(one.n_mentions), "aria-label": one.period })),
            h("td", { class: "number" }, String(one.n_mentions)),
          ),
        ),
      ),
    ),
  );
}

/** Its other names. One that denotes it by a link can be split off. */
function names(it, decisions) {
  const linked = new Map(decisions.names.map((one) => [one.surface, one]));
  const all = [...new Set([...(it.entity.aliases ?? []), ...linked.keys()])];
  if (all.length === 0) return "";
  const why = new Map((it.why ?? []).map((one) => [one.surface, one.decision]));
  return h(
    "section",
    {},
    h("h2", {}, "Other names"),
    h(
      "ul",
      { class: "short" },
      all.map((name) => {
        const key = linked.get(name)?.key;
        return h(
          "li",
          {},
          name,
          why.has(name) ? h("span", { class: "faint" }, ` ${why.get(name)}`) : "",
          " ",
          key !== undefined &&
            h(
              "button",
              {
                type: "button",
                "aria-label": `Split off: ${name}`,
                onclick: () => decide("reject", key, `${name} denotes something else now`),
              },
              "Split off",
            ),
        );
      }),
    ),
  );
}

/** Other things that go by its name. */
async function namesakes(it, signal) {
  const { entities } = await call("entity_lookup", { q: it.entity.name, limit: 20 }, signal);
  const same = (one) => one.id !== it.entity.id && one.name.toLowerCase() === it.entity.name.toLowerCase();
  const all = entities.filter(same);
  if (all.length === 0) return undefined;
  return h(
    "ul",
    { class: "short" },
    all.map((one) => h("li", {}, entity(one), one.path ? [" ", place(one)] : "")),
  );
}

function corrections(it, signal) {
  const found = h("ul", { class: "short", "aria-label": "Found entities" });
  const look = calm(100, async (q) => {
    if (q.trim() === "") return found.replaceChildren();
    const { entities } = await call("entity_lookup", { q, limit: 6 }, signal);
    found.replaceChildren(
      ...entities
        .filter((one) => one.id !== it.entity.id)
        .map((one) =>
          h(
            "li",
            {},
            entity(one),
            " ",
            h(
              "button",
              { type: "button", "aria-label": `Merge with ${one.name}`, onclick: () => merge(it, one) },
              "Merge",
            ),
          ),
        ),
    );
  });
  const type = h("input", { name: "type", value: it.entity.type, "aria-label": "Type", required: true });
  const retype = async (event) => {
    event.preventDefault();
    const done = await act(
      () => retyped(it, type.value.trim()),
      (reply) => `its note ${reply.path} states the type`,
    );
    if (done !== undefined) reload();
  };
  return h(
    "section",
    {},
    h("h2", {}, "Correct"),
    h(
      "label",
      {},
      "The same as ",
      h("input", { type: "search", autocomplete: "off", oninput: (event) => look(event.target.value) }),
    ),
    found,
    h("form", { onsubmit: retype }, h("label", {}, "Type ", type), " ", h("button", {}, "Set")),
  );
}

async function merge(it, other) {
  const { merge: key } = await call("entity_decisions", { entity_id: it.entity.id, with: other.id });
  if (key === undefined) return say("both have a note of their own: move what one says into the other");
  const show = () => showNamed(it.entity);
  if (confirm(`Are ${it.entity.name} and ${other.name} one thing?`)) await decide("accept", key, "merged", show);
}

/** Shows what a name denotes once all names are resolved: of two things that are merged, either may be gone. */
async function showNamed({ id, name }) {
  await call("wait", { timeout_ms: 5000 });
  const { entities } = await call("entity_lookup", { q: name, limit: 1 });
  const to = toEntity(entities[0]?.id ?? id);
  if (location.hash === to) reload();
  else location.hash = to;
}

/** Writes the type into its note; of one without a note into a new one. */
function retyped(it, type) {
  if (it.home) return call("edit_note", { path: it.home, operation: "set_frontmatter", key: "type", value: type });
  const content = it.definition ? `# ${it.entity.name}\n\n${it.definition.text}\n` : `# ${it.entity.name}\n`;
  return call("write_note", { title: it.entity.name, directory: "entities", note_type: type, content });
}
