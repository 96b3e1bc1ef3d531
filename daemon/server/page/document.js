// Document: its text with the entities marked, what links to it, what is like it, and what it was.
//
// In: #/document/PATH. Out: the page.
import {
  act,
  call,
  entity,
  failure,
  h,
  has,
  html,
  later,
  n,
  place,
  read,
  toDocument,
  toEntity,
  toSearch,
} from "./base.js";

/** Characters of the document's beginning by which documents like it are found; a question has at most 1,000. */
const MAX_LIKE_CHARS = 900;

export async function documentPage({ rest, signal, title }) {
  const { document: it } = await read("document", { path: rest }, signal);
  title(it.title);
  const text = html(it.html, "text document");
  const said = [it.doc_type ?? it.format, it.day, it.language];
  const tags = it.tags.map((tag) => h("li", {}, h("a", { href: toSearch({ tags: tag }) }, `#${tag}`)));
  const counted = (one) => h("li", { "data-step": true }, entity(one), ` ${one.n_mentions}`);
  return {
    content: [
      h("h1", {}, it.title),
      h(
        "p",
        { class: "faint" },
        `${it.path} · ${said.join(" · ")}`,
        it.entity_id !== undefined && [" · ", h("a", { href: toEntity(it.entity_id) }, "its entity")],
      ),
      (tags.length > 0 && h("ul", { class: "chips", "aria-label": "Tags" }, tags)) || "",
      it.plain ? h("p", { class: "hint" }, it.plain) : "",
      h(
        "div",
        { class: "beside" },
        h("article", { "aria-label": "Text" }, text),
        h(
          "aside",
          { "aria-label": "About this document" },
          h(
            "section",
            {},
            h("h2", {}, n(it.entities.length, "entity", "entities")),
            h("ul", { class: "short" }, it.entities.slice(0, 40).map(counted)),
          ),
          later("Links to it", () => backlinks(it, signal)),
          later("Like it", () => alike(it, text, signal)),
          it.is_note ? later("History", () => past(it, signal)) : "",
        ),
      ),
    ],
  };
}

async function backlinks(it, signal) {
  const { backlinks: all } = await call("backlinks", { path: it.path, page_size: 50 }, signal);
  if (all.length === 0) return h("p", { class: "faint" }, "none");
  return h(
    "ul",
    { class: "short" },
    all.map((one) => h("li", { "data-step": true }, place(one), ` ${one.relation}`, h("blockquote", {}, one.said))),
  );
}

/** The documents whose meaning is nearest to its beginning. */
async function alike(it, text, signal) {
  const q = `${it.title} ${text.textContent}`.replace(/["*():\s-]+/g, " ").slice(0, MAX_LIKE_CHARS);
  const { chunks } = await call("hybrid_query", { q, k: 30, formula: "vector" }, signal);
  const paths = [...new Set(chunks.filter((hit) => !hit.weak).map((hit) => hit.path))].filter(
    (path) => path !== it.path,
  );
  if (paths.length === 0) return h("p", { class: "faint" }, "none");
  return h(
    "ul",
    { class: "short" },
    paths.slice(0, 6).map((path) => h("li", { "data-step": true }, h("a", { href: toDocument(path) }, path))),
  );
}

/** What is known of its versions; nothing where this daemon keeps none. */
async function past(it, signal) {
  if (!(await has("note_history"))) return undefined;
  const reply = await call("note_history", { path: it.path, limit: 20 }, signal);
  const shown = h("div", {});
  const one = (change) =>
    h(
      "li",
      { "data-step": true },
      h("time", { datetime: change.at }, change.at.replace("T", " ").slice(0, 16)),
      ` ${change.kind} +${change.n_added} −${change.n_removed}`,
      change.by ? ` by ${change.by}` : "",
      change.version !== undefined &&
        h(
          "span",
          {},
          " ",
          h("button", { type: "button", onclick: () => difference(it, change.version, shown) }, "Difference"),
          " ",
          h(
            "button",
            { type: "button", onclick: () => restore(it, change, reply.checksum) },
            "Restore what was before",
          ),
        ),
    );
  return [h("ul", { class: "short" }, reply.changes.map(one)), shown];
}

async function difference(it, version, shown) {
  try {
    const { content } = await call("note_history", { path: it.path, version, diff: true });
    const kind = { "+": "came", "-": "went", "@": "faint" };
    const lines = (content ?? "").split("\n").map((line) => h("span", { class: kind[line[0]] }, `${line}\n`));
    shown.replaceChildren(h("pre", { class: "diff", tabindex: "0", "aria-label": "Difference" }, lines));
  } catch (error) {
    shown.replaceChildren(failure(error));
  }
}

async function restore(it, { version, at }, expected_checksum) {
  if (!confirm(`Write the version before ${at} back? What is there now is kept as a version.`)) return;
  const done = await act(() => call("restore_note", { path: it.path, version, expected_checksum }), "restored");
  if (done !== undefined) window.dispatchEvent(new HashChangeEvent("hashchange"));
}
