// The matrix: other orders, known edges on and off, and what is under the pointer.
"use strict";
(() => {
  const { report, svg, probability, showTip, hideTip } = window.driftgraph;
  const old = document.getElementById("matrix-svg"), order = document.getElementById("order");
  if (!report || !old || !order) return;
  const { variables, edges, orders } = report.graph;
  const n = variables.length, LEVELS = 12;
  const [cell, font] = n <= 12 ? [44, 13] : n <= 30 ? [26, 12] : n <= 60 ? [16, 11] : n <= 130 ? [10, 8] : [5, 0];
  const margin = Number(old.querySelector(".ground").getAttribute("x"));
  const side = cell - (cell > 12 ? 1.5 : 0.5);
  const CLASSES = { "+": "more", "-": "less", "?": "mixed" };
  const byPair = new Map(edges.map((edge) => [edge[0] * n + edge[1], edge]));
  const outline = document.getElementById("outline");
  const texts = new Map([...old.querySelectorAll(".names text")].filter((_, idx) => idx % 2 === 0).map((text) => [text.querySelector("title").textContent, text.lastChild.textContent]));
  const square = (x, y, width) => `M${x} ${y}h${width}v${width}h${-width}z`;

  const draw = () => {
    const sorted = orders[Number(order.value)].variables, place = new Array(n);
    sorted.forEach((variable, idx) => { place[variable] = idx; });
    const at = (source, target) => [margin + cell * place[target], margin + cell * place[source]];
    const root = old.cloneNode(false);
    root.append(svg("rect", { class: "ground", x: margin, y: margin, width: cell * n, height: cell * n }));
    const paths = new Map();
    for (const edge of edges) {
      const level = Math.round(LEVELS * edge[2]);
      if (level === 0) continue;
      const key = `${edge[3]}${level}`;
      paths.set(key, (paths.get(key) ?? "") + square(...at(edge[0], edge[1]), side));
    }
    for (const [key, d] of paths) root.append(svg("path", { class: `cells ${CLASSES[key[0]]}`, "fill-opacity": Number(key.slice(1)) / LEVELS, d }));
    if (n <= 12) {
      const numbers = svg("g", { class: "numbers" });
      for (const edge of edges.filter((edge) => edge[2] >= 0.05)) {
        const [x, y] = at(edge[0], edge[1]);
        const text = svg("text", { x: x + cell / 2, y: y + cell / 2 + 4, "text-anchor": "middle" }, Math.min(edge[2], 1).toFixed(2).replace(/^0/, ""));
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
      showTip(event, `${variables[source]} → ${variables[target]}\nprobability ${edge ? probability(edge[2]) : `< ${Math.max(report.graph.listed_from, 0.01)}`}${known}`);
    });
    root.addEventListener("pointerleave", () => { hideTip(); cursor.setAttribute("visibility", "hidden"); });
    document.getElementById("matrix-svg").replaceWith(root);
  };
  order.addEventListener("change", draw);
  if (outline) outline.addEventListener("change", draw);
  draw();
})();
