// The page of a run: the fit as it goes, stop and go on, and questions to the model.
"use strict";
(() => {
  const { report, svg, html, short, chart, fanLayers, interventionCharts, unpack } = window.driftgraph;
  const entry = JSON.parse(document.getElementById("run-entry").textContent);
  const field = (id) => document.getElementById(id);
  const base = `/api/runs/${encodeURIComponent(entry.name)}`;
  const problem = (id, text) => { field(id).hidden = !text; field(id).textContent = text ?? ""; };
  const post = async (address, content) => {
    const response = await fetch(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content ?? {}) });
    const found = response.headers.get("content-type")?.includes("json") ? await response.json() : null;
    if (!response.ok) throw new Error(found?.error ?? `the server answered ${response.status}`);
    return found;
  };
  const WORDS = { running: "running", stopped: "stopped", finished: "finished", failed: "failed" };
  const stand = (standing) => { field("standing").className = `standing ${standing}`; field("standing").textContent = WORDS[standing]; };

  // The fit
  const curves = {};
  let last = null, drawn = 0;
  // Few variables as a graph on a ring, many as a matrix.
  const drawRing = (percent, n) => {
    const root = svg("svg", { viewBox: "0 0 420 330", role: "img", "aria-label": "the graph as it is now" });
    const tip = svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto", markerUnits: "userSpaceOnUse" }, svg("path", { class: "first", d: "M0 0L8 4L0 8z", fill: "currentColor" }));
    root.append(svg("defs", {}, tip));
    const at = (idx) => [210 + 165 * Math.sin(2 * Math.PI * idx / n), 165 - 130 * Math.cos(2 * Math.PI * idx / n)];
    percent.forEach((value, idx) => {
      const [source, target] = [Math.floor(idx / n), idx % n];
      if (value < 10 || source === target) return;
      const [x, y] = at(source), [u, v] = at(target), length = Math.hypot(u - x, v - y);
      const cut = 20 / length, from = [x + cut * (u - x), y + cut * (v - y)], to = [u - cut * (u - x), v - cut * (v - y)];
      const bend = [(x + u) / 2 + 0.13 * (v - y), (y + v) / 2 - 0.13 * (u - x)];
      root.append(svg("path", { class: "forming-edge first", d: `M${from.join(" ")}Q${bend.join(" ")} ${to.join(" ")}`, "stroke-width": 0.5 + value / 40, opacity: value / 100, "marker-end": "url(#tip)" }));
    });
    for (let idx = 0; idx < n; idx += 1) {
      const [x, y] = at(idx), name = entry.variables[idx] ?? String(idx + 1), short_ = [...name].length > 7 ? `${[...name].slice(0, 6).join("")}…` : name;
      root.append(svg("g", { class: "node", transform: `translate(${x} ${y})` }, svg("title", {}, name), svg("circle", { r: 17 }), svg("text", { "text-anchor": "middle", y: 4 }, short_)));
    }
    field("forming").replaceChildren(root);
  };
  const drawForming = (percent) => {
    const n = Math.round(Math.sqrt(percent.length));
    if (n === 0) return;
    if (n <= 20) return drawRing(percent, n);
    const side = Math.max(4, Math.min(28, Math.floor(420 / n)));
    const paths = new Map();
    percent.forEach((value, idx) => {
      const level = Math.round(value / 10);
      if (level > 0) paths.set(level, `${paths.get(level) ?? ""}M${(idx % n) * side} ${Math.floor(idx / n) * side}h${side - 1}v${side - 1}h${1 - side}z`);
    });
    const root = svg("svg", { viewBox: `0 0 ${n * side} ${n * side}`, role: "img", "aria-label": "edge probabilities", style: `max-width:${n * side}px` });
    root.append(svg("rect", { class: "ground", width: n * side, height: n * side }));
    for (const [level, d] of paths) root.append(svg("path", { class: "cells first", "fill-opacity": level / 10, d }));
    field("forming").replaceChildren(root);
  };
  const drawLive = () => {
    if (!last) return;
    const { progress, curve } = last;
    field("live-parts").hidden = false;
    field("doing").textContent = progress.doing;
    field("progress").value = progress.end > 0 ? Math.min(1, progress.step / progress.end) : 0;
    field("numbers").textContent = `step ${progress.step}, ELBO ${short(progress.elbo)}, ${short(progress.expected_edges)} edges expected, ${Math.round(progress.seconds)} s`;
    const points = curves[curve] ?? [];
    if (points.length > 1) {
      // The first steps would flatten all that follows.
      const shown = points.length > 10 ? points.slice(Math.ceil(points.length / 7)) : points;
      field("curve").replaceChildren(chart({ title: `ELBO, ${curve}`, xLabel: "step", layers: [{ kind: "line", style: "first", x: shown.map(([step]) => step), y: shown.map(([, elbo]) => elbo), name: "ELBO" }] }));
    }
    drawForming(progress.percent);
  };
  const follow = () => {
    stand("running");
    field("stop").hidden = false;
    field("resume").hidden = true;
    const events = new EventSource(`${base}/events`);
    events.addEventListener("message", (event) => {
      const message = JSON.parse(event.data);
      if (message.ended) { events.close(); location.reload(); return; }
      if (message.note) problem("run-problem", message.note);
      if (message.curves) {
        Object.assign(curves, message.curves);
        const names = Object.keys(curves);
        if (names.length > 0) last = { progress: message.progress, curve: names.at(-1) };
      } else if (message.point) {
        (curves[message.curve] ??= []).push(message.point);
        last = { progress: message.progress, curve: message.curve };
      }
      if (performance.now() - drawn > 150) { drawn = performance.now(); drawLive(); }
    });
  };
  field("stop").addEventListener("click", async () => {
    field("stop").disabled = true;
    field("doing").textContent = "stopping after this step; everything is saved";
    try { await post(`${base}/stop`); } catch (error) { problem("run-problem", error.message); }
  });
  field("resume").addEventListener("click", async () => {
    try { await post(`${base}/resume`); location.reload(); } catch (error) { problem("run-problem", error.message); }
  });
  stand(entry.standing);
  problem("run-problem", entry.problem);
  if (entry.standing === "running") follow();
  field("resume").hidden = !["stopped", "failed"].includes(entry.standing);
  if (entry.has_model && entry.standing !== "running") {
    field("files").hidden = false;
    const files = ["report.html", "edges.csv", "graph.graphml", "graph.svg", "edges.svg", "run.json", "log.jsonl", "model.safetensors"];
    field("files").append("Download: ", ...files.flatMap((file) => [html("a", { href: `${base}/files/${file}`, download: file }, file), " "]));
  }

  // Questions
  if (!report || !field("hold")) return;
  const { variables } = report.graph;
  field("hold-variable").append(...variables.map((name, idx) => html("option", { value: idx }, name)));
  const series = report.future?.series ?? [];
  field("ahead-series").append(...series.map((one, idx) => html("option", { value: idx }, one.name)));
  const usual = series[0] ? series[0].times.at(-1) - series[0].times[0] : 1;
  field("ahead-time").value = Number((2 * usual).toPrecision(2));
  field("ahead").hidden = series.length === 0;
  const middle = (idx) => {
    const values = report.fit ? unpack(report.fit.series[0].mean[idx]).filter(Number.isFinite) : [0];
    return Number((values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)).toPrecision(3));
  };
  const offer = () => { field("hold-value").value = middle(Number(field("hold-variable").value)); };
  field("hold-variable").addEventListener("change", offer);
  offer();
  const ask = async (work) => {
    problem("ask-problem", null);
    field("ask").setAttribute("aria-busy", "true");
    try { await work(); } catch (error) { problem("ask-problem", error.message); }
    field("ask").removeAttribute("aria-busy");
  };
  // Backticks delimit names in expressions and are doubled inside.
  const quoted = (name) => `\`${name.replaceAll("`", "``")}\``;
  field("hold").addEventListener("submit", (event) => {
    event.preventDefault();
    ask(async () => {
      const [from, to] = [field("hold-from").value, field("hold-to").value];
      const window_ = from || to ? ` @ ${from}..${to}` : "";
      const change = `${quoted(variables[Number(field("hold-variable").value)])} = ${field("hold-value").value}${window_}`;
      const found = await post(`${base}/intervene`, { changes: [change] });
      field("ask-legend").hidden = false;
      field("ask-charts").replaceChildren(...interventionCharts(found));
      if (found.idle.length) problem("ask-problem", "This does nothing: its times lie outside the simulated ones.");
    });
  });
  field("ahead").addEventListener("submit", (event) => {
    event.preventDefault();
    ask(async () => {
      const found = await post(`${base}/forecast`, { horizon: Number(field("ahead-time").value) });
      const fan = found.series[Number(field("ahead-series").value)];
      field("ask-legend").hidden = true;
      field("ask-charts").replaceChildren(...variables.slice(0, 6).map((name, idx) => chart({ title: name, xLabel: report.data.time_label, layers: fanLayers(fan, idx, "first", "forecast") })));
    });
  });
})();
