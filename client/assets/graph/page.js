// Draws the graph that stands in the page, and answers clicks, keys and the address's fragment.
//
// In: the JSON of #graph, whose texts come from documents and are never trusted: they reach the page as text only.
// Out: the drawing, the details of what is chosen, the tables narrowed to what is shown.
// Invariants: no network, no storage, no chance: the same page gives the same drawing. What is shown is a function of
// `view`, which is read from and written to the fragment: #node=ID&find=WORDS&only=REL,REL.
"use strict";
(() => {
  const graph = JSON.parse(document.getElementById("graph").textContent);
  const at = (id) => document.getElementById(id);
  const byId = new Map(graph.nodes.map((node) => [String(node.id), node]));
  const relations = [...new Set(graph.edges.map((edge) => edge.rel))].sort();
  const types = [...new Set(graph.nodes.map((node) => node.type))].sort();
  const isDark = window.matchMedia("(prefers-color-scheme: dark)");

  /** What is shown: the chosen entity's id, words to find, relations drawn (all when empty). */
  const view = { node: null, find: "", only: new Set() };

  function readFragment() {
    const said = new URLSearchParams(location.hash.slice(1));
    view.node = byId.has(said.get("node")) ? said.get("node") : null;
    view.find = said.get("find") ?? "";
    const only = (said.get("only") ?? "").split(",");
    view.only = new Set(only.filter((rel) => relations.includes(rel)));
  }

  function writeFragment() {
    const said = new URLSearchParams();
    if (view.node !== null) said.set("node", view.node);
    if (view.find !== "") said.set("find", view.find);
    if (view.only.size > 0) said.set("only", [...view.only].join(","));
    // Not `location.hash = …`: each letter typed would be a step back in the history.
    history.replaceState(null, "", "#" + said.toString());
  }

  // ---- The drawing ----

  // Twelve colors that differ in lightness too (Paul Tol's muted and bright sets), given to types by name.
  const COLORS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#ee7733", "#009988",
    "#882255", "#999933", "#88ccee"];
  const colorOf = (type) => COLORS[types.indexOf(type) % COLORS.length];
  // Labels are legible in a small graph only; in a large one the others come with a choice.
  const MAX_NAMED_ENTITIES = 80;
  const MAX_NAMED_RELATIONS = 40;

  /** Where entities stand before the layout: rings by hop, so that nothing is left to chance. */
  function rings() {
    const sizes = [];
    for (const node of graph.nodes) sizes[node.hop] = (sizes[node.hop] ?? 0) + 1;
    const placed = [];
    return graph.nodes.map((node) => {
      const nth = (placed[node.hop] = (placed[node.hop] ?? -1) + 1);
      const angle = (2 * Math.PI * nth) / sizes[node.hop] + node.hop / 2;
      const radius = node.hop * (120 + sizes[node.hop] * 6);
      return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
    });
  }

  function elements() {
    const positions = rings();
    // The entity asked about, then those with most relations; those told first on a tie.
    const degrees = new Map();
    for (const id of graph.edges.flatMap((edge) => [edge.src, edge.dst])) degrees.set(id, (degrees.get(id) ?? 0) + 1);
    const weight = (node) => (node.hop === 0 ? Infinity : degrees.get(node.id) ?? 0);
    const ranked = [...graph.nodes].sort((a, b) => weight(b) - weight(a) || 0);
    const named = new Set(ranked.slice(0, MAX_NAMED_ENTITIES).map((node) => node.id));
    const nodes = graph.nodes.map((node, idx) => ({
      classes: named.has(node.id) ? "named" : "",
      data: {
        id: "n" + node.id, node: String(node.id), color: colorOf(node.type), fade: faded(node),
        label: isOver(node) ? struck(shortened(node.name, 32)) : shortened(node.name, 32), over: isOver(node) ? 1 : 0,
        size: 18 + 6 * Math.log2(1 + node.n_mentions), center: node.hop === 0 ? 1 : 0,
      },
      position: positions[idx],
    }));
    const edges = graph.edges.map((edge, idx) => ({
      data: {
        id: "e" + idx, source: "n" + edge.src, target: "n" + edge.dst, rel: edge.rel, width: 1 + 2 * edge.confidence,
        label: edge.rel, line: edge.n_against > 0 ? "dashed" : "solid",
      },
    }));
    return nodes.concat(edges);
  }

  /** How visible a node is: an entry of knowledge as much as its confidence, never wholly gone. */
  const faded = (node) => (node.entry ? 0.25 + 0.75 * Math.min(1, Math.max(0, node.entry.confidence)) : 1);
  /** Whether another entry took its place, or it does not count any more. */
  const isOver = (node) => Boolean(node.entry?.inactive || node.entry?.superseded_by?.length);
  /** Struck through, by a mark over each letter: a drawing has no other way. */
  const struck = (text) => [...text].map((letter) => letter + "\u0336").join("");

  function shortened(text, n) {
    const letters = [...text];
    return letters.length > n ? letters.slice(0, n - 1).join("") + "…" : text;
  }

  function style() {
    const [ink, line, ground, accent] = isDark.matches
      ? ["#e6e8eb", "#7a838d", "#14171a", "#8ab4f8"]
      : ["#1b1f24", "#8b939d", "#ffffff", "#0b57d0"];
    const edgeLabel = graph.edges.length <= MAX_NAMED_RELATIONS ? "data(label)" : "";
    const font = 12 * scale;
    return [
      { selector: "node", style: {
        "background-color": "data(color)", "background-opacity": "data(fade)", "text-opacity": "data(fade)", width: "data(size)", height: "data(size)", color: ink, "font-size": font,
        "text-valign": "bottom", "text-margin-y": font / 4, "text-outline-color": ground,
        "text-outline-width": font / 6, "min-zoomed-font-size": 5 } },
      { selector: "node.named", style: { label: "data(label)" } },
      { selector: "node[over = 1]", style: { "border-width": 2, "border-style": "dashed", "border-color": line } },
      { selector: "node[center = 1]", style: { "border-width": 4, "border-color": ink } },
      { selector: "edge", style: {
        width: "data(width)", "line-color": line, "target-arrow-color": line, "target-arrow-shape": "triangle",
        "curve-style": "bezier", "line-style": "data(line)", label: edgeLabel, color: ink,
        "font-size": font * 0.75, "text-rotation": "autorotate", "text-outline-color": ground,
        "text-outline-width": font / 6, "min-zoomed-font-size": 5 } },
      { selector: ".near", style: { label: "data(label)", "line-color": accent, "target-arrow-color": accent } },
      { selector: "node.chosen", style: { "border-width": 5, "border-color": accent } },
      { selector: "node.found", style: { label: "data(label)", "border-width": 5, "border-color": "#ee7733" } },
      { selector: ".aside", style: { opacity: 0.2 } },
      { selector: ".out", style: { display: "none" } },
    ];
  }

  // How much larger letters are drawn in a graph that is shown small as a whole.
  let scale = 1;
  const drawing = at("drawing");
  const cy = cytoscape({
    container: drawing, elements: elements(), style: style(), layout: { name: "preset" },
    minZoom: 0.05, maxZoom: 5, boxSelectionEnabled: false, autounselectify: true,
  });
  cy.one("render", () => { drawing.dataset.rendered = "yes"; });
  cy.layout({
    name: "cose", randomize: false, animate: false, fit: true, padding: 30, nodeDimensionsIncludeLabels: true,
    idealEdgeLength: () => 90, nodeRepulsion: () => 400000, nodeOverlap: 12,
    // Each step costs the square of the number of entities.
    numIter: Math.max(100, Math.min(1000, Math.floor(6e6 / (1 + graph.nodes.length ** 2)))),
  }).run();
  fill();
  scale = Math.min(4, Math.max(1, 1 / cy.zoom()));
  cy.style(style());
  cy.fit(cy.nodes(), 20);
  isDark.addEventListener("change", () => cy.style(style()));

  /** Stretches what the layout made to the shape of the window, at most to double or half its width. */
  function fill() {
    const box = cy.elements().boundingBox({ includeLabels: false });
    if (box.w === 0 || box.h === 0 || cy.height() === 0) return;
    const by = Math.min(2, Math.max(0.5, (cy.width() / cy.height()) * (box.h / box.w)));
    cy.nodes().positions((node) => ({ x: node.position("x") * by, y: node.position("y") }));
    cy.fit(undefined, 40);
  }

  // ---- What is shown ----

  const of = (n, one, many) => `${n} ${n === 1 ? one : many}`;
  const isShown = (edge) => view.only.size === 0 || view.only.has(edge.rel);
  const words = (text) => text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");

  function found() {
    const wanted = words(view.find.trim());
    if (wanted === "") return [];
    const fits = (node) => [node.name, ...(node.aliases ?? [])].some((name) => words(name).includes(wanted));
    return graph.nodes.filter(fits);
  }

  function show() {
    const edges = graph.edges.filter(isShown);
    const ends = new Set(edges.flatMap((edge) => [edge.src, edge.dst]));
    const nodes = graph.nodes.filter((node) => node.hop === 0 || view.only.size === 0 || ends.has(node.id));
    const shown = new Set(nodes.map((node) => node.id));
    const hits = found();
    const hit = new Set(hits.map((node) => String(node.id)));
    cy.batch(() => {
      cy.elements().removeClass("near chosen found aside out");
      cy.edges().forEach((it) => { if (!isShown(it.data())) it.addClass("out"); });
      cy.nodes().forEach((it) => {
        if (!shown.has(byId.get(it.data("node")).id)) it.addClass("out");
        if (hit.has(it.data("node"))) it.addClass("found");
        else if (hit.size > 0) it.addClass("aside");
      });
      if (view.node !== null) {
        const chosen = cy.getElementById("n" + view.node);
        const near = chosen.closedNeighborhood();
        cy.elements().not(near).addClass("aside");
        near.edges().addClass("near");
        chosen.addClass("chosen");
      }
    });
    for (const row of document.querySelectorAll("#relations tbody tr")) {
      row.hidden = !isShown(graph.edges[row.dataset.edge]);
    }
    let state = `${of(nodes.length, "entity", "entities")}, ${of(edges.length, "relation", "relations")} shown`;
    if (view.find.trim() !== "") state += `; ${hits.length} found`;
    at("state").textContent = state;
    drawing.dataset.nodes = cy.nodes().not(".out").length;
    drawing.dataset.edges = cy.edges().not(".out").length;
    tell(view.node === null ? null : byId.get(view.node));
  }

  // ---- Details ----

  /** An element with text; never markup. */
  function made(tag, text, className) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className !== undefined) element.className = className;
    return element;
  }

  function place(it) {
    if (it.page !== undefined) return `${it.path} p. ${it.page}`;
    if (it.line) return `${it.path}:${it.line}`;
    return it.section ? `${it.path} § ${it.section}` : it.path;
  }

  function link(id) {
    const element = made("a", byId.get(String(id)).name);
    element.href = "#node=" + id;
    return element;
  }

  function tell(node) {
    const details = at("details");
    if (node === null) {
      details.replaceChildren(made("p", "Choose an entity: click it, or follow a name in the tables below.", "faint"));
      return;
    }
    const counts = `${of(node.n_mentions, "mention", "mentions")} in ${of(node.n_documents, "document", "documents")}`;
    const head = made("h2", isOver(node) ? undefined : node.name);
    if (isOver(node)) head.append(made("del", node.name));
    const parts = [head, made("p", `${node.type}, ${counts}`, "faint")];
    if (node.entry) parts.push(made("p", entry(node.entry)));
    if (node.definition) {
      parts.push(made("blockquote", node.definition.text));
      parts.push(made("p", `${place(node.definition)} (${node.definition.by})`, "faint"));
    }
    if (node.aliases?.length) parts.push(made("p", "Also: " + node.aliases.join(", ")));
    if (node.home) parts.push(made("p", "Note: " + node.home));
    if (node.places.length) parts.push(made("h2", "Mentioned at"), listOf(node.places.map((it) => made("li", place(it)))));
    const own = graph.edges.filter((edge) => isShown(edge) && (edge.src === node.id || edge.dst === node.id));
    if (own.length) parts.push(made("h2", "Relations"), listOf(own.map(said)));
    details.replaceChildren(...parts);
  }

  /** `kb-00042, confidence 45 %, superseded by kb-00043`. */
  function entry(it) {
    const parts = [it.id, `confidence ${Math.round(100 * it.confidence)} %`];
    if (it.superseded_by?.length) parts.push("superseded by " + it.superseded_by.join(", "));
    if (it.inactive) parts.push("does not count any more");
    return parts.join(", ");
  }

  function listOf(items) {
    const list = made("ul");
    list.append(...items);
    return list;
  }

  function said(edge) {
    const item = made("li");
    item.append(link(edge.src), ` ${edge.rel} `, link(edge.dst), ` ${edge.confidence.toFixed(2)}`);
    if (edge.n_against > 0) item.append(made("strong", " contradicted"));
    if (edge.evidence) {
      item.append(made("blockquote", edge.evidence.text), made("span", place(edge.evidence), "faint"));
    }
    return item;
  }

  // ---- Clicks, keys, fragment ----

  function change(what) {
    Object.assign(view, what);
    writeFragment();
    show();
  }

  function filters() {
    const legend = made("legend", "Relations:");
    const boxes = relations.map((rel) => {
      const label = made("label");
      const box = made("input");
      box.type = "checkbox";
      box.name = rel;
      box.addEventListener("change", () => {
        const on = [...at("filters").querySelectorAll("input:checked")].map((it) => it.name);
        // All and none are the same wish: everything.
        change({ only: new Set(on.length === relations.length ? [] : on) });
        checkBoxes();
      });
      const n = graph.edges.filter((edge) => edge.rel === rel).length;
      label.append(box, ` ${rel} `, made("span", String(n), "faint"));
      return label;
    });
    at("filters").replaceChildren(legend, ...boxes);
  }

  function checkBoxes() {
    for (const box of at("filters").querySelectorAll("input")) {
      box.checked = view.only.size === 0 || view.only.has(box.name);
    }
  }

  function fromFragment() {
    readFragment();
    at("find").value = view.find;
    checkBoxes();
    show();
    bring();
  }

  /** Moves the drawing when the chosen entity is out of sight. */
  function bring() {
    if (view.node === null) return;
    const chosen = cy.getElementById("n" + view.node);
    const [{ x, y }, seen] = [chosen.position(), cy.extent()];
    if (x < seen.x1 || x > seen.x2 || y < seen.y1 || y > seen.y2) cy.center(chosen);
  }

  /** The next or previous entity in the order of the table. */
  function step(by) {
    const here = graph.nodes.findIndex((node) => String(node.id) === view.node);
    const next = (here + by + graph.nodes.length) % graph.nodes.length;
    change({ node: String(graph.nodes[here < 0 ? 0 : next].id) });
    bring();
  }

  const zoom = (by) => cy.zoom({
    level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 },
  });
  const KEYS = {
    ArrowLeft: () => cy.panBy({ x: 60, y: 0 }), ArrowRight: () => cy.panBy({ x: -60, y: 0 }),
    ArrowUp: () => cy.panBy({ x: 0, y: 60 }), ArrowDown: () => cy.panBy({ x: 0, y: -60 }),
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: () => cy.fit(undefined, 30),
    n: () => step(1), p: () => step(-1), Escape: () => change({ node: null, find: "" }),
  };

  function legend() {
    at("legend").replaceChildren(...types.map((type) => {
      const entry = made("span", type);
      const dot = made("span", undefined, "dot");
      dot.style.backgroundColor = colorOf(type);
      entry.prepend(dot);
      return entry;
    }));
  }

  filters();
  legend();
  cy.on("tap", "node", (event) => change({ node: event.target.data("node") }));
  cy.on("tap", (event) => { if (event.target === cy) change({ node: null }); });
  drawing.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
    at("find").value = view.find;
  });
  at("find").addEventListener("input", (event) => change({ find: event.target.value }));
  at("find").addEventListener("keydown", (event) => {
    const first = found()[0];
    if (event.key !== "Enter" || first === undefined) return;
    change({ node: String(first.id) });
    bring();
  });
  at("fit").addEventListener("click", () => cy.fit(undefined, 30));
  // A name anywhere in the page chooses its entity, and leaves the rest of the view as it is.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#node="]');
    if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    change({ node: link.hash.slice("#node=".length) });
    bring();
    drawing.scrollIntoView({ block: "nearest" });
  });
  window.addEventListener("hashchange", fromFragment);
  at("controls").hidden = false;
  fromFragment();
})();
