import { assert, assertEquals, assertMatch } from "@std/assert";
import { answered, browserTests, holds, openPage, say, texts } from "../fixtures/page_fixture.ts";
import { pieces, scriptedServer } from "../fixtures/scripted_answers.ts";
import { startChat } from "../fixtures/server_chat_fixture.ts";

/** An answer ends where there is no more room for it, not where the model would end it at random. */
const ENDLESS = { ignore_eos: true };

browserTests("the page where things go wrong", {
  async "a key is asked for, a wrong one said to be wrong, and the right one kept for the tab"(
    browser,
  ) {
    await using server = await startChat({ app: { apiKey: "secret" } });
    await using opened = await openPage(browser, server.url, { wait: false, fields: ENDLESS });
    const { page } = opened;
    await page.waitForSelector("#key-dialog[open]");
    assertEquals(await page.innerText("#key-reason"), "This server needs an API key.");
    await page.fill("#key", "wrong");
    await page.press("#key", "Enter");
    await holds(
      page,
      `document.getElementById("key-reason").textContent.includes("does not take")`,
    );
    await page.waitForSelector("#key-dialog[open]");
    await page.fill("#key", "secret");
    await page.press("#key", "Enter");
    await page.waitForSelector("body[data-ready]");
    assertEquals(await page.locator("#model option").allInnerTexts(), ["golden"]);
    await say(page, "Hello");
    await answered(page);
    assert((await texts(page))[1].length > 10);
    await page.reload();
    await page.waitForSelector("body[data-ready]");
    assertEquals(await page.locator("#key-dialog[open]").count(), 0);
    assertEquals(await page.evaluate("Object.values(localStorage).includes('secret')"), false);
  },

  async "without a key the page says so, and asks again when something is sent"(browser) {
    await using server = await startChat({ app: { apiKey: "secret" } });
    await using opened = await openPage(browser, server.url, { wait: false, fields: ENDLESS });
    const { page } = opened;
    await page.waitForSelector("#key-dialog[open]");
    await page.press("#key", "Escape");
    await page.waitForSelector("body[data-ready]");
    assertMatch(await page.innerText("#problem"), /needs an API key/);
    await say(page, "Hello");
    await page.waitForSelector("#key-dialog[open]");
    await page.click("#key-cancel");
    await answered(page);
    assertMatch(await page.innerText(".notice.problem:visible"), /needs an API key/);
  },

  async "a server that is lost in an answer leaves what came of it, and can be asked again"(
    browser,
  ) {
    await using server = await startChat();
    const hang = async function* () {
      yield* pieces("The start of an answer.");
      await new Promise(() => {});
    };
    await using scripted = scriptedServer(server, [hang()]);
    await using opened = await openPage(browser, scripted.url);
    const { page } = opened;
    await say(page, "Hello");
    await holds(
      page,
      `document.querySelector(".assistant .content")?.innerText.includes("answer.")`,
    );
    await scripted.vanish();
    await answered(page);
    assertEquals(await texts(page), ["Hello", "The start of an answer."]);
    assertMatch(await page.innerText(".notice.problem"), /cut off.*cannot be reached/);
    await holds(page, `document.getElementById("card").innerText.includes("cannot be reached")`);
    await page.click("text=Regenerate");
    await answered(page);
    assertMatch(await page.locator(".notice.problem").last().innerText(), /cannot be reached/);
    assertEquals(await page.innerText(".assistant .count"), "2 / 2");
  },

  async "an answer that a reload interrupts stays, as one that was interrupted"(browser) {
    await using server = await startChat({ contextLength: 4096 });
    await using opened = await openPage(browser, server.url, { fields: ENDLESS });
    const { page } = opened;
    await say(page, "Hello");
    await holds(page, `document.querySelector(".assistant .content")?.innerText.length > 40`);
    await page.reload();
    await page.waitForSelector("body[data-ready]");
    // What the browser keeps of it is at least that there was one.
    assertEquals((await texts(page))[0], "Hello");
    assertEquals(await page.innerText(".notice:visible"), "This answer was interrupted.");
    await server.engine.idle();
  },

  async "where the browser keeps nothing the page says so, and works"(browser) {
    await using server = await startChat();
    const script = "indexedDB.open = () => { throw new DOMException('no', 'SecurityError'); };";
    await using opened = await openPage(browser, server.url, { script, fields: ENDLESS });
    const { page } = opened;
    assertMatch(await page.innerText("#problem"), /keeps no conversations/);
    await say(page, "Hello");
    await answered(page);
    assert((await texts(page))[1].length > 10);
    await page.click("#new-conversation");
    await page.click("#conversations .conversation:not([aria-current])");
    await holds(page, `document.querySelector(".user .content")?.innerText === "Hello"`);
  },

  async "an error of the server is shown in its words, and the conversation goes on"(browser) {
    await using server = await startChat();
    await using opened = await openPage(browser, server.url, { fields: ENDLESS });
    const { page } = opened;
    await say(page, "long ".repeat(400));
    await answered(page);
    assertMatch(await page.innerText(".notice.problem"), /128|context/);
    await page.click(".assistant >> text=Delete");
    await page.click(".user >> text=Edit");
    await page.fill(".editor textarea", "Hello");
    await page.press(".editor textarea", "Control+Enter");
    await answered(page);
    assert((await texts(page))[1].length > 10);
  },
});
