// The first page: upload, what was understood, settings, and the list of runs.
"use strict";
(() => {
  const { html, short } = window.driftgraph;
  const field = (id) => document.getElementById(id);
  const WORDS = { running: "running", stopped: "stopped", finished: "finished", failed: "failed" };
  let upload = null;
  let shownColumns = null;

  const answer = async (address, options) => {
    const response = await fetch(address, options);
    const content = response.headers.get("content-type")?.includes("json") ? await response.json() : null;
    if (!response.ok) throw new Error(content?.error ?? `the server answered ${response.status}`);
    return content;
  };
  const post = (address, content) => answer(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) });
  const problem = (id, text) => { field(id).hidden = !text; field(id).textContent = text ?? ""; };

  const send = async (file) => {
    problem("upload-problem", null);
    field("understood").hidden = true;
    for (const input of field("reading").querySelectorAll("input, select")) { input.checked = false; input.value = ""; }
    try {
      show(await answer(`/api/uploads?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file }), true);
    } catch (error) {
      problem("upload-problem", error.message);
    }
  };
  const columns = () => ({
    time: field("time-column").value || null, series: field("series-column").value || null,
    ignore: [...field("ignore").querySelectorAll("input:checked")].map((box) => box.value),
    transpose: field("transpose").checked, even_steps: field("even-steps").checked, sheet: field("sheet").value || null,
    date_order: field("date-order").value || null, decimal: field("decimal").value || null,
    missing: field("missing").value ? field("missing").value.split(",").map((word) => word.trim()) : null,
  });
  const again = async () => {
    try {
      show(await post(`/api/uploads/${encodeURIComponent(upload)}/check`, columns()), false);
    } catch (error) {
      problem("upload-problem", error.message);
    }
  };

  const show = (found, fresh) => {
    upload = found.upload;
    field("understood").hidden = false;
    // A table that is turned on its side has other columns.
    if (fresh || shownColumns !== found.columns.join("\n")) {
      shownColumns = found.columns.join("\n");
      for (const id of ["time-column", "series-column"]) {
        field(id).replaceChildren(html("option", { value: "" }, "found by its name"), ...found.columns.map((name) => html("option", { value: name }, name)));
      }
      field("ignore").replaceChildren(...found.columns.map((name) => html("label", {}, html("input", { type: "checkbox", value: name, onchange: again }), ` ${name}`)));
      field("ignore-box").hidden = found.columns.length === 0;
    }
    if (fresh) field("name").value = found.upload.replace(/\..*$/, "");
    const { summary } = found;
    const usable = summary !== null && summary.usable;
    field("begin").disabled = !usable;
    field("start").hidden = summary === null;
    if (summary === null) {
      field("understood-words").replaceChildren(
        html("p", {}, "This table cannot be used as it is:"),
        html("ul", { class: "problems" }, ...found.problems.slice(0, 20).map((one) => html("li", {}, `${one.problem} (${one.place})`))),
        ...found.hints.map((hint) => html("p", { class: "hint" }, hint)));
      field("variables-table").replaceChildren();
      return;
    }
    const [least, most] = summary.rows_per_series;
    field("understood-words").replaceChildren(
      html("p", {}, `${summary.series} series of ${least === most ? least : `${least} to ${most}`} rows, ${summary.variables} variables; time ${short(summary.span[0])} to ${short(summary.span[1])}; ` +
        `${summary.missing_cells} cells missing (${(100 * summary.missing_share).toFixed(1)} %).`),
      ...(usable ? [] : [html("p", { class: "problem" }, "There is nothing to learn from: no variable changes within a series.")]),
      ...[...summary.notices, ...summary.warnings].map((text) => html("p", { class: "hint" }, text)));
    const cell = (text) => html("td", { class: "number" }, text);
    field("variables-table").replaceChildren(
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "variable"), ...["observed", "missing", "least", "mean", "most"].map((text) => html("th", { scope: "col", class: "number" }, text)))),
      html("tbody", {}, ...summary.variable_details.slice(0, 30).map((one) => html("tr", {}, html("th", { scope: "row", class: "variable" }, one.name),
        cell(String(one.observed)), cell(String(one.missing)), cell(short(one.min ?? NaN)), cell(short(one.mean ?? NaN)), cell(short(one.max ?? NaN))))));
    const time = (seconds) => seconds < 90 ? `${Math.ceil(seconds / 10) * 10} seconds` : `${Math.ceil(seconds / 60)} minutes`;
    field("estimate").textContent = `Expect between ${time(found.estimate[0])} and ${time(found.estimate[1])}; a fit can be stopped and go on at any time.`;
  };

  field("file").addEventListener("change", () => { if (field("file").files[0]) send(field("file").files[0]); });
  const drop = field("drop");
  for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]); });
  field("time-column").addEventListener("change", again);
  field("series-column").addEventListener("change", again);
  for (const input of field("reading").querySelectorAll("input, select")) input.addEventListener("change", again);

  let methods = [];
  const showMethod = () => {
    const method = methods.find((one) => one.name === field("method").value);
    field("method-words").textContent = method ? `${method.name}: ${method.description}.` : "";
    for (const [id, name] of [["select", "select"], ["ensemble", "ensemble"], ["steps", "steps"], ["seed", "seed"], ["self-loops", "no_self_loops"]]) {
      field(id).disabled = !method?.settings.includes(name);
    }
  };
  field("method").addEventListener("change", showMethod);
  answer("/api/methods").then((found) => {
    methods = found;
    field("method").replaceChildren(...methods.map((one) => html("option", { value: one.name }, one.name)));
    showMethod();
  });

  field("start").addEventListener("submit", async (event) => {
    event.preventDefault();
    problem("start-problem", null);
    const given = { seed: Number(field("seed").value) || 0, ensemble: Number(field("ensemble").value) || 3 };
    if (!field("select").checked) given.select = "none";
    if (field("steps").value) given.steps = Number(field("steps").value);
    if (!field("self-loops").checked) given.no_self_loops = true;
    // Each method is asked only for what it knows.
    const method = methods.find((one) => one.name === field("method").value) ?? methods[0];
    const settings = Object.fromEntries(Object.entries(given).filter(([name]) => method.settings.includes(name)));
    try {
      const { name } = await post("/api/runs", { name: field("name").value.trim(), upload, columns: columns(), asked: { method: method.name, settings } });
      location.assign(`/runs/${encodeURIComponent(name)}`);
    } catch (error) {
      problem("start-problem", error.message);
    }
  });

  const list = async () => {
    const runs = await answer("/api/runs");
    field("no-runs").hidden = runs.length > 0;
    field("run-list").replaceChildren(...runs.map((run) => html("li", {},
      html("a", { href: `/runs/${encodeURIComponent(run.name)}` }, run.name),
      html("span", { class: `standing ${run.standing}` }, WORDS[run.standing]),
      ...(run.problem ? [html("span", { class: "faint" }, run.problem)] : []))));
    const models = runs.filter((run) => run.has_model);
    field("compare-form").hidden = models.length < 2;
    for (const [id, place] of [["compare-a", 0], ["compare-b", 1]]) {
      const chosen = field(id).value;
      field(id).replaceChildren(...models.map((run) => html("option", { value: run.name }, run.name)));
      field(id).value = chosen || (models[place]?.name ?? "");
    }
  };
  list();
  setInterval(list, 3000);
})();
