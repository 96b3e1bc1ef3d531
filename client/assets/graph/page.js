// Page: draws the graph that stands in the page, and answers clicks, keys and the address's fragment.
//
// In: the JSON of #graph, whose texts come from documents and are never trusted: they reach the page as text only.
// Out: the drawing, the details of what is chosen, the list of relations narrowed to what is shown.
// Invariants: no network, no storage, no chance: the same page gives the same drawing; no two labels overlap. What is
// shown is a function of `view`, which is read from and written to the fragment:
// #node=ID&find=WORDS&only=REL,REL&off=GROUP,GROUP.
(() => {
  const graph = JSON.parse(document.getElementById("graph").textContent);
  const at = (id) => document.getElementById(id);
  const byId = new Map(graph.nodes.map((node) => [String(node.id), node]));
  const relations = [...new Set(graph.edges.map((edge) => edge.rel))].sort();
  const isOverview = graph.communities !== undefined;
  const isDark = window.matchMedia("(prefers-color-scheme: dark)");

  /** What is shown: the chosen entity's id, words to find, relations drawn (all when empty), groups not drawn. */
  const view = { node: null, find: "", only: new Set(), off: new Set() };
  /** The entity or relation of the drawing under the pointer. */
  let pointed = null;

  function readFragment() {
    const said = new URLSearchParams(location.hash.slice(1));
    const listed = (name) => (said.get(name) ?? "").split(",").filter((it) => it !== "");
    view.node = byId.has(said.get("node")) ? said.get("node") : null;
    view.find = said.get("find") ?? "";
    view.only = new Set(listed("only").filter((rel) => relations.includes(rel)));
    view.off = new Set(listed("off").map(Number).filter((group) => group in groups));
  }

  function writeFragment() {
    const said = new URLSearchParams();
    if (view.node !== null) said.set("node", view.node);
    if (view.find !== "") said.set("find", view.find);
    if (view.only.size > 0) said.set("only", [...view.only].join(","));
    if (view.off.size > 0) said.set("off", [...view.off].join(","));
    // Not `location.hash = …`: each letter typed would be a step back in the history.
    history.replaceState(null, "", "#" + said.toString());
  }

  // ---- Groups ----

  // Colors that differ in lightness too (Paul Tol's muted and bright sets); the last is for all further groups.
  const COLORS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee7733", "#009988", "#882255",
    "#999933", "#88ccee", "#bbbbbb"];

  /** What has a color each: communities, or types in the neighborhood of an entity; the largest first. */
  const keyOf = (node) => (isOverview ? node.community : node.type);
  const groups = grouped();
  const numberOf = new Map(groups.flatMap((group, idx) => group.keys.map((key) => [key, idx])));
  const groupOf = (node) => numberOf.get(keyOf(node));

  function grouped() {
    const sizes = new Map();
    for (const node of graph.nodes) sizes.set(keyOf(node), (sizes.get(keyOf(node)) ?? 0) + 1);
    const labels = new Map((graph.communities ?? []).map((it) => [it.id, it.label]));
    const one = ([key, size]) => ({ keys: [key], size, label: labels.get(key) ?? String(key ?? "no community") });
    const all = [...sizes].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(one);
    const rest = all.splice(COLORS.length - 1);
    if (rest.length === 1) all.push(rest[0]);
    if (rest.length > 1) {
      const size = rest.reduce((sum, it) => sum + it.size, 0);
      all.push({ keys: rest.flatMap((it) => it.keys), size, label: `${rest.length} smaller groups` });
    }
    return all;
  }

  // ---- The drawing ----

  function elements() {
    const positions = isOverview ? gathered(graph) : rings(graph);
    const nodes = graph.nodes.map((node, idx) => ({
      data: {
        id: "n" + node.id, node: String(node.id), color: COLORS[groupOf(node)], fade: faded(node),
        label: shortened(node.name, 32), over: isOver(node) ? 1 : 0, size: 10 + 8 * Math.log2(1 + node.n_mentions),
        center: isCenter(node) ? 1 : 0, group: groupOf(node),
      },
      position: positions[idx],
    }));
    const edges = graph.edges.map((edge, idx) => ({
      data: {
        id: "e" + idx, edge: idx, source: "n" + edge.src, target: "n" + edge.dst, width: 1 + 2 * edge.confidence,
        line: edge.n_against > 0 ? "dashed" : edge.n_together ? "dotted" : "solid",
        arrow: edge.n_together ? "none" : "triangle", label: edge.rel,
      },
    }));
    return nodes.concat(edges);
  }

  const isCenter = (node) => !isOverview && node.hop === 0;
  /** How visible a node is: an entry of knowledge as much as its confidence, never wholly gone. */
  const faded = (node) => (node.entry ? 0.25 + 0.75 * Math.min(1, Math.max(0, node.entry.confidence)) : 1);
  /** Whether another entry took its place, or it does not count any more. */
  const isOver = (node) => Boolean(node.entry?.inactive || node.entry?.superseded_by?.length);

  function shortened(text, n) {
    const letters = [...text];
    return letters.length > n ? letters.slice(0, n - 1).join("") + "…" : text;
  }

  function style() {
    const [ink, line, accent] = isDark.matches ? ["#e6e8eb", "#7a838d", "#8ab4f8"] : ["#1b1f24", "#8b939d", "#0b57d0"];
    return [
      { selector: "node", style: {
        "background-color": "data(color)", "background-opacity": "data(fade)", width: "data(size)",
        height: "data(size)", color: ink } },
      { selector: "node[over = 1]", style: { "border-width": 2, "border-style": "dashed", "border-color": line } },
      { selector: "node[center = 1]", style: { "border-width": 4, "border-color": ink } },
      { selector: "edge", style: {
        width: "data(width)", "line-color": line, "target-arrow-color": line, "target-arrow-shape": "data(arrow)",
        "curve-style": "bezier", "line-style": "data(line)", opacity: isOverview ? 0.45 : 1 } },
      { selector: "edge.near", style: { "line-color": accent, "target-arrow-color": accent, opacity: 1 } },
      { selector: "node.chosen", style: { "border-width": 5, "border-color": accent } },
      { selector: "node.found", style: { "border-width": 5, "border-color": "#ee7733" } },
      { selector: ".aside", style: { opacity: 0.12 } },
      { selector: ".out", style: { display: "none" } },
    ];
  }

  const drawing = at("drawing");
  /** Pixels around the drawing as a whole. */
  const PADDING = 40;
  const cy = cytoscape({
    container: drawing, elements: elements(), style: style(), layout: { name: "preset" },
    minZoom: 0.05, maxZoom: 5, boxSelectionEnabled: false, autounselectify: true,
  });
  cy.one("render", () => { drawing.dataset.rendered = "yes"; });
  const isWithin = (edge) => edge.source().data("group") === edge.target().data("group");
  cy.layout({
    name: "cose", randomize: false, animate: false, fit: true, padding: 30,
    idealEdgeLength: (edge) => (!isOverview || isWithin(edge) ? 90 : 260), nodeRepulsion: () => 400000, nodeOverlap: 12,
    edgeElasticity: (edge) => (!isOverview || isWithin(edge) ? 32 : 400),
    // Each step costs the square of the number of entities.
    numIter: Math.max(100, Math.min(1000, Math.floor(2e7 / (1 + graph.nodes.length ** 2)))),
  }).run();
  fill();
  separate(cy);
  cy.fit(undefined, PADDING);
  isDark.addEventListener("change", () => cy.style(style()));

  /** Stretches what the layout made to the shape of the window, at most to double or half its width. */
  function fill() {
    const box = cy.elements().boundingBox({ includeLabels: false });
    if (box.w === 0 || box.h === 0 || cy.height() === 0) return;
    const by = Math.min(2, Math.max(0.5, (cy.width() / cy.height()) * (box.h / box.w)));
    cy.nodes().positions((node) => ({ x: node.position("x") * by, y: node.position("y") }));
  }

  // ---- Labels ----

  /** Lines are labelled in a small graph; in a large one those that an entity in focus has. */
  const MAX_NAMED_RELATIONS = 40;

  /** The most mentioned entity of each group, after which it is called, or the entity asked about. */
  const firsts = new Set(isOverview
    ? groups.filter((it) => it.keys.length === 1).map((it) => graph.nodes.find((node) => keyOf(node) === it.keys[0]))
    : graph.nodes.filter(isCenter));
  const ranked = [...graph.nodes]
    .sort((a, b) => firsts.has(b) - firsts.has(a) || b.n_mentions - a.n_mentions)
    .map((node) => cy.getElementById("n" + node.id));
  const labels = labelsOf(cy, drawing, PADDING, (it) => {
    if (it.isEdge()) return "relation";
    const node = byId.get(it.data("node"));
    return ["entity", firsts.has(node) ? "first" : "", isOver(node) ? "over" : ""].join(" ").trim();
  });

  /** Places the labels, those that matter most first. */
  function label() {
    const isDrawn = (it) => !it.hasClass("out") && !it.hasClass("aside");
    const nodes = ranked.filter(isDrawn);
    const focus = focused();
    const isSmall = graph.edges.length <= MAX_NAMED_RELATIONS && focus === null;
    const lines = cy.edges(isSmall ? undefined : ".near").filter(isDrawn)
      .sort((a, b) => b.data("width") - a.data("width"));
    const isNeeded = (it) => focus !== null || it.hasClass("found") || firsts.has(byId.get(it.data("node")));
    const wanted = focus === null
      ? [...nodes.filter(isNeeded), ...nodes.filter((it) => !isNeeded(it)), ...lines]
      : [focus, ...lines.map((edge) => [...edge.connectedNodes(), edge]).flat()];
    labels.place(new Set(wanted), nodes, isNeeded);
  }

  let isDue = false;
  function labelSoon() {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => { isDue = false; label(); });
  }
  cy.on("pan", labels.follow);
  cy.on("zoom resize", labelSoon);
  cy.on("position", "node", labelSoon);

  // ---- What is shown ----

  const of = (n, one, many) => `${n} ${n === 1 ? one : many}`;
  const isOn = (id) => !view.off.has(groupOf(byId.get(String(id))));
  const isShown = (edge) => (view.only.size === 0 || view.only.has(edge.rel)) && isOn(edge.src) && isOn(edge.dst);
  const words = (text) => text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");

  function found() {
    const wanted = words(view.find.trim());
    if (wanted === "") return [];
    const fits = (node) => [node.name, ...(node.aliases ?? [])].some((name) => words(name).includes(wanted));
    return graph.nodes.filter(fits);
  }

  /** What is looked at: what the pointer is at, else what is chosen. */
  function focused() {
    if (pointed !== null) return pointed;
    return view.node === null ? null : cy.getElementById("n" + view.node);
  }

  function show() {
    const edges = graph.edges.filter(isShown);
    const ends = new Set(edges.flatMap((edge) => [edge.src, edge.dst]));
    const isKept = (node) => isOn(node.id) && (isCenter(node) || view.only.size === 0 || ends.has(node.id));
    const nodes = graph.nodes.filter(isKept);
    const shown = new Set(nodes.map((node) => String(node.id)));
    cy.batch(() => {
      cy.edges().forEach((it) => { it.toggleClass("out", !isShown(graph.edges[it.data("edge")])); });
      cy.nodes().forEach((it) => { it.toggleClass("out", !shown.has(it.data("node"))); });
    });
    const isAtIt = (edge) => view.node === null || [edge.src, edge.dst].some((id) => String(id) === view.node);
    for (const row of at("relations").children) {
      const edge = graph.edges[row.dataset.edge];
      row.hidden = !isShown(edge) || !isAtIt(edge);
    }
    let state = `${of(nodes.length, "entity", "entities")}, ${of(edges.length, "relation", "relations")} shown`;
    if (view.find.trim() !== "") state += `; ${found().length} found`;
    at("state").textContent = state;
    drawing.dataset.nodes = cy.nodes().not(".out").length;
    drawing.dataset.edges = cy.edges().not(".out").length;
    tell(view.node === null ? null : byId.get(view.node));
    mark();
  }

  /** Emphasizes what is found and looked at, and fades the rest. */
  function mark() {
    const hits = new Set(found().map((node) => String(node.id)));
    const focus = focused();
    const near = focus?.isNode() ? focus.closedNeighborhood() : focus?.union(focus.connectedNodes());
    cy.batch(() => {
      cy.elements().removeClass("near chosen found aside");
      cy.nodes().forEach((it) => {
        if (hits.has(it.data("node"))) it.addClass("found");
        else if (hits.size > 0 && focus === null) it.addClass("aside");
      });
      if (near !== undefined) {
        cy.elements().not(near).addClass("aside");
        near.edges().addClass("near");
      }
      if (view.node !== null) cy.getElementById("n" + view.node).addClass("chosen");
    });
    label();
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

  /** The address of a file of the project, where the page knows the folder. */
  const addressOf = (path) => graph.root && graph.root + path.split("/").map(encodeURIComponent).join("/");

  /** A place, as a link to its file; it cannot reach back into this page. */
  function linked(it) {
    const address = addressOf(it.path);
    if (address === undefined) return made("span", place(it));
    const element = made("a", place(it));
    Object.assign(element, { href: address, target: "_blank", rel: "noopener" });
    return element;
  }

  /** The document of an entity: its note, else the one that defines it, else the one that mentions it most. */
  function documentOf(node) {
    if (node.home) return { path: node.home };
    return node.definition ?? node.places[0];
  }

  const CHOOSE = "Choose an entity: click it, or follow a name in the list or the table.";

  function tell(node) {
    const details = at("details");
    if (node === null) {
      details.replaceChildren(made("p", CHOOSE, "faint"));
      return;
    }
    const counts = `${of(node.n_mentions, "mention", "mentions")} in ${of(node.n_documents, "document", "documents")}`;
    const head = made("h2", isOver(node) ? undefined : node.name);
    if (isOver(node)) head.append(made("del", node.name));
    const parts = [head, made("p", `${node.type}, ${counts}`, "faint")];
    if (node.entry) parts.push(made("p", entry(node.entry)));
    if (isOverview) parts.push(made("p", `Community: ${groups[groupOf(node)].label}`, "faint"));
    if (node.definition) {
      const source = made("p", undefined, "faint");
      source.append(linked(node.definition), ` (${node.definition.by})`);
      parts.push(made("blockquote", node.definition.text), source);
    }
    if (node.aliases?.length) parts.push(made("p", "Also: " + node.aliases.join(", ")));
    if (node.home) {
      const note = made("p", "Note: ");
      note.append(linked({ path: node.home }));
      parts.push(note);
    }
    if (node.places.length) parts.push(made("h2", "Mentioned at"), listOf(node.places.map(linked)));
    details.replaceChildren(...parts);
  }

  /** `kb-00042, confidence 45 %, superseded by kb-00043`. */
  function entry(it) {
    const parts = [it.id, `confidence ${Math.round(100 * it.confidence)} %`];
    if (it.superseded_by?.length) parts.push("superseded by " + it.superseded_by.join(", "));
    if (it.inactive) parts.push("does not count any more");
    return parts.join(", ");
  }

  function listOf(parts) {
    const list = made("ul");
    for (const part of parts) list.appendChild(made("li")).append(part);
    return list;
  }

  // ---- Clicks, keys, fragment ----

  function change(what) {
    Object.assign(view, what);
    writeFragment();
    show();
  }

  /** Kinds of relations that leave room for the drawing. */
  const MAX_OPEN_FILTERS = 8;

  function filters() {
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
    at("filters").querySelector("fieldset").replaceChildren(...boxes);
    at("filters").open = relations.length <= MAX_OPEN_FILTERS;
  }

  function checkBoxes() {
    for (const box of at("filters").querySelectorAll("input")) {
      box.checked = view.only.size === 0 || view.only.has(box.name);
    }
    for (const [idx, box] of at("legend").querySelectorAll("input").entries()) box.checked = !view.off.has(idx);
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
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: () => cy.fit(undefined, PADDING),
    n: () => step(1), p: () => step(-1), Escape: () => change({ node: null, find: "" }),
  };

  function legend() {
    at("legend").replaceChildren(...groups.map((group, idx) => {
      const entry = made("label");
      const box = made("input");
      box.type = "checkbox";
      box.addEventListener("change", () => {
        const off = new Set(view.off);
        if (box.checked) off.delete(idx);
        else off.add(idx);
        change({ off });
      });
      const dot = made("span", undefined, "dot");
      dot.style.backgroundColor = COLORS[idx];
      entry.append(box, dot, `${group.label} `, made("span", String(group.size), "faint"));
      return entry;
    }));
  }

  filters();
  legend();
  cy.on("tap", "node", (event) => {
    const id = event.target.data("node");
    change({ node: id });
    const { ctrlKey, metaKey, shiftKey } = event.originalEvent ?? {};
    const place = documentOf(byId.get(id));
    if (place === undefined || addressOf(place.path) === undefined || ctrlKey || metaKey || shiftKey) return;
    linked(place).click();
  });
  cy.on("mouseover", "node, edge", (event) => { pointed = event.target; mark(); });
  cy.on("mouseout", "node, edge", () => { pointed = null; mark(); });
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
  at("fit").addEventListener("click", () => cy.fit(undefined, PADDING));
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
