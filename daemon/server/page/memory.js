// Memory: what agents wrote, by day and agent, and the entries of knowledge with their decay.
import { act, call, h, n, percent, place, toSearch } from "./base.js";

/** Types of entries; the daemon lists the entries of one. */
const TYPES = ["factual_reference", "decision", "pattern_convention", "lesson_learned"];

export async function memoryPage({ signal, title }) {
  title("Memory");
  const ofType = (scope) =>
    call("kb_ask", { question: "all", strategy: "timeline", scope, include_stale: true, limit: 500 }, signal);
  const [deeds, stats, ...byType] = await Promise.all([
    call("memory_report", { history: 500 }, signal),
    call("get_stats", {}, signal),
    ...TYPES.map(ofType),
  ]);
  const entries = byType.flatMap((it) => it.entries).sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
  return {
    content: [
      h("h1", {}, "Memory"),
      h(
        "p",
        { class: "faint" },
        `${n(stats.node_count, "entity", "entities")}, ${n(stats.observation_count, "fact")}, `,
        n(stats.relation_count, "relation"),
      ),
      h("section", {}, h("h2", {}, "What agents did"), days(deeds.history ?? [])),
      h("section", {}, h("h2", {}, "Entries"), table(entries)),
    ],
  };
}

/** Changes by day, and in it by agent. */
function days(deeds) {
  if (deeds.length === 0) return h("p", { class: "faint" }, "Nothing yet.");
  const byDay = Map.groupBy(deeds, (it) => it.at.slice(0, 10));
  return [...byDay].map(([day, ofDay]) =>
    h(
      "section",
      {},
      h("h3", {}, h("time", { datetime: day }, day)),
      [...Map.groupBy(ofDay, (it) => it.client || "unknown")].map(([client, all]) =>
        h(
          "details",
          { open: true },
          h("summary", { "data-step": true, tabindex: "0" }, `${client}: ${n(all.length, "change")}`),
          h(
            "ul",
            { class: "short" },
            all.map((it) =>
              h(
                "li",
                {},
                h("time", { datetime: it.at }, it.at.slice(11, 16)),
                ` ${it.operation} `,
                h("a", { href: toSearch({ q: `"${it.name}"` }) }, it.name),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

/** Entries with what time did to them. */
function table(entries) {
  if (entries.length === 0) return h("p", { class: "faint" }, "None found.");
  const row = (it) =>
    h(
      "tr",
      { class: it.inactive || it.superseded_by?.length ? "over" : "" },
      h("th", { scope: "row" }, h("span", { "data-step": true }, place({ path: it.path }))),
      h("td", {}, it.short_title),
      h("td", {}, h("time", { datetime: it.created_at }, it.created_at.slice(0, 10))),
      h("td", {}, it.entry_type.replaceAll("_", " ")),
      h(
        "td",
        {},
        h("meter", {
          max: "1",
          low: "0.3",
          high: "0.5",
          optimum: "1",
          value: String(it.confidence),
          "aria-label": `Confidence of ${it.id}`,
        }),
        ` ${percent(it.confidence)}`,
      ),
      h(
        "td",
        {},
        it.superseded_by?.length
          ? `superseded by ${it.superseded_by.join(", ")}`
          : it.inactive
            ? "inactive"
            : (it.warning ?? ""),
      ),
      h(
        "td",
        {},
        h(
          "button",
          {
            type: "button",
            "aria-label": `${it.inactive ? "Reactivate" : "Deactivate"} ${it.id}`,
            onclick: (event) => switched(it, event.target),
          },
          it.inactive ? "Reactivate" : "Deactivate",
        ),
      ),
    );
  return h(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": "Entries" },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Entry", "Title", "Made", "Type", "Confidence now", "State", "Change"].map((it) =>
            h("th", { scope: "col" }, it),
          ),
        ),
      ),
      h("tbody", {}, entries.map(row)),
    ),
  );
}

async function switched(it, button) {
  const action = it.inactive ? "reactivate" : "deactivate";
  const done = await act(
    () => call("kb_maintain", { action, entry_id: it.id, change_reason: "decided on the page" }),
    `${action}d ${it.id}`,
  );
  if (done === undefined) return;
  it.inactive = !it.inactive;
  button.textContent = it.inactive ? "Reactivate" : "Deactivate";
  button.closest("tr").classList.toggle("over", it.inactive);
}
