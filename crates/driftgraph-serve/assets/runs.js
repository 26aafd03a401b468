// The list of runs on the first page: what each is, another name for it, and its end.
"use strict";
(() => {
  const { html } = window.driftgraph;
  const field = (id) => document.getElementById(id);
  const WORDS = { running: "running", stopped: "stopped", finished: "finished", failed: "failed" };
  let shown = null;
  // The run that is being renamed or deleted; the list stands still meanwhile.
  let open = false;

  const ask = async (address, options) => {
    const response = await fetch(address, options);
    const content = response.headers.get("content-type")?.includes("json") ? await response.json() : null;
    if (!response.ok) throw new Error(content?.error ?? `the server answered ${response.status}`);
    return content;
  };
  const change = async (address, options) => {
    const problem = field("runs-problem");
    problem.hidden = true;
    try {
      await ask(address, options);
    } catch (error) {
      problem.hidden = false;
      problem.textContent = error.message;
    }
    open = false;
    shown = null;
    await list();
  };

  const two = (number) => String(number).padStart(2, "0");
  const date = (seconds) => {
    const day = new Date(1000 * seconds);
    return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())} ${two(day.getHours())}:${two(day.getMinutes())}`;
  };
  const size = (bytes) => bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

  const address = (run) => `/api/runs/${encodeURIComponent(run.name)}`;
  const rename = (run, item) => {
    open = true;
    const input = html("input", { type: "text", value: run.name, maxlength: 80, required: "", "aria-label": `new name of ${run.name}` });
    const form = html("form", { class: "rename", onsubmit: (event) => {
      event.preventDefault();
      change(`${address(run)}/rename`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ name: input.value.trim() }) });
    } }, input, html("button", { type: "submit" }, "Rename"), html("button", { type: "button", onclick: () => { open = false; shown = null; list(); } }, "Cancel"));
    item.replaceChildren(form);
    input.select();
  };
  const remove = (run, item) => {
    open = true;
    item.replaceChildren(html("span", {}, `Delete ${run.name} for good?`),
      html("button", { type: "button", class: "danger", onclick: () => change(address(run), { method: "DELETE" }) }, "Delete"),
      html("button", { type: "button", onclick: () => { open = false; shown = null; list(); } }, "Keep"));
    item.querySelector("button").focus();
  };

  const entry = (run) => {
    const item = html("li", {});
    const facts = [run.changed ? date(run.changed) : null, run.size, size(run.bytes)].filter(Boolean).join(" · ");
    item.append(
      html("a", { href: `/runs/${encodeURIComponent(run.name)}` }, run.name),
      html("span", { class: `standing ${run.standing}` }, WORDS[run.standing]),
      html("span", { class: "faint facts" }, facts));
    if (run.standing !== "running") {
      item.append(html("span", { class: "small-buttons" },
        html("button", { type: "button", "aria-label": `rename ${run.name}`, onclick: () => rename(run, item) }, "Rename"),
        html("button", { type: "button", "aria-label": `delete ${run.name}`, onclick: () => remove(run, item) }, "Delete")));
    }
    const words = run.problem ?? run.remains;
    if (words) item.append(html("span", { class: "faint words" }, words));
    return item;
  };

  const list = async () => {
    if (open) return;
    const runs = await ask("/api/runs");
    const text = JSON.stringify(runs);
    if (open || text === shown) return;
    shown = text;
    field("no-runs").hidden = runs.length > 0;
    field("run-list").replaceChildren(...runs.map(entry));
    const models = runs.filter((run) => run.has_result);
    field("compare-form").hidden = models.length < 2;
    for (const [id, place] of [["compare-a", 1], ["compare-b", 0]]) {
      const chosen = field(id).value;
      field(id).replaceChildren(...models.map((run) => html("option", { value: run.name }, run.name)));
      field(id).value = models.some((run) => run.name === chosen) ? chosen : models[place]?.name ?? "";
    }
  };
  list();
  setInterval(list, 3000);
})();
