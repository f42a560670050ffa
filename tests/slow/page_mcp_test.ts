// The page with tools of MCP servers, in a real browser.
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { answered, browserTests, openPage, say, texts } from "../fixtures/page_fixture.ts";
import { hostile, open } from "../fixtures/mcp_servers.ts";
import { callText, scriptedModel } from "../fixtures/scripted_model.ts";
import { startServer } from "../fixtures/server_fixture.ts";

const SCRIPT = {
  "?": "I look it up. " + callText("it__say", { text: "hi!" }),
  "}": "It says hi.",
  ".": "I do without.",
  "!": callText("it__wait", {}),
};

/** A server with the model and its tools. */
async function start(allow: string[] = []) {
  const mcp = await open({ it: hostile("none") }, {}, allow);
  const path = await Deno.makeTempFile({ suffix: ".gguf" });
  await scriptedModel(path, SCRIPT);
  const server = await startServer({ path, app: { mcp: Promise.resolve(mcp) } });
  return {
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await mcp[Symbol.asyncDispose]();
      await Deno.remove(path);
    },
  };
}

browserTests("the page's tools of MCP servers", {
  async "a call is asked for, made, always made, and refused"(browser) {
    await using server = await start();
    await using opened = await openPage(browser, server.url);
    const { page } = opened;
    await say(page, "Hello?");
    const asked = page.locator(".served").last();
    assertMatch(await asked.innerText(), /Call it__say\? The MCP server it/);
    await asked.getByText("Call", { exact: true }).click();
    await page.getByText("It says hi.").waitFor();
    await answered(page);
    assertEquals((await texts(page)).at(-2), '{"text":"hi!"}');

    await say(page, "Again?");
    await page.locator(".served").last().getByText("Do not call").click();
    await page.getByText("I do without.").waitFor();
    await answered(page);
    assertEquals((await texts(page)).at(-2), "The user did not allow this call: it was not made.");

    await say(page, "And?");
    await page.locator(".served").last().getByText("Always call").click();
    await page.getByText("It says hi.").nth(1).waitFor();
    await answered(page);
    await say(page, "Once more?");
    await page.getByText("It says hi.").nth(2).waitFor();
    await answered(page);

    // A call that hangs is stopped.
    await say(page, "Now!");
    await page.locator(".served").last().getByText("Call", { exact: true }).click();
    await page.locator(".served").last().getByText("Stop").click();
    await page.getByText("The user stopped this call").first().waitFor();
    await answered(page);
  },

  async "a tool that is allowed is called at once, but not because an old conversation is opened"(
    browser,
  ) {
    await using server = await start(["it__say"]);
    await using opened = await openPage(browser, server.url);
    const { page } = opened;
    await say(page, "Hello?");
    await page.getByText("It says hi.").waitFor();
    await answered(page);
    const all = await texts(page);
    assertStringIncludes(all[2], '{"text":"hi!"}');
    // The answer and the result are taken away: the call has none again.
    for (let i = 0; i < 2; i++) {
      page.once("dialog", (dialog) => void dialog.accept());
      await page.locator(".message").last().getByText("Delete").click();
    }
    await page.click("#new-conversation");
    await page.locator("#sidebar").getByText("Hello?").click();
    await page.locator(".served").getByText("Call", { exact: true }).waitFor();
    assertEquals((await texts(page)).length, 2);
  },
});
