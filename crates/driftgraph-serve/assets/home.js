// A new fit on the first page: upload, what was understood, and settings.
"use strict";
(() => {
  const { html } = window.driftgraph;
  const field = (id) => document.getElementById(id);
  let upload = null;
  let hasTruth = false;
  let shownColumns = null;

  const answer = async (address, options) => {
    const response = await fetch(address, options);
    const content = response.headers.get("content-type")?.includes("json") ? await response.json() : null;
    if (!response.ok) throw new Error(content?.error ?? `the server answered ${response.status}`);
    return content;
  };
  const post = (address, content) => answer(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) });
  const problem = (id, text) => { field(id).hidden = !text; field(id).textContent = text ?? ""; };

  // Several files are one upload, so that they are read together; a list called truth.csv holds known edges.
  const isTruth = (file) => /(^|\.)truth\.[a-z]+$/i.test(file.name);
  const put = (file, to, truth) => answer(`/api/uploads?${new URLSearchParams({ name: file.name, ...(to ? { to } : {}), ...(truth ? { truth } : {}) })}`, { method: "POST", body: file });
  const send = async (files) => {
    problem("upload-problem", null);
    field("understood").hidden = true;
    field("truth-file").value = "";
    for (const input of field("reading").querySelectorAll("input, select")) { input.checked = false; input.value = ""; }
    for (const id of ["time-column", "series-column"]) field(id).replaceChildren();
    field("ignore").replaceChildren();
    try {
      const tables = files.length > 1 ? files.filter((file) => !isTruth(file)) : files;
      let to = null;
      for (const file of tables) ({ upload: to } = await put(file, to, false));
      for (const file of files.filter((file) => !tables.includes(file))) await put(file, to, true);
      upload = to;
      show(await post(`/api/uploads/${encodeURIComponent(to)}/check`, columns()), true);
    } catch (error) {
      problem("upload-problem", error.message);
    }
  };
  const columns = () => ({
    time: field("time-column").value || null, series: field("series-column").value || null,
    ignore: [...field("ignore").querySelectorAll("input:checked")].map((box) => box.value),
    transpose: field("transpose").checked, even_steps: field("even-steps").checked, sheet: field("sheet").value || null,
    date_order: field("date-order").value || null, decimal: field("decimal").value || null,
    duplicates: field("duplicates").value || null, encoding: field("encoding").value || null,
    missing: field("missing").value ? field("missing").value.split(",").map((word) => word.trim()) : null,
  });
  const ticked = (id) => [...field(id).querySelectorAll("input:checked")].map((box) => box.value);
  const offer = (id, names) => {
    const chosen = new Set(ticked(id));
    field(id).replaceChildren(...names.map((name) => html("label", {}, html("input", { type: "checkbox", value: name, ...(chosen.has(name) ? { checked: "" } : {}) }), ` ${name}`)));
    field(id).parentElement.hidden = names.length === 0;
  };
  let variables = [];
  const again = async () => {
    try {
      show(await post(`/api/uploads/${encodeURIComponent(upload)}/check`, columns()), false);
    } catch (error) {
      problem("upload-problem", error.message);
    }
  };

  // Names and cells stand between backquotes in what readers say.
  const sentence = (text) => text.split("`").map((part, idx) => idx % 2 === 1 ? html("code", {}, part) : part);
  const cautions = (warnings) => warnings.length === 0 ? [] : [html("div", { class: "caution", id: "warnings" },
    html("strong", {}, "Read with care"), html("ul", {}, ...warnings.map((text) => html("li", {}, ...sentence(text)))))];

  // What an empty choice stands for, told from what was found.
  const tellFound = (found) => {
    const { summary } = found;
    const time = summary === null ? "not found: choose one" : summary.time_column ? `found: ${summary.time_column}` : field("even-steps").checked ? "none: rows are counted" : "in the archive";
    const several = found.files > 1 ? "none: one series per file" : summary?.series > 1 ? "none: told apart by the rows" : "none: one series";
    const series = summary?.series_column ? `found: ${summary.series_column}` : several;
    for (const [id, text] of [["time-column", time], ["series-column", series]]) {
      field(id).options[0].textContent = field(id).value ? "find it by itself" : text;
    }
  };
  const tellTruth = (truth) => {
    hasTruth = Boolean(truth && !truth.problem);
    field("truth-words").className = truth?.problem ? "problem" : "";
    field("truth-words").textContent = !truth ? "" : truth.problem ?? `${truth.edges} known ${truth.edges === 1 ? "edge" : "edges"} will be compared with the result.`;
    if (truth) field("truth-box").open = true;
  };
  const show = (found, fresh) => {
    upload = found.upload;
    field("understood").hidden = false;
    // A table that is turned on its side has other columns.
    if (fresh || shownColumns !== found.columns.join("\n")) {
      shownColumns = found.columns.join("\n");
      for (const id of ["time-column", "series-column"]) {
        field(id).replaceChildren(html("option", { value: "" }), ...found.columns.map((name) => html("option", { value: name }, name)));
      }
      field("ignore").replaceChildren(...found.columns.map((name) => html("label", {}, html("input", { type: "checkbox", value: name, onchange: again }), ` ${name}`)));
      field("ignore-box").hidden = found.columns.length === 0;
    }
    tellFound(found);
    tellTruth(found.truth);
    if (fresh) field("name").value = found.upload;
    const { summary } = found;
    const usable = summary !== null && summary.usable;
    field("begin").disabled = !usable;
    if (usable) {
      variables = summary.variable_details.map(({ name }) => name);
      // Only what is positive has a logarithm.
      offer("log", summary.variable_details.filter((one) => one.min > 0).map(({ name }) => name));
      offer("inputs", variables);
    }
    field("start").hidden = summary === null;
    if (summary === null) {
      field("understood-words").replaceChildren(
        html("p", {}, "This table cannot be used as it is:"),
        html("ul", { class: "problems" }, ...found.problems.slice(0, 20).map((one) => html("li", {}, ...sentence(`${one.problem} (${one.place})`)))),
        ...found.hints.map((hint) => html("p", { class: "hint" }, ...sentence(hint))));
      field("variables-table").replaceChildren();
      // What the hints name is to be seen.
      field("reading-box").open = true;
      return;
    }
    const [least, most] = summary.rows_per_series;
    field("understood-words").replaceChildren(
      html("p", {}, `${summary.series} series of ${least === most ? least : `${least} to ${most}`} rows, ${summary.variables} variables; time ${found.span[0]} to ${found.span[1]}; ` +
        `${summary.missing_cells} cells missing (${(100 * summary.missing_share).toFixed(1)} %).`),
      ...(usable ? [] : [html("p", { class: "problem" }, "There is nothing to learn from: no variable changes within a series.")]),
      ...(summary.pace ? [html("p", {}, ...sentence(summary.pace.advice))] : []),
      ...summary.notices.map((text) => html("p", { class: "hint" }, ...sentence(text))),
      ...cautions(summary.warnings));
    const cell = (text) => html("td", { class: "number" }, text);
    const number = (value) => value === null ? "–" : String(Number(value.toPrecision(6))).replace("-", "−");
    field("variables-table").replaceChildren(
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "variable"), ...["observed", "missing", "least", "mean", "most"].map((text) => html("th", { scope: "col", class: "number" }, text)))),
      html("tbody", {}, ...summary.variable_details.slice(0, 30).map((one) => html("tr", {}, html("th", { scope: "row", class: "variable" }, one.name),
        cell(String(one.observed)), cell(String(one.missing)), cell(number(one.min)), cell(number(one.mean)), cell(number(one.max))))));
    const time = (seconds) => seconds < 90 ? `${Math.ceil(seconds / 10) * 10} seconds` : `${Math.ceil(seconds / 60)} minutes`;
    field("estimate").textContent = `Expect between ${time(found.estimate[0])} and ${time(found.estimate[1])}; a fit can be stopped and go on at any time.`;
  };

  field("file").addEventListener("change", () => { if (field("file").files.length > 0) send([...field("file").files]); });
  field("truth-file").addEventListener("change", async () => {
    const [file] = field("truth-file").files;
    if (!file) return;
    try {
      await put(file, upload, true);
      await again();
    } catch (error) {
      tellTruth({ problem: error.message });
    }
  });
  const drop = field("drop");
  for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); if (event.dataTransfer.files.length > 0) send([...event.dataTransfer.files]); });
  field("time-column").addEventListener("change", again);
  field("series-column").addEventListener("change", again);
  for (const input of field("reading").querySelectorAll("input, select")) input.addEventListener("change", again);

  let methods = [];
  const showMethod = () => {
    const method = methods.find((one) => one.name === field("method").value);
    field("method-words").textContent = method ? `${method.name}: ${method.description}.` : "";
    for (const [id, name] of [["select", "select"], ["drift", "drift"], ["ensemble", "ensemble"], ["steps", "steps"], ["seed", "seed"], ["self-loops", "no_self_loops"]]) {
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
    if (field("drift").value) given.drift = field("drift").value;
    if (field("steps").value) given.steps = Number(field("steps").value);
    if (!field("self-loops").checked) given.no_self_loops = true;
    // Each method is asked only for what it knows.
    const method = methods.find((one) => one.name === field("method").value) ?? methods[0];
    const preparation = { detrend: field("detrend").checked, log: ticked("log") };
    if (field("season").value) preparation.season = Number(field("season").value);
    const settings = Object.fromEntries(Object.entries(given).filter(([name]) => method.settings.includes(name)));
    try {
      const { name } = await post("/api/runs", { name: field("name").value.trim(), upload, columns: { ...columns(), inputs: ticked("inputs") }, truth: hasTruth, asked: { method: method.name, settings, preparation } });
      location.assign(`/runs/${encodeURIComponent(name)}`);
    } catch (error) {
      problem("start-problem", error.message);
    }
  });
})();
