// Map: the whole folder by communities, a community by its entities, or what is around one entity.
//
// In: #/map?entity=ID or ?community=N, with type=, path=, after=, before=. Out: a drawing, and a list that says the
// same. How far in one looks decides how much is drawn: communities from afar, the entities of one from near, so that
// thousands stay readable. Invariants: no chance: the same graph gives the same drawing; no two labels overlap.
import { call, entity, h, n, toEntity } from "./base.js";

/** Most entities that the daemon is asked for. */
const LIMIT = 5000;

/** Most things in one drawing; the list has the others. */
const MAX_DRAWN = 300;
const MAX_COMMUNITIES = 120;

/** Relative to the whole in view, from which zoom on a community opens, and under which it closes. */
const OPENS_AT = 4;
const CLOSES_AT = 0.4;

// Colors that differ in lightness too (Paul Tol's muted and bright sets).
const COLORS = [
  "#4477aa",
  "#ee6677",
  "#228833",
  "#ccbb44",
  "#66ccee",
  "#aa3377",
  "#ee7733",
  "#009988",
  "#882255",
  "#999933",
  "#88ccee",
  "#bbbbbb",
];
const PADDING = 40;

/** The last answer about the whole folder, and when it came. */
let kept = { at: -Infinity };
const KEPT_MS = 60_000;

async function whole(signal) {
  if (performance.now() - kept.at > KEPT_MS) {
    kept = { reply: await call("graph", { limit: LIMIT }, signal), at: performance.now() };
  }
  return kept.reply;
}

const loaded = new Map();
/** Loads a classic script once. */
function script(src) {
  if (!loaded.has(src)) {
    loaded.set(
      src,
      new Promise((done, failed) => {
        document.head.append(
          h("script", { src, onload: done, onerror: () => failed(new Error(`${src} cannot be loaded`)) }),
        );
      }),
    );
  }
  return loaded.get(src);
}

export async function mapPage({ query, signal, title }) {
  title("Map");
  const entity_id = query.has("entity") ? Number(query.get("entity")) : undefined;
  const [reply] = await Promise.all([
    entity_id === undefined ? whole(signal) : call("graph", { entity_id, hops: 2, limit: 200 }, signal),
    script("/page/places.js"),
    script("/page/cytoscape.js"),
  ]);
  const view = { community: query.has("community") ? Number(query.get("community")) : undefined, entity_id };
  const types = Object.entries(Object.groupBy(reply.nodes, (it) => it.type)).sort((a, b) => b[1].length - a[1].length);
  const form = h(
    "form",
    { class: "filters", "aria-label": "Filters" },
    h(
      "label",
      {},
      "Type ",
      h(
        "select",
        { name: "type" },
        h("option", { value: "" }, "all"),
        types.map(([type, all]) =>
          h("option", { value: type, selected: query.get("type") === type }, `${type} (${all.length})`),
        ),
      ),
    ),
    h("label", {}, "Path ", h("input", { name: "path", value: query.get("path") ?? "", placeholder: "docs/" })),
    h("label", {}, "Stated from ", h("input", { type: "date", name: "after", value: query.get("after") ?? "" })),
    h("label", {}, "before ", h("input", { type: "date", name: "before", value: query.get("before") ?? "" })),
    h("label", {}, "Find ", h("input", { type: "search", name: "find", autocomplete: "off" })),
  );
  const path = h("nav", { "aria-label": "Where in the map", class: "tabs" });
  const state = h("p", { role: "status", class: "faint" });
  const drawing = h("div", {
    id: "drawing",
    tabindex: "0",
    role: "application",
    "aria-label":
      "Drawing of the graph; the list says the same. Arrows move, plus and minus zoom, 0 shows all, Escape goes back.",
  });
  const list = h("div", { class: "list", tabindex: "0", role: "region", "aria-label": "What is drawn" });
  let cy;

  function filtered() {
    const { type, path: prefix, after, before, find } = Object.fromEntries(new FormData(form));
    const isDated = after !== "" || before !== "";
    const isIn = (edge) =>
      !isDated ||
      (edge.evidence?.date !== undefined &&
        (after === "" || edge.evidence.date >= after) &&
        (before === "" || edge.evidence.date < before));
    const edges = reply.edges.filter(isIn);
    const dated = new Set(edges.flatMap((edge) => [edge.src, edge.dst]));
    const word = find.toLowerCase();
    const fits = (node) =>
      (type === "" || node.type === type) &&
      (!isDated || dated.has(node.id)) &&
      (prefix === "" || [node.home, ...node.places.map((it) => it.path)].some((it) => it?.startsWith(prefix))) &&
      (word === "" || [node.name, ...(node.aliases ?? [])].some((it) => it.toLowerCase().includes(word)));
    const nodes = reply.nodes.filter(fits);
    const ids = new Set(nodes.map((node) => node.id));
    return { nodes, edges: edges.filter((edge) => ids.has(edge.src) && ids.has(edge.dst)) };
  }

  function address() {
    const said = [...new FormData(form)].filter(([name, value]) => value !== "" && name !== "find");
    if (view.community !== undefined) said.push(["community", view.community]);
    if (entity_id !== undefined) said.push(["entity", entity_id]);
    history.replaceState(null, "", `#/map?${new URLSearchParams(said)}`);
  }

  /** Looks at all communities, or into one. */
  function look(community) {
    view.community = community;
    address();
    draw();
  }

  function draw() {
    const graph = filtered();
    const isWhole = entity_id === undefined && view.community === undefined;
    const shown = isWhole ? ofCommunities(graph, reply.communities ?? []) : ofEntities(graph, view);
    const name = reply.communities?.find((it) => it.id === view.community)?.label;
    path.replaceChildren(
      h(
        "a",
        {
          href: "#/map",
          onclick: (event) => {
            if (entity_id !== undefined) return;
            event.preventDefault();
            look(undefined);
          },
          "aria-current": isWhole ? "page" : undefined,
        },
        "Whole folder",
      ),
      name !== undefined ? h("span", { "aria-current": "page" }, name) : "",
      entity_id !== undefined ? h("span", { "aria-current": "page" }, reply.nodes[0]?.name ?? "") : "",
    );
    const stated = graph.edges.filter((edge) => edge.n_together === undefined).length;
    state.textContent =
      `${n(graph.nodes.length, "entity", "entities")}, ${n(stated, "relation")}` +
      (stated < graph.edges.length ? `, ${n(graph.edges.length - stated, "association")}` : "") +
      (isWhole ? ` in ${n(shown.all.length, "community", "communities")}` : "") +
      (shown.nodes.length < shown.all.length ? `; ${shown.nodes.length} drawn, the list has all` : "");
    list.replaceChildren(
      h(
        "ul",
        { class: "short" },
        shown.all.map((it) =>
          h(
            "li",
            { "data-step": true },
            isWhole
              ? h("button", { type: "button", onclick: () => look(it.community) }, `${it.label} (${it.n})`)
              : entity(it.node),
          ),
        ),
      ),
    );
    cy?.destroy();
    cy = drawn(
      drawing,
      shown,
      isWhole
        ? (it) => look(it.community)
        : (it) => {
            location.hash = toEntity(it.node.id);
          },
    );
    follow(isWhole);
  }

  /** Opens the community in the middle of the view when one looks closer, and closes it when one steps back. */
  function follow(isWhole) {
    const fit = cy.zoom();
    cy.on("zoom", () => {
      const by = cy.zoom() / fit;
      if (isWhole && by > OPENS_AT) {
        const middle = { x: cy.width() / 2, y: cy.height() / 2 };
        const far = (it) => Math.hypot(it.renderedPosition("x") - middle.x, it.renderedPosition("y") - middle.y);
        const nearest = cy.nodes().min(far).ele;
        if (nearest) setTimeout(() => look(nearest.data("own").community));
      } else if (view.community !== undefined && by < CLOSES_AT) {
        setTimeout(() => look(undefined));
      }
    });
  }

  const zoom = (by) => cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  const KEYS = {
    ArrowLeft: () => cy.panBy({ x: 60, y: 0 }),
    ArrowRight: () => cy.panBy({ x: -60, y: 0 }),
    ArrowUp: () => cy.panBy({ x: 0, y: 60 }),
    ArrowDown: () => cy.panBy({ x: 0, y: -60 }),
    "+": () => zoom(1.25),
    "=": () => zoom(1.25),
    "-": () => zoom(0.8),
    0: () => cy.fit(undefined, PADDING),
    Escape: () => view.community !== undefined && look(undefined),
  };
  drawing.addEventListener("keydown", (event) => {
    if (KEYS[event.key] === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  form.addEventListener("input", () => {
    address();
    draw();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  isDark.addEventListener("change", () => draw(), { signal });
  signal.addEventListener("abort", () => cy?.destroy());
  return {
    content: [
      h("h1", {}, "Map"),
      form,
      path,
      state,
      reply.truncated ? h("p", { class: "hint" }, reply.truncated) : "",
      h("div", { class: "map" }, drawing, list),
    ],
    ready: draw,
  };
}

/** A thing for each community: as large as it has entities, with a line for the relations between two. */
function ofCommunities(graph, communities) {
  const of = new Map(graph.nodes.map((node) => [node.id, node.community]));
  const sizes = new Map();
  for (const node of graph.nodes) sizes.set(node.community, (sizes.get(node.community) ?? 0) + 1);
  const all = communities
    .filter((it) => sizes.has(it.id))
    .map((it) => ({ id: `c${it.id}`, community: it.id, label: it.label, n: sizes.get(it.id) }))
    .sort((a, b) => b.n - a.n);
  const nodes = all
    .slice(0, MAX_COMMUNITIES)
    .map((it, idx) => ({ ...it, size: 14 + 6 * Math.sqrt(it.n), color: COLORS[idx % COLORS.length] }));
  const drawn = new Set(nodes.map((it) => it.community));
  const lines = new Map();
  for (const edge of graph.edges) {
    const [a, b] = [of.get(edge.src), of.get(edge.dst)].sort((x, y) => x - y);
    if (a !== b && drawn.has(a) && drawn.has(b)) lines.set(`${a} ${b}`, (lines.get(`${a} ${b}`) ?? 0) + 1);
  }
  const edges = [...lines].map(([ends, count]) => {
    const [a, b] = ends.split(" ");
    return { source: `c${a}`, target: `c${b}`, width: 1 + Math.log2(count), label: "", isPlain: true };
  });
  const places = nodes.map((_, idx) => sunflower(idx, 120));
  return { all, nodes, edges, places };
}

/** A thing for each entity of a community, or around one; the most mentioned first. */
function ofEntities(graph, view) {
  const isIn = (node) => view.community === undefined || node.community === view.community;
  const own = graph.nodes.filter(isIn);
  const all = own.map((node) => ({ id: `n${node.id}`, node, label: node.name, n: node.n_mentions }));
  if (view.entity_id === undefined) all.sort((a, b) => b.n - a.n);
  const types = [...new Set(own.map((node) => node.type))];
  const nodes = all
    .slice(0, MAX_DRAWN)
    .map((it) => ({
      ...it,
      size: 10 + 8 * Math.log2(1 + it.n),
      color: COLORS[types.indexOf(it.node.type) % COLORS.length],
    }));
  const ids = new Set(nodes.map((it) => it.node.id));
  const edges = graph.edges
    .filter((edge) => ids.has(edge.src) && ids.has(edge.dst))
    .map((edge) => ({
      source: `n${edge.src}`,
      target: `n${edge.dst}`,
      width: 1 + 2 * edge.confidence,
      label: edge.rel,
      line: edge.n_against > 0 ? "dashed" : edge.n_together ? "dotted" : "solid",
      isPlain: edge.n_together !== undefined,
    }));
  const places =
    view.entity_id === undefined
      ? nodes.map((_, idx) => sunflower(idx, 70))
      : rings({ nodes: nodes.map((it) => it.node) });
  return { all, nodes, edges, places };
}

/** Draws things and lines; gives the drawing. */
function drawn(container, { nodes, edges, places }, choose) {
  container.replaceChildren();
  const [ink, line] = matchMedia("(prefers-color-scheme: dark)").matches
    ? ["#e6e8eb", "#7a838d"]
    : ["#1b1f24", "#8b939d"];
  const elements = [
    ...nodes.map((it, idx) => ({
      data: { id: it.id, own: it, label: [...it.label].slice(0, 40).join(""), size: it.size, color: it.color },
      position: places[idx],
    })),
    ...edges.map((it, idx) => ({
      data: { id: `e${idx}`, line: "solid", ...it, arrow: it.isPlain ? "none" : "triangle" },
    })),
  ];
  const cy = cytoscape({
    container,
    elements,
    layout: { name: "preset" },
    minZoom: 0.05,
    maxZoom: 8,
    boxSelectionEnabled: false,
    autounselectify: true,
    style: [
      {
        selector: "node",
        style: { "background-color": "data(color)", width: "data(size)", height: "data(size)", color: ink },
      },
      {
        selector: "edge",
        style: {
          width: "data(width)",
          "line-color": line,
          "target-arrow-color": line,
          "target-arrow-shape": "data(arrow)",
          "curve-style": "bezier",
          "line-style": "data(line)",
          opacity: 0.5,
        },
      },
      { selector: ".near", style: { opacity: 1 } },
    ],
  });
  cy.layout({
    name: "cose",
    randomize: false,
    animate: false,
    fit: true,
    padding: PADDING,
    idealEdgeLength: () => 110,
    nodeRepulsion: () => 400000,
    nodeOverlap: 12,
    // Each step costs the square of the number of things.
    numIter: Math.max(60, Math.min(600, Math.floor(1e7 / (1 + nodes.length ** 2)))),
  }).run();
  separate(cy);
  cy.fit(undefined, PADDING);
  const labels = labelsOf(cy, container, PADDING, (it) => (it.isEdge() ? "relation" : "entity"));
  let pointed = null;
  const label = () => {
    if (cy.destroyed()) return;
    const lines = pointed?.isNode() ? pointed.connectedEdges() : cy.edges().slice(0, edges.length <= 40 ? 40 : 0);
    const near = pointed?.isNode() ? [pointed, ...pointed.neighborhood("node")] : [];
    const wanted = [...near, ...lines.filter((it) => it.data("label") !== ""), ...cy.nodes()];
    labels.place(new Set(wanted), [...cy.nodes()], (it) => near.includes(it));
  };
  let isDue = false;
  const soon = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      label();
    });
  };
  cy.on("pan", labels.follow);
  cy.on("zoom resize", soon);
  cy.on("position", "node", soon);
  cy.on("tap", "node", (event) => choose(event.target.data("own")));
  cy.on("mouseover", "node", (event) => {
    pointed = event.target;
    pointed.connectedEdges().addClass("near");
    soon();
  });
  cy.on("mouseout", "node", () => {
    cy.edges().removeClass("near");
    pointed = null;
    soon();
  });
  label();
  container.dataset.nodes = nodes.length;
  return cy;
}
