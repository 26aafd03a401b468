// Pictures of a page at two widths, light and dark: node screenshots.js ADDRESS FOLDER [PATH]
// The address may carry a token; the path is then what is shown.
import { mkdirSync } from "node:fs";
import { launch } from "./browser.js";

const [address, folder, path] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await launch();
for (const width of [1400, 390]) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme, deviceScaleFactor: width === 390 ? 2 : 1 });
    page.on("console", (message) => console.log(message.type(), message.text()));
    page.on("pageerror", (error) => console.log("error", error.message));
    await page.goto(address);
    if (path) await page.goto(new URL(path, address).href);
    await page.waitForTimeout(path ? 1500 : 0);
    await page.screenshot({ path: `${folder}/${width}-${colorScheme}.png`, fullPage: true });
    await page.close();
  }
}
await browser.close();
