import { assert, assertEquals } from "@std/assert";
import axe from "axe-core/axe.min.js" with { type: "text" };
import type { Page } from "playwright-core";
import { answered, browserTests, holds, openPage, say } from "../fixtures/page_fixture.ts";
import { pieces, scriptedServer } from "../fixtures/scripted_answers.ts";
import { startChat } from "../fixtures/server_chat_fixture.ts";

const ANSWER =
  "# One\n\nText with `code`, [a link](https://example.com) and $x^2$.\n\n- a\n- b\n\n" +
  "```js\nconst a = 'x'; // why\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\n---\n";

browserTests("the page for everybody", {
  async "axe finds nothing serious, light and dark, wide and narrow"(browser) {
    await using server = await startChat();
    const looks = [
      { colorScheme: "light", viewport: { width: 1280, height: 800 } },
      { colorScheme: "dark", viewport: { width: 375, height: 720 } },
    ] as const;
    for (const { colorScheme, viewport } of looks) {
      await using scripted = scriptedServer(server, [
        (function* () {
          yield { reasoning_content: "Let me think." };
          yield* pieces(ANSWER);
        })(),
        [{
          tool_calls: [{
            index: 0,
            id: "call_1",
            type: "function",
            function: { name: "get_weather", arguments: "{}" },
          }],
        }],
      ]);
      await using opened = await openPage(browser, scripted.url, { colorScheme, viewport });
      const { page } = opened;
      await say(page, "Hello");
      await answered(page);
      await page.click(".assistant summary");
      await say(page, "And a call");
      await answered(page);
      await page.evaluate(axe);
      await findNothing(page, `${colorScheme}, ${viewport.width}`);
      await page.click("#open-settings");
      await page.click("text=Add a tool");
      await findNothing(page, `${colorScheme}, ${viewport.width}, settings`);
      if (viewport.width < 500) {
        await page.click("#close-settings");
        await page.click("#open-sidebar");
        await findNothing(page, `${colorScheme}, ${viewport.width}, sidebar`);
      }
    }
  },

  async "nothing is wider than a phone, and drawers make room for the conversation"(browser) {
    await using server = await startChat();
    await using scripted = scriptedServer(server, [pieces(`${ANSWER}${"x".repeat(500)}`)]);
    const viewport = { width: 320, height: 640 };
    await using opened = await openPage(browser, scripted.url, { viewport, hasTouch: true });
    const { page } = opened;
    await page.fill("#message", "y".repeat(300));
    await page.tap("#send");
    await answered(page);
    assertEquals(await page.evaluate("document.documentElement.scrollWidth"), 320);
    assertEquals(
      await page.evaluate(`document.getElementById("scroller").scrollWidth <= innerWidth`),
      true,
    );
    await page.tap("#open-sidebar");
    assert(await page.isVisible("#card"));
    await page.tap("#new-conversation");
    assert(await page.isHidden("#sidebar"));
  },

  async "everything is done by keyboard, and the focus is never lost"(browser) {
    await using server = await startChat();
    await using opened = await openPage(browser, server.url);
    const { page } = opened;
    const focused = () =>
      page.evaluate("document.activeElement.id || document.activeElement.textContent");
    assertEquals(await focused(), "message");
    await page.keyboard.type("Hello");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("you");
    await page.keyboard.press("Enter");
    await answered(page);
    assertEquals(await page.innerText(".user .content"), "Hello\nyou");
    assertEquals(await focused(), "message");
    await page.focus("text=Regenerate");
    await page.keyboard.press("Enter");
    await answered(page);
    await page.focus('[aria-label="The alternative before"]');
    await page.keyboard.press("Enter");
    assertEquals(await focused(), "›");
    await page.focus(".user >> text=Edit");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    assert((await focused()) !== "");
    await page.focus("#open-settings");
    await page.keyboard.press("Enter");
    await holds(page, `document.getElementById("settings").contains(document.activeElement)`);
    assertEquals(await page.getAttribute("#open-settings", "aria-expanded"), "true");
  },
});

/** Fails on what axe calls serious or critical. */
async function findNothing(page: Page, where: string): Promise<void> {
  const found = await page.evaluate(`axe.run(document, { resultTypes: ["violations"] }).then(
    ({ violations }) => violations.filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 150)).join(" | ")))`);
  assertEquals(found, [], where);
}
