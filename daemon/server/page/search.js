// Search: passages as one types, with filters, their reasons, and sources side by side.
//
// In: ?q=…&path=…&tags=…&type=…&after=…&before=…&side=1. Out: hits with their Markdown.
import { calm, call, entity, failure, h, html, place, read, say, step, toDocument } from "./base.js";

/** Pause after a letter, ms: shorter than between two letters of most typists. */
const PAUSE_MS = 60;

const FILTERS = [
  ["path", "Path", "text", "docs/ or **/*.md"],
  ["tags", "Tag", "text", "decision"],
  ["type", "Type", "text", "md, pdf, Service"],
  ["after", "From", "date", ""],
  ["before", "Before", "date", ""],
];

export function searchPage({ query, signal, title }) {
  const box = h("input", {
    id: "q",
    type: "search",
    name: "q",
    autocomplete: "off",
    spellcheck: "false",
    value: query.get("q") ?? "",
    "aria-label": "Search the project",
    placeholder: 'A question, words, "a phrase", tag:…',
    "aria-describedby": "count",
  });
  const fields = FILTERS.map(([name, label, type, placeholder]) =>
    h("label", {}, label, " ", h("input", { name, type, placeholder, value: query.get(name) ?? "" })),
  );
  const side = h("input", { type: "checkbox", name: "side", checked: query.get("side") === "1" });
  const isFiltered = FILTERS.some(([name]) => query.get(name));
  const count = h("p", { id: "count", role: "status", class: "faint" });
  const results = h("div", { id: "results" });
  const form = h(
    "form",
    { role: "search", "aria-label": "Project" },
    box,
    h("details", { open: isFiltered }, h("summary", {}, "Filters"), h("div", { class: "filters" }, fields)),
    h("label", { class: "side" }, side, " Sources side by side"),
  );

  /** What the form says, without what is empty. */
  const wanted = () =>
    [...new FormData(form)]
      .map(([name, value]) => [name, name === "side" ? "1" : value.trim()])
      .filter(([, value]) => value !== "");

  let last = new AbortController();
  let shown = [];
  async function ask() {
    const parameters = Object.fromEntries(wanted());
    const said = new URLSearchParams(parameters).toString();
    history.replaceState(null, "", said === "" ? "#/search" : `#/search?${said}`);
    last.abort();
    last = new AbortController();
    const mine = AbortSignal.any([signal, last.signal]);
    delete parameters.side;
    if (parameters.q === undefined && Object.keys(parameters).length === 0) {
      results.replaceChildren(
        h("p", { class: "faint" }, "Type a question or words. ", h("kbd", {}, "?"), " lists the keys."),
      );
      count.textContent = "";
      return;
    }
    const begun = performance.now();
    try {
      const reply = await read("search", { q: "", k: 20, ...parameters }, mine);
      const passages =
        reply.chunks.length === 0
          ? { passages: [] }
          : await call("render_document", { chunks: reply.chunks.map((it) => it.id) }, mine);
      if (mine.aborted) return;
      const rendered = new Map(passages.passages.map((it) => [it.id, it.html]));
      shown = reply.chunks.map((hit, idx) => hitOf(hit, rendered.get(hit.id), reply.explanations[idx]));
      draw(reply, Math.round(performance.now() - begun));
      highlight(parameters.q ?? "");
    } catch (error) {
      if (mine.aborted) return;
      results.replaceChildren(failure(error));
    }
  }

  function draw(reply, ms) {
    results.dataset.ms = ms;
    const files = new Set(reply.chunks.map((it) => it.path)).size;
    count.textContent =
      reply.chunks.length === 0 ? "Nothing found" : `${reply.chunks.length} passages of ${files} documents in ${ms} ms`;
    const notes = [
      reply.nothing_relevant ? "Nothing fits the question; these are the nearest." : undefined,
      reply.relaxed,
      reply.hint,
    ].filter((it) => it !== undefined);
    results.replaceChildren(
      ...notes.map((it) => h("p", { class: "hint" }, it)),
      (reply.entities.length > 0 &&
        h(
          "ul",
          { class: "chips", "aria-label": "Entities" },
          reply.entities.slice(0, 12).map((it) => h("li", {}, entity(it))),
        )) ||
        "",
      arranged(),
    );
  }

  /** The hits in their order, or a column for each document. */
  function arranged() {
    if (!side.checked)
      return h(
        "ol",
        { class: "hits" },
        shown.map((it) => h("li", {}, it.element)),
      );
    const columns = new Map();
    for (const it of shown) columns.set(it.path, [...(columns.get(it.path) ?? []), it.element]);
    return h(
      "div",
      { class: "columns" },
      [...columns].map(([path, elements]) =>
        h("section", { "aria-label": path }, h("h2", {}, h("a", { href: toDocument(path) }, path)), elements),
      ),
    );
  }

  const soon = calm(PAUSE_MS, ask);
  form.addEventListener("input", soon);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    history.pushState(null, "", location.hash);
    ask();
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    step(results.querySelectorAll("[data-step]"), 0);
  });
  title("Search");
  return {
    content: [h("h1", { class: "quiet" }, "Search"), form, count, results],
    ready: ask,
    keys: {
      w: ["why this hit", () => why()],
      c: [
        "sources side by side",
        () => {
          side.click();
          say(side.checked ? "side by side" : "in order");
        },
      ],
    },
  };
}

/** Opens the reasons of the hit that has the focus. */
function why() {
  const details = document.activeElement?.closest("article")?.querySelector("details");
  if (details) details.open = !details.open;
}

function hitOf(hit, rendered, explanation) {
  const body = rendered === undefined ? h("div", { class: "text" }, h("p", {}, hit.snippet)) : html(rendered, "text");
  const element = h(
    "article",
    { class: hit.weak ? "hit weak" : "hit" },
    h("h2", {}, h("a", { href: toDocument(hit.path), "data-step": true }, hit.section || hit.path)),
    h(
      "p",
      { class: "faint" },
      place(hit),
      ` · ${hit.score.toFixed(2)}`,
      hit.weak ? " · weak" : "",
      hit.source_url ? ` · ${hit.source_url}` : "",
    ),
    body,
    h(
      "details",
      {},
      h("summary", {}, "Why this hit"),
      h("p", {}, explanation ?? ""),
      components(hit.components),
      hit.also_in &&
        h(
          "p",
          {},
          `Also in ${hit.also_in.n} more: `,
          hit.also_in.places.flatMap((it) => [place(it), " "]),
        ),
    ),
  );
  return { path: hit.path, element };
}

/** The parts of a score, the largest first. */
function components(parts) {
  const rows = Object.entries(parts ?? {}).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  if (rows.length === 0) return undefined;
  return h(
    "table",
    {},
    h("caption", { class: "quiet" }, "Parts of the score"),
    h(
      "tbody",
      {},
      rows.map(([name, value]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, name),
          h("td", {}, h("meter", { min: "0", max: "1", value: String(Math.max(0, value)), "aria-label": name })),
          h("td", { class: "number" }, value.toFixed(3)),
        ),
      ),
    ),
  );
}

/** Marks the words of the question, without changing the text. */
function highlight(q) {
  if (!("highlights" in CSS)) return;
  const words = q.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  const ranges = [];
  for (const body of document.querySelectorAll("#results .text")) {
    const walk = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const text = walk.currentNode.textContent.toLowerCase();
      for (const word of words) {
        for (let from = text.indexOf(word); from >= 0; from = text.indexOf(word, from + word.length)) {
          const range = new Range();
          range.setStart(walk.currentNode, from);
          range.setEnd(walk.currentNode, from + word.length);
          ranges.push(range);
        }
      }
    }
  }
  CSS.highlights.set("words", new Highlight(...ranges));
}
