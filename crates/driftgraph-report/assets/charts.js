// Charts of series and curves, drawn again from the numbers so that they can be chosen and hovered.
"use strict";
document.documentElement.classList.add("with-scripts");
window.driftgraph = (() => {
  const source = document.getElementById("report-data");
  const report = source ? JSON.parse(source.textContent) : null;
  const WIDTH = 340, HEIGHT = 190, RIGHT = 12, BOTTOM = 34, TOP = 28, SHOWN = 6;

  const svg = (tag, attributes = {}, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const html = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };

  const short = (value) => {
    if (!Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    const text = value === 0 ? "0" : size < 1e-3 || size >= 1e5 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
    return text.replace("-", "−");
  };
  // A time with every digit that the user wrote: 1845 is no 1850.
  const timeText = (value) => String(Number(value.toPrecision(12))).replace("-", "−");
  // The score of an edge by its share of the full scale: a probability where nothing else is said.
  const score = report?.graph?.score;
  const scoreName = score?.name ?? "probability";
  const scoreText = (share) => score ? short(share * score.full_scale) : probability(share);
  const probability = (value) => value > 0.995 ? "> 0.99" : value < 0.005 ? "< 0.01" : value.toFixed(2);

  // Columns are packed as least, greatest and two characters per number.
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const unpack = ([low, high, codes]) => {
    const numbers = [];
    for (let place = 0; place < codes.length; place += 2) {
      const code = 64 * DIGITS.indexOf(codes[place]) + DIGITS.indexOf(codes[place + 1]);
      numbers.push(code === 4095 ? NaN : low + (high - low) * code / 4094);
    }
    return numbers;
  };

  // Ticks where years, months, days or hours begin, as `svg/calendar.rs` has them.
  const DAY = 86400, MOST_TICKS = 6;
  const SECONDS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, DAY, 2 * DAY, 7 * DAY];
  const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12000];
  const dayText = (instant) => new Date(1000 * instant).toISOString().replace(/T.*/, "");
  const clockText = (instant, step) => new Date(1000 * instant).toISOString().slice(11, step < 60 ? 19 : 16);
  const dateText = ({ origin, unit }, value) => {
    const instant = Math.round(origin + value * unit);
    return instant % DAY === 0 ? dayText(instant) : `${dayText(instant)} ${clockText(instant, 60)}`;
  };
  const dateTicks = ({ origin, unit }, low, high) => {
    const from = origin + low * unit, to = origin + high * unit, tick = (instant, text) => [(instant - origin) / unit, text];
    for (const step of SECONDS) {
      const first = Math.ceil(from / step), last = Math.floor(to / step);
      if (last - first >= MOST_TICKS) continue;
      const text = (instant) => step >= DAY || instant % DAY === 0 ? dayText(instant) : clockText(instant, step);
      return Array.from({ length: Math.max(0, last - first + 1) }, (_, idx) => tick((first + idx) * step, text((first + idx) * step)));
    }
    const start = new Date(1000 * from), count = 12 * start.getUTCFullYear() + start.getUTCMonth();
    for (const step of MONTHS) {
      const ticks = [];
      for (let idx = Math.floor(count / step); ticks.length <= MOST_TICKS; idx += 1) {
        const instant = Date.UTC(Math.floor(idx * step / 12), idx * step % 12) / 1000;
        if (instant > to) break;
        const text = step % 12 === 0 ? String(new Date(1000 * instant).getUTCFullYear()) : dayText(instant).slice(0, -3);
        if (instant >= from) ticks.push(tick(instant, text));
      }
      if (ticks.length <= MOST_TICKS) return ticks;
    }
    return [];
  };

  const axis = (numbers, room, calendar) => {
    const finite = numbers.filter(Number.isFinite);
    let low = finite.reduce((a, b) => Math.min(a, b), Infinity), high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
    if (low > high) [low, high] = [0, 1];
    if (high - low <= 1e-12 * Math.max(Math.abs(low), Math.abs(high))) {
      const half = low === 0 ? 1 : 0.1 * Math.abs(low);
      [low, high] = [low - half, high + half];
    }
    const extra = room ? 0.06 * (high - low) : 0;
    low -= extra; high += extra;
    const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((digit) => digit * power).find((one) => one >= raw * 0.999);
    const ticks = [];
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), size = Math.max(Math.abs(low), Math.abs(high));
    for (let idx = Math.ceil(low / step); idx * step <= high + 1e-9 * step && ticks.length < 12; idx += 1) {
      const tick = idx * step;
      const text = idx === 0 ? "0" : size < 1e-3 || size >= 1e6 ? tick.toExponential(1).replace(".0e", "e").replace("e+", "e") : tick.toFixed(digits);
      ticks.push([tick, text]);
    }
    if (calendar) ticks.splice(0, ticks.length, ...dateTicks(calendar, low, high));
    return { ticks, share: (value) => (value - low) / (high - low) };
  };

  // layers: {kind: "line"|"band"|"dots", style, x, y | low, high, name}; mark: a place on the level axis.
  const chart = ({ title, xLabel, layers, mark }) => {
    const calendar = report && xLabel === report.data.time_label ? report.data.calendar : null;
    const horizontal = axis(layers.flatMap((layer) => layer.x), false, calendar);
    const vertical = axis(layers.flatMap((layer) => layer.kind === "band" ? [...layer.low, ...layer.high] : layer.y), true);
    const left = 14 + 6.2 * Math.max(1, ...vertical.ticks.map(([, text]) => text.length));
    const x = (value) => (left + horizontal.share(value) * (WIDTH - RIGHT - left));
    const y = (value) => (HEIGHT - BOTTOM - vertical.share(value) * (HEIGHT - BOTTOM - TOP));
    const path = (xs, ys) => {
      let down = false, text = "";
      xs.forEach((value, idx) => {
        if (Number.isFinite(ys[idx])) text += `${down ? "L" : "M"}${x(value).toFixed(1)} ${y(ys[idx]).toFixed(1)}`;
        down = Number.isFinite(ys[idx]);
      });
      return text;
    };
    const root = svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
    const shown = [...title].length > 46 ? `${[...title].slice(0, 30).join("")}…${[...title].slice(-12).join("")}` : title;
    root.append(svg("text", { class: "heading", x: 4, y: 15 }, svg("title", {}, title), shown));
    const axes = svg("g", { class: "axes" });
    for (const [value, text] of vertical.ticks) {
      axes.append(svg("path", { d: `M${left} ${y(value).toFixed(1)}H${WIDTH - RIGHT}` }));
      axes.append(svg("text", { x: left - 6, y: y(value) + 3.8, "text-anchor": "end" }, text));
    }
    for (const [value, text] of horizontal.ticks) axes.append(svg("text", { x: x(value), y: HEIGHT - BOTTOM + 14, "text-anchor": "middle" }, text));
    axes.append(svg("text", { class: "name", x: (left + WIDTH - RIGHT) / 2, y: HEIGHT - 5, "text-anchor": "middle" }, xLabel));
    root.append(axes);
    if (Number.isFinite(mark)) root.append(svg("path", { class: "mark", d: `M${x(mark).toFixed(1)} ${TOP}V${HEIGHT - BOTTOM}` }));
    for (const layer of layers) {
      if (layer.kind === "band") {
        const whole = layer.x.map((_, idx) => idx).filter((idx) => Number.isFinite(layer.low[idx]) && Number.isFinite(layer.high[idx]));
        const xs = whole.map((idx) => layer.x[idx]);
        const outline = path([...xs, ...xs.toReversed()], [...whole.map((idx) => layer.low[idx]), ...whole.toReversed().map((idx) => layer.high[idx])]);
        root.append(svg("path", { class: `band ${layer.style}`, d: outline }));
      } else if (layer.kind === "dots") {
        const dots = layer.x.map((value, idx) => Number.isFinite(layer.y[idx]) ? `M${x(value).toFixed(1)} ${y(layer.y[idx]).toFixed(1)}h0` : "");
        root.append(svg("path", { class: "dots", d: dots.join("") }));
      } else {
        root.append(svg("path", { class: `line ${layer.style}`, d: path(layer.x, layer.y) }));
      }
    }
    follow(root, layers, x, left, (value) => calendar ? dateText(calendar, value) : `${xLabel} ${timeText(value)}`);
    return root;
  };

  const tip = html("div", { class: "tip", hidden: "", role: "status" });
  document.body.append(tip);
  const showTip = (event, text) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - box.width - 8), y = event.clientY + 18;
    tip.style.left = `${Math.max(8, x)}px`;
    tip.style.top = `${y + box.height > innerHeight ? event.clientY - box.height - 10 : y}px`;
  };
  const hideTip = () => { tip.hidden = true; };

  // A hair line at the nearest place, and what is there.
  const follow = (root, layers, x, left, placeText) => {
    const hair = svg("path", { class: "hair", visibility: "hidden" });
    root.append(hair);
    const named = layers.filter((layer) => layer.name);
    root.addEventListener("pointermove", (event) => {
      const box = root.getBoundingClientRect();
      const place = (event.clientX - box.left) / box.width * WIDTH;
      const all = named.flatMap((layer) => layer.x);
      if (place < left - 8 || all.length === 0) return hideTip();
      const nearest = all.reduce((best, value) => Math.abs(x(value) - place) < Math.abs(x(best) - place) ? value : best);
      hair.setAttribute("d", `M${x(nearest).toFixed(1)} ${TOP}V${HEIGHT - BOTTOM}`);
      hair.setAttribute("visibility", "visible");
      const lines = named.flatMap((layer) => {
        const idx = layer.x.indexOf(nearest);
        if (idx < 0) return [];
        if (layer.kind === "band") return [`${layer.name}: ${short(layer.low[idx])} to ${short(layer.high[idx])}`];
        return Number.isFinite(layer.y[idx]) ? [`${layer.name}: ${short(layer.y[idx])}`] : [];
      });
      showTip(event, [placeText(nearest), ...lines].join("\n"));
    });
    root.addEventListener("pointerleave", () => { hideTip(); hair.setAttribute("visibility", "hidden"); });
  };

  const fanLayers = (fan, variable, style, name) => {
    const quantile = (idx) => unpack(fan.quantiles[idx][variable]);
    return [
      { kind: "band", style, x: fan.times, low: quantile(0), high: quantile(4), name: `${name}, 90 %` },
      { kind: "band", style, x: fan.times, low: quantile(1), high: quantile(3) },
      { kind: "line", style, x: fan.times, y: quantile(2), name: `${name}, median` },
    ];
  };

  const start = () => {
    if (!report) return;
    const { graph, data } = report;
    const xLabel = data.time_label;
    const chosenVariables = (value) => value > 0 ? [value - 1] : graph.variables.slice(0, SHOWN).map((_, idx) => idx);
    const redraw = (what, one) => {
      const charts = document.getElementById(`${what}-charts`);
      const series = document.getElementById(`${what}-series`), variable = document.getElementById(`${what}-variable`);
      if (!charts || !series) return;
      const draw = () => charts.replaceChildren(...chosenVariables(Number(variable.value)).map((idx) => one(Number(series.value), idx)));
      series.addEventListener("change", draw);
      variable.addEventListener("change", draw);
      draw();
    };
    redraw("fit", (place, idx) => {
      const series = report.fit.series[place];
      return chart({ title: graph.variables[idx], xLabel, layers: [
        { kind: "band", style: "first", x: series.times, low: unpack(series.low[idx]), high: unpack(series.high[idx]), name: "90 % band" },
        { kind: "line", style: "first", x: series.times, y: unpack(series.mean[idx]), name: "posterior mean" },
        { kind: "dots", x: series.times, y: unpack(series.observed[idx]), name: "measured" },
      ] });
    });
    redraw("future", (place, idx) => {
      const fan = report.future.series[place];
      const past = report.fit && report.fit.series.find((series) => series.name === fan.name);
      const layers = fanLayers(fan, idx, "first", "forecast");
      if (past) {
        // As much of the past as helps to judge the future.
        const end = past.times.at(-1), from = end - 2 * (fan.times.at(-1) - end), values = unpack(past.observed[idx]);
        const kept = past.times.map((_, place) => place).filter((place) => past.times[place] >= from);
        layers.push({ kind: "dots", x: kept.map((place) => past.times[place]), y: kept.map((place) => values[place]), name: "measured" });
      }
      return chart({ title: graph.variables[idx], xLabel, layers, mark: past ? past.times.at(-1) : NaN });
    });
    for (const charts of document.querySelectorAll("[data-intervention]")) {
      charts.replaceChildren(...interventionCharts(report.interventions[Number(charts.dataset.intervention)]));
    }
    const curves = document.getElementById("training-charts");
    if (curves && report.training) curves.replaceChildren(...report.training.curves.map((curve) => trainingChart(report.training.steps, curve.name, unpack(curve.values))));
  };
  const interventionCharts = (one, names = report.graph.variables, xLabel = report.data.time_label) =>
    one.changes.filter((change) => change.changed).slice(0, SHOWN).map(({ variable }) => chart({
      title: names[variable], xLabel,
      layers: [...fanLayers(one.without, variable, "first", "left alone"), ...fanLayers(one.with, variable, "second", "under it")],
    }));
  const trainingChart = (steps, name, values) =>
    chart({ title: name, xLabel: "step", layers: [{ kind: "line", style: "first", x: steps, y: values, name }] });
  start();
  return { report, svg, html, short, scoreName, scoreText, unpack, chart, fanLayers, interventionCharts, trainingChart, showTip, hideTip };
})();
