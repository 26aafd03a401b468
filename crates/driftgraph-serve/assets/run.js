// The page of a run: the fit as it goes, stop and go on, and questions to the model.
"use strict";
(() => {
  const { report, html, short, chart, fanLayers, interventionCharts, unpack, nodesOf, edgeGroup, frameOf, cellPaths } = window.driftgraph;
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
  // The server has drawn nodes for few variables and an empty matrix for many; what is learned goes into it.
  const forming = field("forming").firstElementChild;
  const drawForming = (percent) => {
    const n = entry.variables.length;
    if (!forming || percent.length !== n * n) return;
    const edges = percent.flatMap((value, idx) => value < 10 ? [] : [[Math.floor(idx / n), idx % n, value / 100]]);
    if (forming.classList.contains("graph")) {
      const nodes = nodesOf(forming), between = edges.filter(([source, target]) => source !== target).sort((a, b) => a[2] - b[2]);
      forming.querySelector(".edges").replaceChildren(...between.map((edge) => {
        const group = edgeGroup(forming, nodes, edge, "none");
        group.setAttribute("opacity", edge[2]);
        return group;
      }));
    } else {
      const { ground, margin, cell, side } = frameOf(forming, n);
      forming.querySelectorAll(".cells").forEach((path) => path.remove());
      ground.after(...cellPaths(edges, (source, target) => [margin + cell * target, margin + cell * source], side, () => "none"));
    }
  };
  const drawLive = () => {
    if (!last) return;
    const { progress, curve } = last;
    field("live-parts").hidden = false;
    field("doing").textContent = progress.doing;
    field("progress").value = progress.end > 0 ? Math.min(1, progress.step / progress.end) : 0;
    field("numbers").textContent = [`step ${progress.step}`, `${progress.aim} ${short(progress.reached)}`, ...(progress.expected_edges === null ? [] : [`${short(progress.expected_edges)} edges expected`]), `${Math.round(progress.seconds)} s`].join(", ");
    const points = curves[curve] ?? [];
    if (points.length > 1) {
      // The first steps would flatten all that follows.
      const shown = points.length > 10 ? points.slice(Math.ceil(points.length / 7)) : points;
      field("curve").replaceChildren(chart({ title: `${progress.aim}, ${curve}`, xLabel: "step", layers: [{ kind: "line", style: "first", x: shown.map(([step]) => step), y: shown.map(([, reached]) => reached), name: progress.aim }] }));
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
  field("remains").hidden = !entry.remains;
  field("remains").textContent = entry.remains ?? "";
  if (entry.standing === "running") follow();
  field("resume").hidden = !["stopped", "failed"].includes(entry.standing);
  if (entry.has_result && entry.standing !== "running") {
    field("files").hidden = false;
    const files = ["report.html", "edges.csv", "graph.graphml", "graph.svg", "edges.svg", "run.json", "log.jsonl"];
    // Methods that only rank edges have no model.
    if (field("hold")) files.push("model.safetensors");
    field("files").append("Download: ", ...files.flatMap((file) => [html("a", { href: `${base}/files/${file}`, download: file }, file), " "]));
  }

  // Questions
  if (!report || !field("hold")) return;
  const { variables } = report.graph;
  field("hold-variable").append(...variables.map((name, idx) => html("option", { value: idx }, name)));
  const series = report.future?.series ?? [];
  field("ahead-series").append(...series.map((one, idx) => html("option", { value: idx }, one.name)));
  // Times of dated data are dates here, too: days, or minutes where the data have such.
  const { calendar } = report.data;
  const DAY = 86400, inDays = calendar && calendar.unit % DAY === 0;
  const dateOf = (time) => new Date(1000 * Math.round(calendar.origin + time * calendar.unit)).toISOString().slice(0, inDays ? 10 : 16);
  const timeOf = (date) => (Date.parse(inDays ? date : `${date}Z`) / 1000 - calendar.origin) / calendar.unit;
  const asDate = (input) => { input.type = inDays ? "date" : "datetime-local"; input.removeAttribute("step"); input.removeAttribute("min"); };
  const usual = series[0] ? series[0].times.at(-1) - series[0].times[0] : 1;
  const end = (one) => report.fit?.series.find(({ name }) => name === one.name)?.times.at(-1) ?? one.times[0];
  if (calendar) {
    for (const input of field("ask").querySelectorAll("[data-when]")) asDate(input);
    asDate(field("ahead-time"));
    field("ahead-words").textContent = "Forecast until";
    if (series[0]) field("ahead-time").value = dateOf(end(series[0]) + 2 * usual);
  } else {
    field("ahead-time").value = Number((2 * usual).toPrecision(2));
    field("ahead-unit").textContent = /\((.+)\)$/.exec(report.data.time_label)?.[1] ?? "";
  }
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
      const chosen = Number(field("ahead-series").value), asked = field("ahead-time").value;
      const horizon = calendar ? timeOf(asked) - end(series[chosen]) : Number(asked);
      if (!(horizon > 0)) throw new Error(`choose a time after the end of the series${calendar ? `, ${dateOf(end(series[chosen]))}` : ""}`);
      const found = await post(`${base}/forecast`, { horizon });
      const fan = found.series.find(({ name }) => name === series[chosen].name);
      field("ask-legend").hidden = true;
      field("ask-charts").replaceChildren(...variables.slice(0, 6).map((name, idx) => chart({ title: name, xLabel: report.data.time_label, layers: fanLayers(fan, idx, "first", "forecast") })));
    });
  });
})();
