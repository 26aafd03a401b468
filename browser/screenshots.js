// Pictures of a page at two widths, light and dark: node screenshots.js ADDRESS FOLDER
import { mkdirSync } from "node:fs";
import { launch } from "./browser.js";

const [address, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await launch();
for (const width of [1400, 390]) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme, deviceScaleFactor: width === 390 ? 2 : 1 });
    page.on("console", (message) => console.log(message.type(), message.text()));
    page.on("pageerror", (error) => console.log("error", error.message));
    await page.goto(address);
    await page.screenshot({ path: `${folder}/${width}-${colorScheme}.png`, fullPage: true });
    await page.close();
  }
}
await browser.close();
