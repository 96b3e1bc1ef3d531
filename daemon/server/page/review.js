// Review: what is doubtful, to be accepted or rejected by keys.
//
// In: ?kind=KIND. Out: items of `review_links`, one after the other; each decision can be undone.
import { act, call, claimed, h, n, percent, place, say, step } from "./base.js";

/** Kinds of items: name, title, and which items they hold. */
const KINDS = [
  ["all", "All", () => true],
  ["links", "Doubtful links", (it) => it.kind === "link" || it.kind === "unsure"],
  ["merges", "Proposed merges", (it) => it.kind === "same_as"],
  ["contradictions", "Contradictions", isContradicted],
  ["relations", "Relations", (it) => it.kind === "relation" && !isContradicted(it)],
  ["remembered", "Remembered by agents", (it) => it.isRemembered],
];

function isContradicted(it) {
  return it.kind === "relation" && it.claim.includes("; contradicted");
}

/** Folders in which agents write what is to be remembered. */
const MEMORY = ["memory", "kb"];

export async function reviewPage({ query, signal, title }) {
  title("Review");
  const [doubtful, ...remembered] = await Promise.all([
    call("review_links", { limit: 100 }, signal),
    ...MEMORY.map((path) => call("review_links", { path, limit: 100 }, signal)),
  ]);
  const known = new Set();
  const all = [
    ...remembered.flatMap((it) => it.items.map((item) => ({ ...item, isRemembered: true }))),
    ...doubtful.items,
  ].filter((it) => !known.has(it.key) && known.add(it.key));
  const kind = KINDS.find(([name]) => name === query.get("kind")) ?? KINDS[0];
  const items = all.filter(kind[2]);
  /** Decisions of this visit, the last one last. */
  const done = [];
  const left = h("p", { role: "status", class: "faint" });
  const list = h("ol", { class: "hits" }, items.map(row));
  const count = () => {
    left.textContent = `${n(items.length - done.length, "item")} left, ${n(done.length, "decision")} now`;
  };

  function row(it) {
    const evidence = it.evidence && h("blockquote", {}, it.evidence.text, " ", h("footer", {}, place(it.evidence)));
    const features = Object.entries(it.features ?? {});
    const buttons = h(
      "p",
      {},
      h("button", { type: "button", onclick: () => decide("accept", it) }, "Accept ", h("kbd", {}, "a")),
      " ",
      h("button", { type: "button", onclick: () => decide("reject", it) }, "Reject ", h("kbd", {}, "r")),
    );
    return h(
      "li",
      { "data-key": it.key, "data-step": true, tabindex: "0", class: "item" },
      h("p", {}, claimed(it.claim), ` ${percent(it.confidence)} `, h("span", { class: "chip" }, it.kind)),
      evidence,
      features.length > 0 &&
        h("p", { class: "faint" }, features.map(([name, value]) => `${name} ${value.toFixed(2)}`).join(", ")),
      buttons,
    );
  }

  const rowOf = (key) => [...list.children].find((it) => it.dataset.key === key);

  async function decide(verdict, it) {
    const element = rowOf(it.key);
    const reply = await act(
      () => call("review_links", { [verdict]: [it.key], limit: 1 }),
      `${verdict}ed: ${it.claim}; u undoes`,
    );
    if (reply === undefined) return;
    step(list.querySelectorAll("[data-step]:not([hidden])"), 1);
    element.hidden = true;
    done.push(it);
    if (!list.contains(document.activeElement) || document.activeElement.hidden) {
      list.querySelector("[data-step]:not([hidden])")?.focus();
    }
    count();
  }

  async function undo() {
    const it = done.pop();
    if (it === undefined) return say("nothing to undo");
    const reply = await act(() => call("review_links", { undo: [it.key], limit: 1 }), `undone: ${it.claim}`);
    if (reply === undefined) return done.push(it);
    const element = rowOf(it.key);
    element.hidden = false;
    element.focus();
    count();
  }

  /** The item that has the focus, else the first. */
  function current() {
    const element = document.activeElement?.closest("[data-key]") ?? list.querySelector("[data-step]:not([hidden])");
    return items.find((it) => it.key === element?.dataset.key);
  }
  const withCurrent = (verdict) => () => {
    const it = current();
    if (it !== undefined) decide(verdict, it);
  };
  count();
  return {
    content: [
      h("h1", {}, "Review"),
      h(
        "nav",
        { "aria-label": "Kinds", class: "tabs" },
        KINDS.map(([name, label, holds]) =>
          h(
            "a",
            { href: `#/review?kind=${name}`, "aria-current": name === kind[0] ? "page" : undefined },
            `${label} ${all.filter(holds).length}`,
          ),
        ),
      ),
      left,
      items.length === 0 ? h("p", {}, "Nothing to decide.") : list,
    ],
    ready: () => list.querySelector("[data-step]")?.focus(),
    keys: {
      a: ["accept the item", withCurrent("accept")],
      r: ["reject the item", withCurrent("reject")],
      u: ["undo the last decision", undo],
    },
  };
}
