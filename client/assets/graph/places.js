// Places: where entities stand before the layout and after it, and which labels have room.
//
// Invariants: no chance; no two labels overlap.
"use strict";

const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
/** The nth place of a sunflower: places spread evenly over a disc. */
function sunflower(n, unit) {
  const [radius, angle] = [unit * Math.sqrt(n), n * GOLDEN_ANGLE];
  return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
}

/** Where entities stand before the layout, so that nothing is left to chance: each community together. */
function gathered(graph) {
  const sizes = new Map(graph.communities.map((it) => [it.id, it.size]));
  const [centers, placed] = [new Map(), new Map()];
  let before = 0;
  for (const [key, size] of sizes) {
    centers.set(key, sunflower(before === 0 ? 0 : before + size / 2, 60));
    before += size;
  }
  return graph.nodes.map((node) => {
    const nth = placed.get(node.community) ?? 0;
    placed.set(node.community, nth + 1);
    const center = centers.get(node.community) ?? sunflower(before, 60);
    const own = sunflower(nth, 40);
    return { x: center.x + own.x, y: center.y + own.y };
  });
}

/** The same for the neighborhood of an entity: rings by hop. */
function rings(graph) {
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

/** Pushes entities apart that lie upon each other, in a few rounds: the layout limits its forces, not the distance. */
function separate(cy) {
  const all = cy.nodes().map((node) => ({ ...node.position(), r: node.data("size") / 2 + 4 }));
  for (let round = 0; round < 30; round++) {
    let isQuiet = true;
    for (let i = 0; i < all.length; i++) {
      for (let j = i + 1; j < all.length; j++) {
        const [a, b] = [all[i], all[j]];
        // Of two at the same place, one goes right.
        const [dx, dy] = [b.x - a.x || 0.1, b.y - a.y];
        const [distance, wanted] = [Math.hypot(dx, dy), a.r + b.r];
        if (distance >= wanted) continue;
        const by = (wanted - distance) / distance / 2;
        [a.x, a.y, b.x, b.y] = [a.x - dx * by, a.y - dy * by, b.x + dx * by, b.y + dy * by];
        isQuiet = false;
      }
    }
    if (isQuiet) break;
  }
  cy.nodes().positions((node, idx) => ({ x: all[idx].x, y: all[idx].y }));
}

const meet = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

/**
 * Labels of a drawing, as elements above it: of constant size, so that they need not shrink with it, and the nearer,
 * the more of them have room. `classOf` gives the class of an element's label, `padding` the pixels around the whole.
 */
function labelsOf(cy, drawing, padding, classOf) {
  /** Pixels between an entity and its label. */
  const GAP = 3;

  const layer = drawing.appendChild(document.createElement("div"));
  layer.id = "labels";
  layer.setAttribute("aria-hidden", "true");
  const tags = new Map(cy.elements().map((it) => {
    const tag = layer.appendChild(document.createElement("span"));
    tag.textContent = it.data("label");
    tag.className = classOf(it);
    return [it.id(), tag];
  }));
  const sizes = new Map([...tags].map(([id, tag]) => [id, { w: tag.offsetWidth, h: tag.offsetHeight }]));

  /** The places for a label: the middle of a line and around it; below, above, right and left of an entity. */
  function placesOf(it, zoom) {
    const { w, h } = sizes.get(it.id());
    const middle = it.isEdge() ? it.midpoint() : it.position();
    const [x, y] = [middle.x * zoom, middle.y * zoom];
    const around = (r) =>
      [[x - w / 2, y + r], [x - w / 2, y - r - h], [x + r, y - h / 2], [x - r - w, y - h / 2]];
    // A short line lies below the names of its ends: its own name may stand up to two lines of text away.
    const corners = it.isEdge()
      ? [[x - w / 2, y - h / 2], ...[0, h, 2 * h].flatMap((gap) => around(GAP + gap))]
      : around((it.data("size") * zoom) / 2 + GAP);
    return corners.map(([left, top]) => ({ x: left, y: top, w, h }));
  }

  function discOf(node, zoom) {
    const [{ x, y }, size] = [node.position(), node.data("size")];
    return { id: node.id(), x: (x - size / 2) * zoom, y: (y - size / 2) * zoom, w: size * zoom, h: size * zoom };
  }

  /**
   * Shows labels one by one, each where it covers no other label and none of `nodes`; needed ones may cover nodes. What
   * finds no room has none.
   */
  function place(wanted, nodes, isNeeded) {
    const zoom = cy.zoom();
    const discs = nodes.map((node) => discOf(node, zoom));
    // Labels farther out would be cut off in a view of the whole.
    const [all, pad] = [cy.nodes().boundingBox({ includeLabels: false }), padding - GAP];
    const isInside = ({ x, y, w, h }) => x > all.x1 * zoom - pad && x + w < all.x2 * zoom + pad &&
      y > all.y1 * zoom - pad && y + h < all.y2 * zoom + pad;
    const taken = [];
    for (const tag of tags.values()) tag.hidden = true;
    for (const it of wanted) {
      const covers = (box) => discs.some((disc) => disc.id !== it.id() && meet(box, disc));
      const free = placesOf(it, zoom).filter((box) => !taken.some((other) => meet(box, other)));
      const clear = free.filter(isInside);
      const box = clear.find((place) => !covers(place)) ?? (isNeeded(it) ? clear[0] ?? free[0] : undefined);
      if (box === undefined) continue;
      taken.push(box);
      const tag = tags.get(it.id());
      tag.style.left = `${box.x}px`;
      tag.style.top = `${box.y}px`;
      tag.hidden = false;
    }
    follow();
  }

  /** Moves the labels along with the drawing. */
  function follow() {
    const { x, y } = cy.pan();
    layer.style.transform = `translate(${x}px, ${y}px)`;
  }

  return { place, follow };
}

