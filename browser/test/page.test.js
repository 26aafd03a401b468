// The local page as a user has it: the real binary, a real browser, from the table to the answer.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch } from "../browser.js";

const binary = process.env.DRIFTGRAPH;
const folder = mkdtempSync(join(tmpdir(), "driftgraph-page-"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const NASTY = "<img src=x onerror=alert(1)>";
let browser, context, page, server, address, port;
const problems = [];

const serve = (...words) => new Promise((resolve, reject) => {
  const child = spawn(binary, ["serve", "runs", "--no-open", "--max-upload", "50", ...words], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  child.once("error", reject);
  child.stdout.once("data", (text) => resolve([child, text.toString().trim()]));
});
const end = (child) => new Promise((resolve) => { child.once("exit", resolve); child.kill("SIGKILL"); });

// A bare request, so that headers can be false.
const ask = (path, { headers = {}, method = "GET", body } = {}) => new Promise((resolve, reject) => {
  const sent = request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
    let text = "";
    response.on("data", (part) => { text += part; });
    response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
  });
  sent.on("error", reject);
  if (body) body(sent); else sent.end();
});
const token = () => new URL(address).searchParams.get("token");
const bearer = () => ({ authorization: `Bearer ${token()}` });

before(async () => {
  execFileSync(binary, ["generate", "linear", "--set", "variables=4", "--set", "parents=1", "--series", "6", "--points", "60", "--out", "data"], { cwd: folder, stdio: "ignore" });
  // Choosing a model for this one takes about a minute: time enough to stop it, and to kill the server.
  execFileSync(binary, ["generate", "glycolysis", "--series", "10", "--points", "100", "--out", "slow"], { cwd: folder, stdio: "ignore" });
  [server, address] = await serve();
  port = Number(new URL(address).port);
  browser = await launch();
  context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  page = await context.newPage();
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("dialog", (dialog) => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
});
after(async () => {
  await browser?.close();
  if (server) await end(server);
  rmSync(folder, { recursive: true, force: true });
});

test("strangers get nothing: no token, a foreign Host, a foreign Origin, other folders", async () => {
  assert.equal((await ask("/")).status, 403);
  assert.equal((await ask("/api/runs")).status, 403);
  assert.equal((await ask("/assets/report.css")).status, 403);
  assert.equal((await ask(`/?token=${"0".repeat(32)}`)).status, 403);
  assert.equal((await ask("/api/runs", { headers: { ...bearer(), host: "evil.example" } })).status, 403);
  assert.equal((await ask("/api/runs", { headers: { ...bearer(), origin: "http://evil.example" } })).status, 403);
  const good = await ask("/api/runs", { headers: bearer() });
  assert.equal(good.status, 200);
  assert.match(good.headers["content-security-policy"], /default-src 'none'/);
  for (const path of ["/../Cargo.toml", "/api/runs/..%2f..%2fetc", "/api/runs/../../etc", "/runs/..", "/runs/%2e%2e", "/assets/..%2f..%2fx", "/api/runs/uploads", "/api/runs/a/files/..%2fx", "/nothing"]) {
    assert.equal((await ask(path, { headers: bearer() })).status, 404, path);
  }
});

test("an upload of a gigabyte is refused without being read", async () => {
  const announced = await ask("/api/uploads?name=big.csv", { method: "POST", headers: { ...bearer(), "content-length": 2 ** 30 }, body: (sent) => sent.write("time,x\n") });
  assert.equal(announced.status, 413);
  const memory = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]);
  const before_ = memory();
  const chunk = Buffer.alloc(1 << 20, "1");
  // Without a length, as much as the server takes.
  const status = await ask("/api/uploads?name=big.csv", {
    method: "POST", headers: bearer(),
    body: async (sent) => {
      sent.on("error", () => {});
      sent.setMaxListeners(0);
      for (let part = 0; part < 1024 && !sent.destroyed && !sent.res; part += 1) {
        if (!sent.write(chunk)) await Promise.race([new Promise((resolve) => sent.once("drain", resolve)), new Promise((resolve) => sent.once("close", resolve)), new Promise((resolve) => sent.once("response", resolve))]);
      }
      sent.end();
    },
  }).then(({ status }) => status, (error) => error.code);
  assert.ok([413, "ECONNRESET", "EPIPE"].includes(status), String(status));
  assert.ok(memory() - before_ < 60_000, `${memory() - before_} kB more memory`);
});

test("a table that cannot be used is explained, and its columns can be changed", async () => {
  await page.goto(address);
  assert.equal(new URL(page.url()).search, "", "the token leaves the address bar");
  await page.locator("#file").setInputFiles({ name: "odd.csv", mimeType: "text/csv", buffer: Buffer.from(`when,${NASTY},b\n0,1,2\n1,2,3\n2,1,5\n`) });
  await page.locator("#understood-words .problems").waitFor();
  // Nothing was found, and nothing is said to be found; advice names the fields of the page.
  assert.deepEqual(await page.locator("#time-column option").first().innerText(), "not found: choose one");
  const advice = await page.locator("#understood-words").innerText();
  assert.match(advice, /“Time”/);
  assert.doesNotMatch(advice, /--|uploads/);
  assert.ok(await page.locator("#even-steps").isVisible(), "what the advice names can be seen");
  await page.locator("#time-column").selectOption("when");
  await page.locator("#variables-table tbody tr").first().waitFor();
  assert.deepEqual(await page.locator("#variables-table tbody th").allTextContents(), [NASTY, "b"]);
});

test("a table is uploaded, fitted, watched, stopped and resumed", { timeout: 120_000 }, async () => {
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.locator("#file").setInputFiles(join(folder, "slow/data.csv"));
  await page.locator("#variables-table tbody tr").first().waitFor();
  assert.match(await page.locator("#understood-words").innerText(), /10 series of 100 rows, 7 variables/);
  assert.match(await page.locator("#estimate").innerText(), /between/);
  await page.locator("#name").fill("first");
  await page.locator("#begin").click();
  await page.waitForURL("**/runs/first");
  const curve = page.locator("#curve .line");
  await curve.waitFor();
  const first = await curve.getAttribute("d");
  await page.waitForFunction((first) => document.querySelector("#curve .line")?.getAttribute("d") !== first, first);
  assert.equal(await page.locator("#forming .node").count(), 7);
  // A reload in the middle of the fit shows it again at once.
  await page.reload();
  await curve.waitFor();
  await page.locator("#stop").click();
  await page.locator("#resume").waitFor({ state: "visible" });
  assert.equal(await page.locator("#standing").innerText(), "stopped");
  assert.match(await page.locator("#remains").innerText(), /^Stopped (early|before).*going on/);
  await page.locator("#resume").click();
  await page.locator("#stop").waitFor({ state: "visible" });
  await curve.waitFor();
});

test("a fit goes on by itself after the server was killed", { timeout: 90_000 }, async () => {
  const kept = () => readdirSync(join(folder, "runs/first/checkpoint"));
  const standing = async () => JSON.parse((await ask("/api/runs/first", { headers: bearer() })).text).standing;
  while (kept().length === 0) await new Promise((resolve) => setTimeout(resolve, 300));
  const before_ = kept();
  // A page that listens would rightly log that its server is gone.
  await page.goto("about:blank");
  await end(server);
  [server, address] = await serve("--port", String(port));
  assert.equal(await standing(), "running");
  assert.ok(kept().filter((part) => before_.includes(part)).length > 0, "its checkpoints are gone");
  await page.goto(address);
  await page.goto(`http://127.0.0.1:${port}/runs/first`);
  await page.locator("#curve .line").waitFor();
  await page.locator("#stop").click();
  await page.locator("#resume").waitFor({ state: "visible" });
  // One that the user has stopped stays so.
  await end(server);
  [server, address] = await serve("--port", String(port));
  assert.equal(await standing(), "stopped");
  await page.goto(address);
});

test("a short fit finishes and its report is live", { timeout: 90_000 }, async () => {
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.locator("#file").setInputFiles(join(folder, "data/data.csv"));
  await page.locator("#variables-table tbody tr").first().waitFor();
  await page.locator("#name").fill("second");
  await page.locator("#ensemble").fill("2");
  await page.locator("#select").uncheck();
  await page.locator("#steps").fill("150");
  await page.locator("#begin").click();
  await page.locator("#graph-svg").waitFor({ timeout: 60_000 });
  assert.equal(await page.locator("#standing").innerText(), "finished");
  const count = () => page.locator("#graph-svg .edge").count();
  const set = (value) => page.locator("#threshold").evaluate((input, value) => { input.value = value; input.dispatchEvent(new Event("input")); }, value);
  await set("0.05");
  const all = await count();
  await set("1");
  assert.ok(await count() < all);
  await page.locator("#hold-value").fill("2");
  await page.locator("#hold button").click();
  await page.locator("#ask-charts .chart").first().waitFor();
  assert.ok(await page.locator("#ask-charts .line.second").count() > 0, "with and without are drawn");
  await page.locator("#ahead button").click();
  await page.waitForFunction(() => document.querySelectorAll("#ask-charts .line.second").length === 0 && document.querySelectorAll("#ask-charts .chart").length === 4);
  const download = page.waitForEvent("download");
  await page.locator('#files a[download="report.html"]').click();
  assert.match(readFileSync(await (await download).path(), "utf8"), /^<!doctype html>/);
  await page.reload();
  assert.ok(await count() > 0);
});

test("a method of one file and one line is chosen, run and shown", async () => {
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.locator("#file").setInputFiles(join(folder, "data/data.csv"));
  await page.locator("#variables-table tbody tr").first().waitFor();
  await page.locator("#name").fill("toys");
  await page.locator("#method").selectOption("toy");
  await page.locator("#begin").click();
  await page.locator("#graph-svg").waitFor({ timeout: 30_000 });
  assert.equal(await page.locator("#standing").innerText(), "finished");
  assert.match(await page.locator("main").innerText(), /Method toy: ranks edges .* which learns nothing\./);
  assert.match(await page.locator("#files").innerText(), /edges\.csv/);
  assert.equal(await page.locator('#files a[download="model.safetensors"]').count(), 0, "there is no model");
  assert.equal(await page.locator("#hold").count(), 0, "there is no process to ask");
});

test("two runs are compared side by side", async () => {
  execFileSync(binary, ["fit", "data/data.csv", "--steps", "60", "--select", "none", "--ensemble", "1", "--out", "runs/third"], { cwd: folder, stdio: "ignore" });
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.locator("#compare-form").waitFor({ state: "visible" });
  await page.locator("#compare-a").selectOption("second");
  await page.locator("#compare-b").selectOption("third");
  await page.locator("#compare-form button").click();
  await page.waitForURL("**/compare?a=second&b=third");
  assert.equal(await page.locator("svg.graph").count(), 2);
  assert.ok(await page.locator("tbody tr").count() > 3);
});

// Ten years of months: two tables of one series each, and edges that are known.
const months = (seed) => {
  let [x, y] = [0, 0], state = seed;
  const noise = () => { state = (state * 1103515245 + 12345) % 2147483648; return state / 1073741824 - 1; };
  const rows = Array.from({ length: 120 }, (_, month) => {
    [x, y] = [0.7 * x + noise(), 0.6 * y + 0.8 * x + noise()];
    return `${2000 + Math.floor(month / 12)}-${String(month % 12 + 1).padStart(2, "0")}-01,${x.toFixed(4)},${y.toFixed(4)}`;
  });
  return `month,a variable whose name is much longer than any column is wide,sales\n${rows.join("\n")}\n`;
};
const LONG = "a variable whose name is much longer than any column is wide";

test("dated tables are read together, compared with known edges, and asked in dates", { timeout: 90_000 }, async () => {
  await page.goto(`http://127.0.0.1:${port}/`);
  const file = (name, text) => ({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
  await page.locator("#file").setInputFiles([file("north.csv", months(1)), file("south.csv", months(7))]);
  await page.locator("#variables-table tbody tr").first().waitFor();
  assert.match(await page.locator("#understood-words").innerText(), /2 series of 120 rows, 2 variables; time 2000-01-01 to 2009-12-01/);
  assert.equal(await page.locator("#time-column option").first().innerText(), "found: month");
  assert.equal(await page.locator("#series-column option").first().innerText(), "none: one series per file");
  await page.locator("#truth-box summary").click();
  await page.locator("#truth-file").setInputFiles(file("known.csv", "source,target\nnobody,sales\n"));
  await page.locator("#truth-words.problem").waitFor();
  assert.match(await page.locator("#truth-words").innerText(), /`nobody` is not one of the variables/);
  await page.locator("#truth-file").setInputFiles(file("known.csv", `source,target\n${LONG},sales\nsales,sales\n${LONG},${LONG}\n`));
  await page.waitForFunction(() => document.querySelector("#truth-words").textContent.startsWith("3 known edges"));
  await page.locator("#name").fill("dated");
  await page.locator("#ensemble").fill("1");
  await page.locator("#select").uncheck();
  await page.locator("#steps").fill("150");
  await page.locator("#begin").click();
  await page.locator("#graph-svg").waitFor({ timeout: 60_000 });
  assert.ok((await page.locator("main").innerText()).includes("Against known edges"), "the known edges are compared with");
  for (const id of ["hold-from", "hold-to", "ahead-time"]) assert.equal(await page.locator(`#${id}`).getAttribute("type"), "date", id);
  await page.locator("#hold-variable").selectOption({ label: LONG });
  await page.locator("#hold-value").fill("2");
  await page.locator("#hold-from").fill("2003-01-01");
  await page.locator("#hold-to").fill("2004-06-01");
  await page.locator("#hold button").click();
  await page.locator("#ask-charts .chart").first().waitFor();
  const years = await page.locator("#ask-charts .chart").first().locator(".axes").innerHTML();
  assert.match(years, />200[0-9]</, "axes have years");
  // The name that has no room is whole where one looks for it.
  assert.ok((await page.locator("#ask-charts .chart .heading title").allTextContents()).includes(LONG));
  await page.locator("#hold-from").fill("1990-01-01");
  await page.locator("#hold-to").fill("1991-01-01");
  await page.locator("#hold button").click();
  await page.waitForFunction(() => /outside the simulated/.test(document.querySelector("#ask-problem").textContent));
  await page.locator("#ahead-time").fill("2005-01-01");
  await page.locator("#ahead button").click();
  await page.waitForFunction(() => /after the end of the series, 2009-12-01/.test(document.querySelector("#ask-problem").textContent));
  await page.locator("#ahead-time").fill("2012-01-01");
  await page.locator("#ahead button").click();
  await page.waitForFunction(() => document.querySelectorAll("#ask-charts .line.second").length === 0 && />201[0-2](-\d\d)?</.test(document.querySelector("#ask-charts .axes")?.innerHTML ?? ""));
});

test("warnings stand apart from notes, and every guess can be overruled on the page", async () => {
  const open = async (name, buffer) => {
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.locator("#file").setInputFiles({ name, mimeType: "text/csv", buffer });
    await page.locator("#understood").waitFor({ state: "visible" });
  };
  const rows = (count, row) => Array.from({ length: count }, (_, n) => row(n)).join("\n");
  const season = (n) => Math.sin(n * Math.PI / 6);
  const scatter = (n, seed) => ((n * 7919 + seed * 104729) * 0.618033988) % 1;
  const date = (n) => `${2000 + Math.floor(n / 12)}-${String(n % 12 + 1).padStart(2, "0")}-01`;
  await open("weather.csv", Buffer.from(`date,sea,air\n${rows(120, (n) => `${date(n)},${3 * season(n) + scatter(n, 1)},${2 * season(n + 3) + scatter(n, 2)}`)}\n`));
  await page.locator("#warnings").waitFor();
  const warnings = await page.locator("#warnings").innerText();
  assert.match(warnings, /^Read with care/);
  assert.match(warnings, /sea, air share a season of 12 rows.*“Season of so many rows”: 12/);
  assert.deepEqual(await page.locator("#warnings code").allInnerTexts(), ["sea", "air"]);
  // Two rows of one time are a mistake, until the user says what they are.
  await open("twice.csv", Buffer.from("time,x\n0,1\n0,3\n1,2\n2,5\n"));
  assert.match(await page.locator("#understood-words").innerText(), /choose “Rows of one time”: mean/);
  // The fields that the advice names are open already.
  await page.locator("#duplicates").selectOption("mean");
  await page.locator("#variables-table tbody tr").first().waitFor();
  assert.match(await page.locator("#understood-words").innerText(), /1 series of 3 rows/);
  await open("alt.csv", Buffer.from("time;temp\u00e9rature\n0;1\n1;3\n2;2\n", "latin1"));
  await page.locator("#variables-table tbody tr").first().waitFor();
  assert.match(await page.locator("#understood-words").innerText(), /read as Latin-1; “Letters stored as” overrules/);
  assert.deepEqual(await page.locator("#variables-table tbody th").allTextContents(), ["température"]);
  assert.ok(await page.locator("#drift").isEnabled(), "the default has a drift to choose");
});

test("years are not rounded, and runs of other variables are not compared with zeros", { timeout: 60_000 }, async () => {
  const rows = Array.from({ length: 91 }, (_, row) => `${1845 + row},${(10 + 5 * Math.sin(row / 1.6)).toFixed(3)},${(8 + 4 * Math.cos(row / 1.6) + row % 3).toFixed(3)}`);
  writeFileSync(join(folder, "pelts.csv"), `Year,Hare,Lynx\n${rows.join("\n")}\n`);
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.locator("#file").setInputFiles(join(folder, "pelts.csv"));
  await page.locator("#variables-table tbody tr").first().waitFor();
  assert.match(await page.locator("#understood-words").innerText(), /time 1845 to 1935/);
  await page.locator("#ensemble").fill("1");
  await page.locator("#select").uncheck();
  await page.locator("#steps").fill("60");
  await page.locator("#begin").click();
  await page.waitForURL("**/runs/pelts");
  await page.locator("#graph-svg").waitFor({ timeout: 40_000 });
  assert.equal(await page.locator("#ahead-unit").innerText(), "years");
  await page.goto(`http://127.0.0.1:${port}/compare?a=dated&b=pelts`);
  const words = await page.locator("main").innerText();
  assert.match(words, /Only dated has/);
  assert.match(words, /no edge between the same variables/);
});

test("runs have a date and a size, and can be renamed and deleted", async () => {
  await page.goto(`http://127.0.0.1:${port}/`);
  const item = (name) => page.locator("#run-list li", { has: page.getByRole("link", { name, exact: true }) });
  await item("pelts").waitFor();
  assert.match(await item("pelts").innerText(), /20\d\d-\d\d-\d\d \d\d:\d\d · 1 series, 91 rows, 2 variables · [\d.]+ [kM]B/);
  await page.getByRole("button", { name: "rename pelts" }).click();
  await page.getByRole("textbox", { name: "new name of pelts" }).fill("hare and lynx");
  await page.getByRole("button", { name: "Rename", exact: true }).first().click();
  await item("hare and lynx").waitFor();
  assert.equal(await item("pelts").count(), 0);
  await page.goto(`http://127.0.0.1:${port}/runs/hare%20and%20lynx`);
  await page.locator("#graph-svg").waitFor();
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.getByRole("button", { name: "delete hare and lynx" }).click();
  await page.getByRole("button", { name: "Keep" }).click();
  await item("hare and lynx").waitFor();
  await page.getByRole("button", { name: "delete hare and lynx" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).first().click();
  await page.waitForFunction(() => !document.querySelector("#run-list").innerText.includes("hare and lynx"));
  assert.ok(!readdirSync(join(folder, "runs")).includes("hare and lynx"));
  assert.ok(!readdirSync(join(folder, "runs/uploads")).includes("pelts"), "its table is gone, too");
});

for (const [width, colorScheme] of [[1400, "light"], [390, "dark"]]) {
  test(`the page has no serious accessibility problem at ${width} px, ${colorScheme}`, async () => {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    for (const path of ["/", "/runs/first", "/runs/second", "/runs/dated", "/compare?a=second&b=third"]) {
      await page.goto(`http://127.0.0.1:${port}${path}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(wide <= 0, `${path} is ${wide} pixels too wide`);
      const cdp = await context.newCDPSession(page);
      await cdp.send("Runtime.evaluate", { expression: axe });
      const { violations } = await page.evaluate(() => window.axe.run());
      const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
      assert.deepEqual(serious.map(({ id, nodes }) => [path, id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))]), []);
    }
  });
}

test("nothing was logged to the console on the way", () => {
  assert.deepEqual(problems, []);
});
