// The matrix: other orders, known edges on and off, and what is under the pointer.
"use strict";
(() => {
  const { report, svg, scoreName, scoreText, showTip, hideTip } = window.driftgraph;
  const LEVELS = 12;
  const CLASSES = { "+": "more", "-": "less", "?": "mixed", none: "plain" };
  const square = (x, y, width) => `M${x} ${y}h${width}v${width}h${-width}z`;
  // As `src/svg/heatmap.rs` draws them: where cells stand, and one path for all of a sign and a level.
  const frameOf = (root, n) => {
    const ground = root.querySelector(".ground"), margin = ground.x.baseVal.value, cell = ground.width.baseVal.value / n;
    return { ground, margin, cell, side: cell - (cell > 12 ? 1.5 : 0.5) };
  };
  const cellPaths = (edges, at, side, signOf) => {
    const paths = new Map();
    for (const edge of edges) {
      const level = Math.round(LEVELS * edge[2]), key = `${level} ${CLASSES[signOf(edge)]}`;
      if (level > 0) paths.set(key, (paths.get(key) ?? "") + square(...at(edge[0], edge[1]), side));
    }
    return [...paths].map(([key, d]) => svg("path", { class: `cells ${key.split(" ")[1]}`, "fill-opacity": Number((parseInt(key, 10) / LEVELS).toFixed(2)), d }));
  };
  Object.assign(window.driftgraph, { frameOf, cellPaths });

  const old = document.getElementById("matrix-svg"), order = document.getElementById("order");
  if (!report || !old || !order) return;
  const { variables, edges, orders, score } = report.graph;
  const n = variables.length, signed = edges.some((edge) => edge[3] !== "?");
  const { margin, cell, side } = frameOf(old, n);
  const hasNumbers = old.querySelector(".numbers") !== null;
  const font = Number(old.querySelector(".names")?.getAttribute("font-size") ?? 0);
  const byPair = new Map(edges.map((edge) => [edge[0] * n + edge[1], edge]));
  const outline = document.getElementById("outline");
  const texts = new Map([...old.querySelectorAll(".names text")].filter((_, idx) => idx % 2 === 0).map((text) => [text.querySelector("title").textContent, text.lastChild.textContent]));

  const draw = () => {
    const sorted = orders[Number(order.value)].variables, place = new Array(n);
    sorted.forEach((variable, idx) => { place[variable] = idx; });
    const at = (source, target) => [margin + cell * place[target], margin + cell * place[source]];
    const root = old.cloneNode(false);
    root.append(old.querySelector(".ground").cloneNode());
    root.append(...cellPaths(edges, at, side, (edge) => signed ? edge[3] : "none"));
    // Numbers that are too long for a cell are in no picture.
    if (hasNumbers) {
      const numbers = svg("g", { class: "numbers" });
      for (const edge of edges.filter((edge) => edge[2] >= 0.05)) {
        const [x, y] = at(edge[0], edge[1]);
        const text = svg("text", { x: x + cell / 2, y: y + cell / 2 + 4, "text-anchor": "middle" }, (score ? scoreText(edge[2]) : Math.min(edge[2], 1).toFixed(2)).replace(/^0/, ""));
        if (edge[2] >= 0.6) text.setAttribute("class", "on-dark");
        numbers.append(text);
      }
      root.append(numbers);
    }
    if (report.truth && outline.checked) {
      const inset = cell > 12 ? 2 : 1;
      root.append(svg("path", { class: "truth", d: report.truth.map(([source, target]) => {
        const [x, y] = at(source, target);
        return square(x + inset, y + inset, side - 2 * inset);
      }).join("") }));
    }
    if (font > 0) {
      const names = svg("g", { class: "names", "font-size": font });
      sorted.forEach((variable, idx) => {
        const middle = margin + cell * (idx + 0.5) + 0.35 * font, name = variables[variable], text = texts.get(name) ?? name;
        names.append(svg("text", { x: margin - 6, y: middle, "text-anchor": "end" }, svg("title", {}, name), text));
        names.append(svg("text", { transform: `translate(${middle} ${margin - 6}) rotate(-90)` }, svg("title", {}, name), text));
      });
      root.append(names);
    }
    const cursor = svg("rect", { class: "cursor", width: cell, height: cell, visibility: "hidden" });
    root.append(cursor);
    root.addEventListener("pointermove", (event) => {
      const box = root.getBoundingClientRect(), scale = root.viewBox.baseVal.width / box.width;
      const column = Math.floor(((event.clientX - box.left) * scale - margin) / cell), row = Math.floor(((event.clientY - box.top) * scale - margin) / cell);
      if (column < 0 || row < 0 || column >= n || row >= n) { hideTip(); cursor.setAttribute("visibility", "hidden"); return; }
      const [source, target] = [sorted[row], sorted[column]], edge = byPair.get(source * n + target);
      cursor.setAttribute("x", margin + cell * column - 0.7);
      cursor.setAttribute("y", margin + cell * row - 0.7);
      cursor.setAttribute("visibility", "visible");
      const known = report.truth ? (report.truth.some(([a, b]) => a === source && b === target) ? "\na known edge" : "\nnot a known edge") : "";
      showTip(event, `${variables[source]} → ${variables[target]}\n${scoreName} ${edge ? scoreText(edge[2]) : `< ${scoreText(Math.max(report.graph.listed_from, 0.01))}`}${known}`);
    });
    root.addEventListener("pointerleave", () => { hideTip(); cursor.setAttribute("visibility", "hidden"); });
    document.getElementById("matrix-svg").replaceWith(root);
  };
  order.addEventListener("change", draw);
  if (outline) outline.addEventListener("change", draw);
  draw();
})();
