// The graph: threshold, search, hover, drag, and the neighbours of a variable.
"use strict";
(() => {
  const { report, svg, html, short, scoreName, scoreText, showTip, hideTip } = window.driftgraph;
  const HALF_HEIGHT = 15, GAP = 2, BEND = 0.13, MISSED_WIDTH = 1.4;
  const [SOURCE, TARGET, SHARE, SIGN, EFFECT, STRENGTH, DISAGREEMENT, , KIND, INTERVAL, PARTS] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
  const CLASSES = { "+": "more", "-": "less", "?": "mixed", none: "plain" };
  const number = (value) => Number(value.toFixed(2));

  // Arrows as `src/svg/graph/arrow.rs` draws them, between nodes that may have moved.
  const covers = (node, [x, y]) => ((x - node.x) / (node.half + GAP)) ** 4 + ((y - node.y) / (HALF_HEIGHT + GAP)) ** 4 < 1;
  const crossing = (inside, from, to) => {
    for (let round = 0; round < 20; round += 1) {
      const middle = (from + to) / 2;
      if (inside(middle)) from = middle; else to = middle;
    }
    return to;
  };
  const head = (tip, slope, width, sign) => {
    const length = Math.max(Math.hypot(...slope), 1e-9), ux = slope[0] / length, uy = slope[1] / length;
    const at = (back, aside) => [tip[0] - back * ux - aside * uy, tip[1] - back * uy + aside * ux];
    const long = 5.5 + 1.6 * width, half = 2.8 + 1.1 * width, thick = 1.4 + 0.5 * width;
    const [corners, neck] = sign === "-" ? [[at(0, half + 2.2), at(0, -half - 2.2), at(thick, -half - 2.2), at(thick, half + 2.2)], at(thick, 0)]
      : sign === "?" ? [[at(0, 0), at(long / 2, half), at(long, 0), at(long / 2, -half)], at(long, 0)]
      : [[at(0, 0), at(long, half), at(long, -half)], at(long, 0)];
    return [`M${corners.map((corner) => corner.map(number).join(" ")).join("L")}Z`, neck];
  };
  const arrow = (from, to, width, sign, sheetHeight) => {
    if (from === to) {
      const side = 2 * from.y <= sheetHeight ? -1 : 1, reach = Math.min(8, 0.4 * from.half);
      const border = from.y + side * (HALF_HEIGHT + GAP), top = border + side * 30;
      const [shape, neck] = head([from.x + reach, border], [-0.45, -side], Math.min(width, 2.4), sign);
      return [`M${number(from.x - reach)} ${number(border)}C${[from.x - 2.6 * reach, top, from.x + 2.6 * reach, top, ...neck].map(number).join(" ")}`, shape];
    }
    const dx = to.x - from.x, dy = to.y - from.y;
    const control = [(from.x + to.x) / 2 + BEND * dy, (from.y + to.y) / 2 - BEND * dx];
    const at = (t) => [0, 1].map((axis) => (1 - t) ** 2 * [from.x, from.y][axis] + 2 * (1 - t) * t * control[axis] + t * t * [to.x, to.y][axis]);
    const start = crossing((t) => covers(from, at(t)), 0, 0.5), end = crossing((t) => covers(to, at(t)), 1, 0.5);
    const slope = [0, 1].map((axis) => 2 * (1 - end) * (control[axis] - [from.x, from.y][axis]) + 2 * end * ([to.x, to.y][axis] - control[axis]));
    const [shape, neck] = sign === "link" ? ["", at(end)] : head(at(end), slope, width, sign);
    const middle = [0, 1].map((axis) => {
      const first = [from.x, from.y][axis] * (1 - start) + control[axis] * start;
      const second = control[axis] * (1 - start) + [to.x, to.y][axis] * start;
      return first * (1 - end) + second * end;
    });
    return [`M${at(start).map(number).join(" ")}Q${[...middle, ...neck].map(number).join(" ")}`, shape];
  };
  // The nodes of a picture, and an edge between two of them.
  const nodesOf = (root) => [...root.querySelectorAll(".node")].map((group) => {
    const { e: x, f: y } = group.transform.baseVal.consolidate().matrix;
    return { group, x, y, half: group.querySelector("rect").width.baseVal.value / 2 };
  });
  const edgeGroup = (root, nodes, edge, sign, standing = "") => {
    const width = standing === "missed" ? MISSED_WIDTH : 0.7 + 3 * edge[SHARE] ** 2;
    const [line, shape] = arrow(nodes[edge[SOURCE]], nodes[edge[TARGET]], width, edge[KIND] === "n" ? "link" : sign, root.viewBox.baseVal.height);
    const group = svg("g", { class: `edge ${CLASSES[sign]} ${standing}`.trim() });
    group.append(svg("path", { class: "line", d: line, "stroke-width": number(width) }), svg("path", { class: "head", d: shape }), svg("path", { class: "hit", d: line }));
    return group;
  };
  Object.assign(window.driftgraph, { nodesOf, edgeGroup });

  const root = document.getElementById("graph-svg");
  if (!report || !root) return;
  const { variables, edges } = report.graph;
  const MEANINGS = { "+": "more of it, faster growth", "-": "more of it, slower growth", "?": "depends on the state" };
  const TOGETHER = { "+": "they move in the same direction within a step", "-": "they move in opposite directions within a step", "?": "they move together within a step" };
  const signed = edges.some((edge) => edge[SIGN] !== "?");
  const key = (edge) => edge[SOURCE] * variables.length + edge[TARGET];
  const known = report.truth && new Set(report.truth.map(key));
  // A link without a direction is known if either direction is.
  const back = (edge) => edge[TARGET] * variables.length + edge[SOURCE];
  // A list without a single edge from a variable to itself says nothing of such edges.
  const asksOfLoops = Boolean(report.truth?.some(([source, target]) => source === target));
  const isUnasked = (edge) => edge[SOURCE] === edge[TARGET] && !asksOfLoops;
  const isKnown = (edge) => known.has(key(edge)) || (edge[KIND] === "n" && known.has(back(edge)));
  const sheetHeight = root.viewBox.baseVal.height, sheetWidth = root.viewBox.baseVal.width;
  const lines = root.querySelector(".edges");
  const nodes = nodesOf(root);
  const field = (id) => document.getElementById(id);
  let chosen = null;

  const words = (edge) => {
    const text = [`${variables[edge[SOURCE]]} ${edge[KIND] === "n" ? "—" : "→"} ${variables[edge[TARGET]]}`, `${scoreName} ${scoreText(edge[SHARE])}`];
    if (edge[KIND] === "b" && edge[PARTS]) {
      const sign = (effect) => effect < 0 ? "-" : "+";
      text.push(`${TOGETHER[sign(edge[PARTS][1])]}: ${short(edge[PARTS][1])}`, `later, ${MEANINGS[sign(edge[PARTS][0])]}: ${short(edge[PARTS][0])}`);
    } else if (signed) text.push((edge[KIND] === "n" || edge[KIND] === "w" ? TOGETHER : MEANINGS)[edge[SIGN]]);
    if (edge[EFFECT] !== null) text.push(`effect ${short(edge[EFFECT])}, in deviations ${short(edge[STRENGTH])}`);
    if (edge[INTERVAL]) text.push(`90 %: ${edge[INTERVAL].map(short).join(" to ")}`);
    if (edge[DISAGREEMENT] > 0) text.push(`${report.graph.n_fits > 1 ? "seeds" : "chains"} differ by ${short(edge[DISAGREEMENT])} in log-odds`);
    if (known) text.push(isKnown(edge) ? "a known edge" : isUnasked(edge) ? "the known edges say nothing of it" : "not among the known edges");
    return text.join("\n");
  };
  const drawEdge = (edge, standing) => {
    const group = edgeGroup(root, nodes, edge, signed ? edge[SIGN] : "none", standing);
    group.edge = edge;
    group.standing = standing;
    group.addEventListener("pointermove", (event) => { showTip(event, words(edge)); group.classList.add("on"); });
    group.addEventListener("pointerleave", () => { hideTip(); group.classList.remove("on"); });
    return group;
  };

  // As `fitted/edges/cut.rs` cuts: the largest set of links whose mean of 1 - probability is below the rate.
  const isCounted = (edge) => edge[SOURCE] !== edge[TARGET] && edge[KIND] !== "m";
  const leastAt = (rate) => {
    let sum = 0, n = 0, least = 1 - rate;
    for (const edge of edges.filter(isCounted).toSorted((a, b) => b[SHARE] - a[SHARE])) {
      if (sum + 1 - edge[SHARE] >= rate * (n + 1)) return { least, n };
      sum += 1 - edge[SHARE];
      n += 1;
      least = edge[SHARE];
    }
    return { least, n };
  };
  const rate = () => Number(field("fdr")?.value || 0);

  const selected = () => {
    const cut = rate() > 0 ? leastAt(rate()) : { least: Number(field("threshold").value), n: Infinity };
    const threshold = cut.least, most = Math.max(1, Math.floor(Number(field("most").value)) || 1);
    const loops = field("loops").checked;
    let left = Math.min(most, cut.n);
    return edges.filter((edge) => {
      if (edge[SHARE] < threshold || edge[KIND] === "m") return false;
      if (edge[SOURCE] === edge[TARGET]) return loops;
      left -= 1;
      return left >= 0;
    });
  };
  // Known edges that are not selected lie below the others.
  const missed = (shown) => {
    const drawn = new Set(shown.flatMap((edge) => edge[KIND] === "n" ? [key(edge), back(edge)] : [key(edge)])), listed = new Map(edges.map((edge) => [key(edge), edge]));
    const away = (report.truth ?? []).filter((pair) => !drawn.has(key(pair)) && (pair[0] !== pair[1] || field("loops").checked));
    return away.map((pair) => listed.get(key(pair)) ?? [...pair, 0, "?", null, null, 0, null, "l", null, null]);
  };
  const draw = () => {
    const shown = selected();
    lines.replaceChildren(...missed(shown).map((edge) => drawEdge(edge, "missed")), ...shown.toReversed().map((edge) => drawEdge(edge, !known || isKnown(edge) ? "" : isUnasked(edge) ? "unasked" : "false")));
    field("threshold-shown").textContent = scoreText(Number(field("threshold").value));
    field("threshold").disabled = rate() > 0;
    if (field("fdr")) field("fdr-shown").textContent = rate() > 0 ? `${Math.round(100 * rate())} %` : "any number";
    const between = shown.filter(isCounted), doubts = between.reduce((sum, edge) => sum + 1 - edge[SHARE], 0);
    const falseOnes = field("fdr") && between.length > 0 ? `, ${doubts.toFixed(1)} of them expected to be false` : "";
    field("edge-count").textContent = `${between.length} ${between.length === 1 ? "edge" : "edges"} shown${falseOnes}`;
    mark();
  };
  const mark = () => {
    const near = new Set([chosen]);
    for (const group of lines.children) {
      const { edge } = group, touches = edge[SOURCE] === chosen || edge[TARGET] === chosen;
      group.classList.toggle("off", chosen !== null && !touches);
      if (touches) { near.add(edge[SOURCE]); near.add(edge[TARGET]); }
    }
    nodes.forEach(({ group }, idx) => {
      group.classList.toggle("off", chosen !== null && !near.has(idx));
      group.classList.toggle("on", idx === chosen);
      group.setAttribute("aria-pressed", String(idx === chosen));
    });
    tell();
  };

  const panel = field("node-panel"), invitation = panel.firstElementChild;
  const list = (title, found, other) => [
    html("h4", {}, title),
    found.length === 0 ? html("p", { class: "faint" }, "none listed") : html("ul", {}, ...found.slice(0, 25).map((edge) => html("li", {},
      html("button", { type: "button", onclick: () => choose(edge[other]) }, variables[edge[other]]),
      html("b", { class: CLASSES[signed ? edge[SIGN] : "none"] }, scoreText(edge[SHARE]) + (signed ? { "+": " +", "-": " −", "?": " ±" }[edge[SIGN]] : ""))))),
  ];
  const tell = () => {
    if (chosen === null) return panel.replaceChildren(invitation);
    const near = edges.filter((edge) => edge[SHARE] >= 0.05 && edge[KIND] !== "m");
    const parents = near.filter((edge) => edge[TARGET] === chosen && edge[KIND] !== "n");
    const children = near.filter((edge) => edge[SOURCE] === chosen && edge[KIND] !== "n");
    const linked = near.filter((edge) => edge[KIND] === "n" && (edge[SOURCE] === chosen || edge[TARGET] === chosen));
    const away = linked.map((edge) => edge[SOURCE] === chosen ? edge : [edge[TARGET], edge[SOURCE], ...edge.slice(2)]);
    panel.replaceChildren(html("h3", {}, variables[chosen]),
      html("p", {}, html("button", { type: "button", onclick: () => choose(null) }, "show all")),
      ...list("driven by", parents, SOURCE), ...list("drives", children, TARGET),
      ...(away.length > 0 ? list("moves together with", away, TARGET) : []));
  };
  const choose = (idx) => { chosen = idx === chosen ? null : idx; mark(); };

  const place = (idx) => nodes[idx].group.setAttribute("transform", `translate(${number(nodes[idx].x)} ${number(nodes[idx].y)})`);
  const redrawAround = (idx) => {
    for (const group of [...lines.children]) {
      const { edge } = group;
      if (edge[SOURCE] === idx || edge[TARGET] === idx) group.replaceWith(drawEdge(edge, group.standing));
    }
    mark();
  };
  const move = (idx, x, y) => {
    nodes[idx].x = Math.min(Math.max(x, nodes[idx].half), sheetWidth - nodes[idx].half);
    nodes[idx].y = Math.min(Math.max(y, HALF_HEIGHT), sheetHeight - HALF_HEIGHT);
    place(idx);
    redrawAround(idx);
  };
  nodes.forEach(({ group }, idx) => {
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    const written = group.querySelector("text").textContent;
    group.setAttribute("aria-label", written === variables[idx] ? written : `${written}: ${variables[idx]}`);
    let grip = null;
    group.addEventListener("pointerdown", (event) => {
      grip = { x: event.clientX, y: event.clientY, at: [nodes[idx].x, nodes[idx].y], moved: false };
      group.setPointerCapture(event.pointerId);
    });
    group.addEventListener("pointermove", (event) => {
      if (!grip) return;
      const scale = sheetWidth / root.getBoundingClientRect().width;
      const dx = (event.clientX - grip.x) * scale, dy = (event.clientY - grip.y) * scale;
      grip.moved ||= Math.hypot(dx, dy) > 4;
      if (grip.moved) move(idx, grip.at[0] + dx, grip.at[1] + dy);
    });
    group.addEventListener("pointerup", () => { if (grip && !grip.moved) choose(idx); grip = null; });
    group.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [-12, 0], ArrowRight: [12, 0], ArrowUp: [0, -12], ArrowDown: [0, 12] }[event.key];
      if (event.key === "Enter" || event.key === " ") choose(idx);
      else if (event.key === "Escape") choose(null);
      else if (steps) move(idx, nodes[idx].x + steps[0], nodes[idx].y + steps[1]);
      else return;
      event.preventDefault();
    });
  });
  for (const id of ["threshold", "most", "loops", "fdr"]) field(id)?.addEventListener("input", draw);
  field("search").addEventListener("input", () => {
    const text = field("search").value.trim().toLowerCase();
    const exact = variables.findIndex((name) => name.toLowerCase() === text);
    const found = exact >= 0 ? exact : text.length > 1 ? variables.findIndex((name) => name.toLowerCase().includes(text)) : -1;
    chosen = found >= 0 ? found : null;
    mark();
    if (found >= 0) nodes[found].group.scrollIntoView({ block: "nearest", inline: "center" });
  });
  draw();
})();
