import { assert, assertEquals, assertMatch } from "@std/assert";
import { answered, browserTests, holds, openPage, say, texts } from "../fixtures/page_fixture.ts";
import { pieces, type ScriptedDelta, scriptedServer } from "../fixtures/scripted_answers.ts";
import { startChat } from "../fixtures/server_chat_fixture.ts";
import { LESS_THAN_LONG, LONG, startTools } from "../fixtures/server_tools_fixture.ts";

browserTests("the page's chat", {
  async "a message is sent, its answer comes in pieces and stays after a reload"(browser) {
    await using server = await startChat();
    await using opened = await openPage(browser, server.url, { fields: { ignore_eos: true } });
    const { page } = opened;
    await page.evaluate(LENGTHS);
    await say(page, "Hello");
    await answered(page);
    const [question, answer] = await texts(page);
    assertEquals(question, "Hello");
    assert(answer.length > 20, answer);
    const lengths = await page.evaluate("lengths") as number[];
    assert(lengths.length > 2, `the answer grew: ${lengths}`);
    assert(lengths.every((length, i) => i === 0 || length >= lengths[i - 1]), String(lengths));
    assertEquals(await page.textContent("#status"), "The answer is complete.");
    assertMatch(await page.innerText(".speed"), /^\d+ tokens, [\d.]+\/s$/);

    await page.reload();
    await page.waitForSelector("body[data-ready]");
    assertEquals(await texts(page), [question, answer]);
  },

  async "an answer is stopped with what there is of it, and goes on"(browser) {
    await using server = await startChat({ contextLength: 4096 });
    await using opened = await openPage(browser, server.url, { fields: { ignore_eos: true } });
    const { page } = opened;
    await say(page, "Hello");
    await holds(page, `document.querySelector(".assistant .content").innerText.length > 40`);
    assertEquals(await page.locator(".notice:visible").count(), 0, "while it comes");
    await page.click("#stop");
    await answered(page);
    const stopped = (await texts(page))[1];
    assert(stopped.length > 40);
    assertEquals(await page.innerText(".notice:visible"), "Stopped.");
    await server.engine.idle();
    await page.click("text=Continue");
    await holds(
      page,
      `document.querySelector(".assistant .content").innerText.length > ${stopped.length + 40}`,
    );
    await page.press("#message", "Escape");
    await answered(page);
    assertEquals((await texts(page)).length, 2);
    await server.engine.idle();
  },

  async "a call that max_tokens has cut asks for no result, and the conversation goes on"(browser) {
    await using server = await startTools();
    const fields = { tools: [LONG], tool_choice: "required", max_tokens: LESS_THAN_LONG };
    await using opened = await openPage(browser, server.url, { fields });
    const { page } = opened;
    for (const [text, count] of [["Paris?", 1], ["Well?", 2]] as const) {
      await say(page, text);
      await answered(page);
      assertEquals(await page.locator(".calls .call-name:visible").count(), count);
      assertEquals(await page.locator(".results:visible").count(), 0);
      assertEquals(await page.locator("text=Continue").count(), 0);
      assertEquals(await page.locator(".notice.problem:visible").count(), 0);
    }
  },

  async "a call that the reader has stopped is not sent with what is said next"(browser) {
    await using server = await startChat();
    const stopped = Promise.withResolvers<void>();
    async function* script(): AsyncGenerator<ScriptedDelta> {
      const called = { name: "get_weather", arguments: '{"ci' };
      yield { content: "I look." };
      yield { tool_calls: [{ index: 0, id: "call_1", type: "function", function: called }] };
      await stopped.promise;
    }
    await using scripted = scriptedServer(server, [script(), pieces("Rain.")]);
    await using opened = await openPage(browser, scripted.url);
    const { page } = opened;
    await say(page, "Paris?");
    await page.locator(".calls", { hasText: '{"ci' }).waitFor();
    await page.click("#stop");
    await answered(page);
    stopped.resolve();
    assertEquals(await page.innerText(".notice:visible"), "Stopped.");
    assertEquals(await page.locator(".results:visible").count(), 0);
    assertEquals(await page.locator("text=Continue").count(), 0);
    await say(page, "Well?");
    await answered(page);
    assertEquals(scripted.asked[1].messages, [
      { role: "user", content: "Paris?" },
      { role: "assistant", content: "I look." },
      { role: "user", content: "Well?" },
    ]);
    assertEquals((await texts(page)).at(-1), "Rain.");
  },

  async "messages are edited and answers made again, as branches that stay"(browser) {
    await using server = await startChat();
    await using opened = await openPage(browser, server.url);
    const { page } = opened;
    await say(page, "Hello");
    await answered(page);
    const first = await texts(page);
    await page.click(".assistant >> text=Regenerate");
    await answered(page);
    assertEquals(await page.innerText(".assistant .count"), "2 / 2");
    await page.click('.assistant >> [aria-label="The alternative before"]');
    assertEquals(await texts(page), first);
    assertEquals(await page.innerText(".assistant .count"), "1 / 2");

    await page.click(".user >> text=Edit");
    await page.fill(".editor textarea", "Good day");
    await page.click(".editor >> text=Send");
    await answered(page);
    assertEquals((await texts(page))[0], "Good day");
    assertEquals(await page.innerText(".user .count"), "2 / 2");
    assertEquals(await page.locator(".assistant .count").count(), 0);
    await page.click('.user >> [aria-label="The alternative before"]');
    assertEquals(await texts(page), first);
  },
});

/** Notes how long the answer is whenever it changes. */
const LENGTHS = `
  globalThis.lengths = [];
  new MutationObserver(() => {
    const shown = document.querySelector(".assistant .content");
    if (shown) lengths.push(shown.innerText.length);
  }).observe(document.getElementById("transcript"), { subtree: true, childList: true, characterData: true });
`;
