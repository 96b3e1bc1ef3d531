// Base: the token, calls of tools, elements, and what all pages share.
//
// In: names of tools with arguments. Out: replies, or a `Failed` with code, message and hint.
// Invariants: the token is taken out of the address at once and is sent in a head alone; texts reach the page as text;
// the only HTML that is inserted is what the daemon rendered (`html`), which has no scripts, styles or foreign tags.

/** The token: from the address, where `kgctl open` put it, then of this tab. */
const token = (() => {
  const given = /^#token=([0-9A-Za-z_-]+)/.exec(location.hash);
  if (given !== null) {
    sessionStorage.setItem("token", given[1]);
    history.replaceState(null, "", location.pathname + "#/search");
  }
  return sessionStorage.getItem("token") ?? "";
})();

/** Why a call failed. */
export class Failed extends Error {
  constructor({ code, message, hint }) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

async function answered(response) {
  const body = await response.json().catch(() => ({}));
  if (response.ok) {
    if (body.project !== undefined) fresh(body);
    return body;
  }
  if (response.status === 401) {
    throw new Failed({ code: "token", message: "this tab has no token, or an old one", hint: "run kgctl open" });
  }
  const { code, message, hint, data } = body.error ?? {};
  throw new Failed({ code: data?.code ?? code, message: message ?? response.statusText, hint: data?.hint ?? hint });
}

function sent(path, options) {
  const headers = { Authorization: `Bearer ${token}`, ...options.headers };
  return fetch(path, { ...options, headers, cache: "no-store", redirect: "error" }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Failed({ code: "gone", message: "the daemon does not answer", hint: "run kgctl open" });
  });
}

/** Calls a tool. */
export async function call(tool, args = {}, signal = undefined) {
  const headers = { "Content-Type": "application/json" };
  return answered(await sent(`/api/tool/${tool}`, { method: "POST", headers, body: JSON.stringify(args), signal }));
}

/** Asks by an address alone, for what only reads. */
export async function read(name, parameters, signal = undefined) {
  return answered(await sent(`/api/${name}?${new URLSearchParams(parameters)}`, { signal }));
}

/** Shows how fresh the last answer was. */
function fresh({ project, tick, building }) {
  at("project").textContent = project;
  at("fresh").textContent = building ?? `tick ${tick}`;
}

export const at = (id) => document.getElementById(id);

/** An element with attributes, listeners (`onclick`) and contents: texts, elements, lists of these. */
export function h(tag, attributes = {}, ...contents) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...contents.flat(3).filter((it) => it !== undefined && it !== null && it !== false));
  return element;
}

/** What the daemon rendered. */
export function html(rendered, className) {
  const element = h("div", { class: className });
  element.innerHTML = rendered;
  return element;
}

const part = (path) => path.split("/").map(encodeURIComponent).join("/");
export const toDocument = (path) => `#/document/${part(path)}`;
export const toEntity = (id) => `#/entity/${id}`;
export const toSearch = (parameters) => `#/search?${new URLSearchParams(parameters)}`;

/** A place as people cite it, as a link to its document. */
export function place({ path, line, lines, page, pages }) {
  const [first, last] = pages ?? [page, page];
  const [from, to] = lines ?? [line, line];
  const range = (a, b) => (a === b || !b ? `${a}` : `${a}–${b}`);
  const where = first ? ` p. ${range(first, last)}` : from ? `:${range(from, to)}` : "";
  return h("a", { class: "place", href: toDocument(path) }, path + where);
}

export const entity = ({ id, name, type }) =>
  h("span", { class: "chip" }, h("a", { class: "entity", href: toEntity(id) }, name), type ? ` ${type}` : "");

export const n = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

export const percent = (part) => `${Math.round(100 * part)} %`;

let tools;
/** Whether the daemon has a tool. */
export async function has(tool) {
  tools ??= sent("/api/tools", {}).then(answered);
  return (await tools).tools.includes(tool);
}

/** A claim of the daemon, with what it quotes made strong. */
export const claimed = (claim) => claim.split("`").map((it, idx) => (idx % 2 === 1 ? h("strong", {}, it) : it));

/** Says something to all readers, those of screens too. */
export function say(text) {
  at("said").textContent = text;
}

export function failure(error) {
  return h("p", { class: "failed", role: "alert" }, error.message, error.hint ? h("br") : "", error.hint ?? "");
}

/** A section that fills itself; it goes where `load` gives nothing. */
export function later(title, load) {
  const body = h("div", {}, h("p", { class: "faint" }, "…"));
  const section = h("section", {}, h("h2", {}, title), body);
  Promise.resolve(load()).then(
    (made) => (made === undefined ? section.remove() : body.replaceChildren(...[made].flat(3))),
    (error) => error.name !== "AbortError" && body.replaceChildren(failure(error)),
  );
  return section;
}

/** Does something for a person who pressed a button, and says how it went. */
export async function act(what, done) {
  try {
    const reply = await what();
    say(typeof done === "function" ? done(reply) : done);
    return reply;
  } catch (error) {
    say(`${error.message}${error.hint ? ` (${error.hint})` : ""}`);
    return undefined;
  }
}

/** Moves among elements that may have the focus, those of the list. */
export function step(elements, by) {
  const all = [...elements];
  const here = all.findIndex((it) => it.contains(document.activeElement));
  const next = all[Math.min(all.length - 1, Math.max(0, here < 0 ? 0 : here + by))];
  const target = next?.matches("a, button, [tabindex]") ? next : next?.querySelector("a, button");
  target?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** Calls once no further call has come for so long. */
export function calm(ms, then) {
  let due;
  return (...args) => {
    clearTimeout(due);
    due = setTimeout(() => then(...args), ms);
  };
}
