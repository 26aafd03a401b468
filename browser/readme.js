// The pictures of the README, docs/report.png and docs/page.png: node readme.js PROGRAM
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.js";

const program = resolve(process.argv[2]);
const docs = join(dirname(fileURLToPath(import.meta.url)), "../docs");
const folder = mkdtempSync(join(tmpdir(), "driftgraph-readme-"));
const driftgraph = (line) => execFileSync(program, line.split(" "), { cwd: folder, stdio: "ignore" });

driftgraph("generate gene-network --seed 0 --out genes");
const browser = await launch();

// The page, while networks are trained: their graph changes for a while.
const server = spawn(program, ["serve", "runs", "--no-open"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
const address = await new Promise((resolve) => server.stdout.once("data", (text) => resolve(text.toString().trim())));
const page = await browser.newPage({ viewport: { width: 1120, height: 760 } });
await page.goto(address);
await page.locator("#file").setInputFiles(join(folder, "genes/data.csv"));
await page.locator("#variables-table tbody tr").first().waitFor();
await page.locator("#name").fill("ten genes");
await page.locator("#begin").click();
const curve = page.locator("#curve .line");
await curve.waitFor({ timeout: 600_000 });
const isForming = () => (document.querySelector("#curve .line")?.getAttribute("d").match(/[ML]/g) ?? []).length > 20 && document.querySelectorAll("#forming .edge, #forming path").length > 5;
await page.waitForFunction(isForming, null, { timeout: 600_000 });
await page.screenshot({ path: join(docs, "page.png") });
await page.close();
server.kill("SIGKILL");

// The report of the quick start, with one variable chosen.
driftgraph("fit genes/data.csv --truth genes/truth.csv --out genes-run");
const report = await browser.newPage({ viewport: { width: 1180, height: 1330 } });
await report.goto(`file://${join(folder, "genes-run/report.html")}`);
await report.locator("#graph-svg .node").first().click();
await report.evaluate(() => window.scrollTo(0, 0));
await report.screenshot({ path: join(docs, "report.png") });
await browser.close();
rmSync(folder, { recursive: true, force: true });
