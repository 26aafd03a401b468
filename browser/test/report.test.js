// The report as a reader has it: a file opened from disk, without a network, with and without scripts.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch } from "../browser.js";

const binary = process.env.DRIFTGRAPH;
const folder = mkdtempSync(join(tmpdir(), "driftgraph-browser-"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const NAMES = ["<script>alert(1)</script>", `"quoted" & 'said'`, "🧬 gène", "y".repeat(300), "</script><img src=x onerror=alert(2)>"];
let browser, address;

const driftgraph = (...words) => execFileSync(binary, words, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] }).toString();

before(async () => {
  driftgraph("generate", "linear", "--set", "variables=5", "--set", "parents=2", "--series", "5", "--points", "40", "--drop", "0.1", "--drop-by", "cell", "--out", "data");
  const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
  for (const file of ["data/data.csv", "data/truth.csv"]) {
    let text = readFileSync(join(folder, file), "utf8");
    NAMES.forEach((name, idx) => { text = text.replaceAll(new RegExp(`\\bx${idx + 1}\\b`, "g"), () => quoted(name)); });
    writeFileSync(join(folder, file), text);
  }
  driftgraph("fit", "data/data.csv", "--truth", "data/truth.csv", "--steps", "200", "--select", "none", "--ensemble", "2", "--out", "run");
  driftgraph("report", "run", "--do", "`🧬 gène` = 1", "--out", "report.html");
  address = `file://${join(folder, "report.html")}`;
  browser = await launch();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

// A page that cannot reach anything but the file, and keeps what went wrong.
const open = async (options = {}) => {
  const context = await browser.newContext({ offline: true, viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("dialog", (dialog) => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (request.url() !== address) problems.push(`asked for ${request.url().slice(0, 80)}`); });
  await page.goto(address);
  return { page, context, problems };
};

const setter = (page) => (id, value) => page.locator(id).evaluate((input, value) => { input.value = value; input.dispatchEvent(new Event("input")); }, value);

test("the report opens from disk without a network, a warning or an alert", async () => {
  const { page, context, problems } = await open();
  for (const part of ["words", "graph", "matrix", "truth", "fit", "next", "training", "provenance"]) {
    assert.ok(await page.locator(`#${part}`).isVisible(), part);
  }
  assert.equal(await page.locator(".node").count(), NAMES.length);
  assert.ok(statSync(join(folder, "report.html")).size < 500_000);
  assert.deepEqual(problems, []);
  await context.close();
});

test("the threshold and the number of edges change what is drawn", async () => {
  const { page, context } = await open();
  const set = setter(page);
  const count = () => page.locator("#graph-svg .edge:not(.missed)").count();
  await set("#most", "25");
  await set("#threshold", "0.05");
  const all = await count();
  await set("#threshold", "1");
  const few = await count();
  assert.ok(few < all, `${few} and ${all} edges`);
  await set("#threshold", "0.05");
  assert.equal(await count(), all);
  await set("#most", "2");
  await page.locator("#loops").uncheck();
  assert.equal(await count(), 2);
  await context.close();
});

test("a share of false edges stands in for the threshold, and says how many are expected", async () => {
  // The other report is of too little data for a probable edge.
  driftgraph("generate", "linear", "--set", "variables=5", "--set", "parents=2", "--series", "10", "--points", "200", "--out", "sure");
  driftgraph("fit", "sure/data.csv", "--select", "none", "--ensemble", "1", "--out", "sure-run");
  const { page, context } = await open();
  const set = setter(page);
  await page.goto(`file://${join(folder, "sure-run/report.html")}`);
  const count = () => page.locator("#graph-svg .edge:not(.missed)").count();
  await page.locator("#loops").uncheck();
  await page.locator("#most").fill("25");
  await set("#fdr", "0.5");
  assert.ok(await page.locator("#threshold").isDisabled());
  const many = await count();
  const [shown, expected] = (await page.locator("#edge-count").innerText()).match(/[\d.]+/g).map(Number);
  assert.equal(shown, many);
  assert.ok(expected < 0.5 * shown, `${expected} of ${shown}`);
  await set("#fdr", "0.01");
  assert.ok(await count() <= many);
  await set("#fdr", "0");
  assert.ok(!(await page.locator("#threshold").isDisabled()));
  await context.close();
});

test("a variable is chosen with the mouse, the keyboard and by its name, and can be moved", async () => {
  const { page, context, problems } = await open();
  const third = page.locator('.node[data-node="2"]');
  await third.click();
  assert.match(await page.locator("#node-panel").innerText(), /🧬 gène[\s\S]*driven by[\s\S]*drives/);
  await page.locator("#node-panel button").first().click();
  await third.focus();
  await page.keyboard.press("Enter");
  assert.equal(await third.getAttribute("aria-pressed"), "true");
  const before = await third.getAttribute("transform");
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await third.getAttribute("transform"), before);
  await page.keyboard.press("Escape");
  await page.locator("#search").fill("quoted");
  assert.equal(await page.locator('.node[data-node="1"]').getAttribute("aria-pressed"), "true");
  const box = await third.boundingBox();
  const placed = await third.getAttribute("transform");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + 60, { steps: 4 });
  await page.mouse.up();
  assert.notEqual(await third.getAttribute("transform"), placed);
  assert.deepEqual(problems, []);
  await context.close();
});

test("series, variables and the order of the matrix can be chosen", async () => {
  const { page, context, problems } = await open();
  const headings = () => page.locator("#fit-charts .heading").allTextContents();
  assert.equal((await headings()).length, NAMES.length);
  await page.locator("#fit-variable").selectOption("3");
  assert.equal((await headings()).length, 1);
  const line = () => page.locator("#fit-charts .line").first().getAttribute("d");
  const first = await line();
  await page.locator("#fit-series").selectOption("2");
  assert.notEqual(await line(), first);
  const names = () => page.locator("#matrix-svg .names text").allTextContents();
  const given = await names();
  await page.locator("#order").selectOption({ label: "strongest drivers first" });
  assert.deepEqual((await names()).toSorted(), given.toSorted());
  await page.locator("#outline").uncheck();
  assert.equal(await page.locator("#matrix-svg .truth").count(), 0);
  await page.locator("#matrix-svg").hover();
  assert.match(await page.locator(".tip").innerText(), /→[\s\S]*probability/);
  assert.deepEqual(problems, []);
  await context.close();
});

test("scripts draw the same arrows and cells as the file has without them", async () => {
  const found = async (options) => {
    const { page, context } = await open(options);
    const of = (selector) => page.locator(selector).evaluateAll((all) => all.map((path) => [path.parentElement.getAttribute("class"), path.getAttribute("class"), path.getAttribute("fill-opacity"), path.getAttribute("d")]));
    const drawn = { arrows: await of("#graph-svg .line, #graph-svg .head"), cells: await of("#matrix-svg path") };
    await context.close();
    return drawn;
  };
  const [written, scripted] = [await found({ javaScriptEnabled: false }), await found({})];
  assert.ok(written.arrows.length > 8 && written.cells.length > 3);
  // Numbers are rounded before they are added here and after it there, by less than a tenth of a pixel.
  const rounded = (text) => text.replaceAll(/-?\d+(\.\d+)?/g, (number) => String(Math.round(Number(number))).replace("-0", "0"));
  const numbers = (text) => text.match(/-?\d+(\.\d+)?/g).map(Number);
  written.arrows.forEach(([group, part, , d], idx) => {
    const [otherGroup, otherPart, , other] = scripted.arrows[idx];
    assert.deepEqual([otherGroup, otherPart, other.replaceAll(/[-\d. ]/g, "")], [group, part, d.replaceAll(/[-\d. ]/g, "")]);
    numbers(d).forEach((number, place) => assert.ok(Math.abs(number - numbers(other)[place]) < 0.1, `${d} and ${other}`));
  });
  assert.equal(scripted.arrows.length, written.arrows.length);
  // Cells of one colour are one path, whatever the order of the paths and of the cells in them.
  const sorted = (cells) => cells.map(([, part, opacity, d]) => [part, opacity, rounded(d).split("M").toSorted().join("M")]).toSorted();
  assert.deepEqual(sorted(scripted.cells), sorted(written.cells));
});

test("without scripts the graph, the matrix and the numbers are still there", async () => {
  const { page, context } = await open({ javaScriptEnabled: false });
  assert.ok(await page.locator("#graph-svg .edge").count() > 0);
  assert.ok(await page.locator("#matrix-svg .cells").count() > 0);
  assert.ok(await page.locator("#graph table tbody tr").count() > 0);
  assert.ok(await page.locator("#fit-charts .chart").count() > 0);
  assert.ok(await page.locator("#training-charts .chart").count() > 0);
  assert.match(await page.locator("#words").innerText(), /driftgraph found/);
  assert.equal(await page.locator("#threshold").isVisible(), false);
  await context.close();
});

test("the downloads are the files they say", async () => {
  const { page, context } = await open();
  const waiting = page.waitForEvent("download");
  await page.locator('a[download="edges.csv"]').click();
  const text = readFileSync(await (await waiting).path(), "utf8");
  assert.equal(text.trim().split("\n").length, NAMES.length ** 2 + 1);
  assert.ok(text.startsWith("source,target,probability"));
  await context.close();
});

for (const [width, colorScheme] of [[1400, "light"], [1400, "dark"], [390, "light"], [390, "dark"]]) {
  test(`no serious accessibility problem at ${width} px, ${colorScheme}, and nothing wider than the page`, async () => {
    const { page, context } = await open({ viewport: { width, height: 900 }, colorScheme });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${wide} pixels too wide`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    assert.deepEqual(serious.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))]), []);
    await context.close();
  });
}
