/**
 * Takes the README's picture of the page at /, by a Chromium of this machine, of a server that runs:
 *
 * `deno run -A tools/screenshot.ts http://127.0.0.1:11434 [docs/images/page.png]`
 *
 * @module
 */
import { chromium } from "playwright-core";

const QUESTION = "Tell me a story about a lost kitten.";

/**
 * Asks the page's model for a story and writes what the page then shows.
 *
 * @param url where the server listens
 * @param path the PNG to write
 */
async function takePicture(url: string, path: string): Promise<void> {
  await using browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  const page = await browser.newPage({ viewport: { width: 1000, height: 620 } });
  // The same story every time.
  await page.route(
    "**/v1/chat/completions",
    (route) => route.continue({ postData: { ...route.request().postDataJSON(), temperature: 0 } }),
  );
  await page.goto(url);
  await page.fill("#message", QUESTION);
  await page.press("#message", "Enter");
  await page.waitForSelector(".assistant");
  await page.waitForSelector("#send:not([hidden])");
  // The question and the answer's start.
  await page.locator("#scroller").evaluate((element) => element.scrollTo(0, 0));
  await page.screenshot({ path });
}

if (import.meta.main) {
  const [url, path = "docs/images/page.png"] = Deno.args;
  if (url === undefined) {
    console.error(
      "wanted the server's URL: deno run -A tools/screenshot.ts http://127.0.0.1:11434",
    );
    Deno.exit(2);
  }
  await takePicture(url, path);
}
