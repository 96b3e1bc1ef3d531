// Page: which page is shown, by the address's fragment, and the keys that work on all of them.
//
// In: #/NAME/REST?PARAMETERS. Out: the page in #main; its title.
// Invariants: a page that was left draws nothing any more (`signal`); the fragment alone says what is shown.
import { at, failure, h, step } from "./base.js";
import { documentPage } from "./document.js";
import { entityPage } from "./entity.js";
import { healthPage } from "./health.js";
import { mapPage } from "./map.js";
import { memoryPage } from "./memory.js";
import { reviewPage } from "./review.js";
import { searchPage } from "./search.js";

const PAGES = [
  { name: "search", title: "Search", show: searchPage, isListed: true },
  { name: "map", title: "Map", show: mapPage, isListed: true },
  { name: "review", title: "Review", show: reviewPage, isListed: true },
  { name: "memory", title: "Memory", show: memoryPage, isListed: true },
  { name: "health", title: "Health", show: healthPage, isListed: true },
  { name: "document", title: "Document", show: documentPage },
  { name: "entity", title: "Entity", show: entityPage },
];

const listed = PAGES.filter((it) => it.isListed);

/** Keys on all pages: what each does, in the words of the list, and how. */
const KEYS = {
  "/": ["search", () => focusSearch()],
  j: ["next", () => step(document.querySelectorAll("main [data-step]"), 1)],
  k: ["previous", () => step(document.querySelectorAll("main [data-step]"), -1)],
  Enter: ["open what has the focus", undefined],
  b: ["back", () => history.back()],
  "?": ["this list", () => help()],
  ...Object.fromEntries(
    listed.map((it, idx) => [
      String(idx + 1),
      [
        it.title,
        () => {
          location.hash = `#/${it.name}`;
        },
      ],
    ]),
  ),
};

let leaving = new AbortController();
let ownKeys = {};
let wantsSearch = true;

function focusSearch() {
  const box = at("q");
  if (box !== null) {
    box.focus();
    box.select();
    return;
  }
  wantsSearch = true;
  location.hash = "#/search";
}

function help() {
  const rows = Object.entries({ ...KEYS, ...ownKeys }).map(([key, [what]]) => [
    h("dt", {}, h("kbd", {}, key)),
    h("dd", {}, what),
  ]);
  at("key-list").replaceChildren(...rows.flat());
  at("keys").showModal();
}

async function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  const page = PAGES.find((it) => it.name === name) ?? PAGES[0];
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  for (const link of at("pages").children) {
    if (link.dataset.name === page.name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const main = at("main");
  main.dataset.page = page.name;
  main.setAttribute("aria-busy", "true");
  ownKeys = {};
  const title = (text) => {
    document.title = `${text} – kgd`;
  };
  title(page.title);
  try {
    const shown = await page.show({
      rest: rest.map(decodeURIComponent).join("/"),
      query: new URLSearchParams(query),
      signal,
      title,
    });
    if (signal.aborted) return;
    ownKeys = shown.keys ?? {};
    main.replaceChildren(...[shown.content].flat());
    shown.ready?.();
  } catch (error) {
    if (signal.aborted) return;
    main.replaceChildren(h("h1", {}, page.title), failure(error));
  }
  main.removeAttribute("aria-busy");
  if (wantsSearch && at("q") !== null) at("q").focus();
  else if (!main.contains(document.activeElement)) main.focus();
  wantsSearch = false;
  window.scrollTo(0, 0);
}

at("pages").append(
  ...listed.map((it, idx) =>
    h("a", { href: `#/${it.name}`, "data-name": it.name, "aria-keyshortcuts": String(idx + 1) }, it.title),
  ),
);
at("help").addEventListener("click", help);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  at("main").focus();
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const isTyping =
    event.target.matches("input, textarea, select, [contenteditable]") && event.target.type !== "checkbox";
  if (isTyping && event.key === "Escape") {
    // A search field would lose its words.
    event.preventDefault();
    event.target.blur();
  }
  if (isTyping || at("keys").open || event.target.closest("[role=application]") !== null) return;
  const [, does] = ownKeys[event.key] ?? KEYS[event.key] ?? [];
  if (does === undefined) return;
  event.preventDefault();
  does();
});
window.addEventListener("hashchange", route);
route();
