/** The page in a real browser, as its readers have it. */
import { assertEquals } from "@std/assert";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const PATHS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** A Chromium of this machine; undefined where there is none. */
export const CHROMIUM = PATHS.find((path) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
});
if (CHROMIUM === undefined) {
  console.log(
    `skipped: the page's tests in a browser; there is no Chromium at ${PATHS.join(", ")}`,
  );
}

/** Tests that share a browser, by what would be broken; left out where there is no browser. */
export function browserTests(
  name: string,
  tests: Readonly<Record<string, (browser: Browser) => Promise<void>>>,
): void {
  Deno.test({
    name,
    ignore: CHROMIUM === undefined,
    async fn(context) {
      const browser = await chromium.launch({
        executablePath: CHROMIUM,
        // What runs tests may be root, or have no graphics.
        args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
      });
      try {
        for (const [name, work] of Object.entries(tests)) {
          await context.step(name, () => work(browser).catch(throwFirst));
        }
      } finally {
        await browser.close();
      }
    },
  });
}

/** Throws what a test failed with, not what was found when its page was closed over that. */
function throwFirst(error: unknown): never {
  throw error instanceof SuppressedError ? error.suppressed : error;
}

/** The page, and what went wrong in it. */
export interface OpenedPage extends AsyncDisposable {
  readonly page: Page;
  /** Errors of scripts, violations of the policy, and requests to other origins. */
  readonly faults: string[];
}

export interface PageOptions extends BrowserContextOptions {
  /** What is done before the page's own modules run. */
  script?: string;
  /** Fields that chat completions have beside those that the page sends. */
  fields?: Record<string, unknown>;
  /** Whether the page is waited for. Default: true. */
  wait?: boolean;
}

/** Opens the page in a browser profile of its own. When it is disposed of, nothing may have gone wrong in it. */
export async function openPage(
  browser: Browser,
  url: string,
  { script, fields, wait = true, ...options }: PageOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    if (/Content Security Policy|Trusted ?Type/i.test(text)) faults.push(`policy: ${text}`);
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== url) faults.push(`elsewhere: ${request.url()}`);
  });
  if (script !== undefined) await page.addInitScript(script);
  if (fields !== undefined) {
    await page.route("**/v1/chat/completions", async (route) => {
      await route.continue({ postData: { ...route.request().postDataJSON(), ...fields } });
    });
  }
  await page.goto(url + "/");
  if (wait) await page.waitForSelector("body[data-ready]");
  return {
    page,
    faults,
    async [Symbol.asyncDispose]() {
      await context.close();
      assertEquals(faults, []);
    },
  };
}

/** Types a message and sends it. */
export async function say(page: Page, text: string): Promise<void> {
  await page.fill("#message", text);
  await page.press("#message", "Enter");
}

/** Waits until no answer is on its way. */
export async function answered(page: Page): Promise<void> {
  await page.waitForSelector("#send:not([hidden])");
}

/** What the messages say that are shown, without their buttons. */
export function texts(page: Page): Promise<string[]> {
  return page.locator("#transcript .content").allInnerTexts();
}

/**
 * Waits until an expression holds in the page. Playwright's own `waitForFunction` makes code of texts there, which
 * the page's policy refuses.
 */
export async function holds(page: Page, expression: string): Promise<void> {
  for (let i = 0; i < 600; i++) {
    if (await page.evaluate(expression)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`did not come about: ${expression}`);
}
