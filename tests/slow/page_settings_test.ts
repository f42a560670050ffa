import { Buffer } from "node:buffer";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { answered, browserTests, openPage, say, texts } from "../fixtures/page_fixture.ts";
import { pieces, type ScriptedDelta, scriptedServer } from "../fixtures/scripted_answers.ts";
import { startChat } from "../fixtures/server_chat_fixture.ts";

const CALLS: ScriptedDelta[] = [
  {
    tool_calls: [{
      index: 0,
      id: "call_1",
      type: "function",
      function: { name: "get_weather", arguments: '{"ci' },
    }],
  },
  { tool_calls: [{ index: 0, function: { arguments: 'ty":"Oslo"}' } }] },
  {
    tool_calls: [{
      index: 1,
      id: "call_2",
      type: "function",
      function: { name: "get_weather", arguments: '{"city":"Rome"}' },
    }],
  },
];

browserTests("the page's settings", {
  async "what is set is sent, and what cannot be is said next to the message"(browser) {
    await using server = await startChat();
    await using scripted = scriptedServer(server, [pieces("Yes.")]);
    await using opened = await openPage(browser, scripted.url);
    const { page } = opened;
    await page.click("#open-settings");
    await page.fill("#setting-system", "Be brief.");
    await page.fill("#setting-temperature", "warm");
    await say(page, "Hello");
    assertMatch(await page.innerText("#problem"), /Temperature: wanted a number.*got "warm"/);
    assertEquals(await page.inputValue("#message"), "Hello");
    await page.fill("#setting-temperature", "0.5");
    await page.fill("#setting-top_k", "40");
    await page.fill("#setting-stop", "END\nSTOP");
    await page.selectOption("#setting-enable_thinking", "off");
    await page.press("#message", "Enter");
    await answered(page);
    const [{ messages, temperature, top_k, stop, chat_template_kwargs, top_p }] = scripted.asked;
    assertEquals(messages, [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hello" },
    ]);
    assertEquals([temperature, top_k, stop], [0.5, 40, ["END", "STOP"]]);
    assertEquals(chat_template_kwargs, { enable_thinking: false, thinking: false });
    assertEquals(top_p, undefined);
  },

  async "an answer follows the schema that is typed"(browser) {
    await using server = await startChat();
    await using opened = await openPage(browser, server.url);
    const { page } = opened;
    await page.click("#open-settings");
    await page.selectOption("#setting-format", "json_schema");
    await page.fill("#setting-schema", "{");
    await say(page, "Hello");
    assertMatch(await page.innerText("#problem"), /JSON Schema is no JSON/);
    const schema = { type: "object", properties: { a: { enum: [7] } }, required: ["a"] };
    await page.fill("#setting-schema", JSON.stringify({ ...schema, additionalProperties: false }));
    await page.press("#message", "Enter");
    await answered(page);
    assertEquals(JSON.parse((await texts(page))[1]), { a: 7 });
  },

  async "tools are called, their results typed, and the answer goes on from them"(browser) {
    await using server = await startChat();
    await using scripted = scriptedServer(server, [CALLS, pieces("Rain in Oslo.")]);
    await using opened = await openPage(browser, scripted.url);
    const { page } = opened;
    await page.click("#open-settings");
    await page.click("text=Add a tool");
    await say(page, "The weather?");
    await answered(page);
    assertEquals(await page.locator(".calls pre").allInnerTexts(), [
      '{\n  "city": "Oslo"\n}',
      '{\n  "city": "Rome"\n}',
    ]);
    await page.locator(".results textarea").nth(0).fill("rain");
    await page.locator(".results textarea").nth(1).fill("sun");
    await page.click("text=Send results");
    await answered(page);
    assertEquals((await texts(page)).at(-1), "Rain in Oslo.");
    const [first, { messages }] = scripted.asked;
    assertEquals(first.tools[0].function.name, "get_weather");
    assertEquals(first.tools[0].function.parameters.required, ["city"]);
    assertEquals(first.tool_choice, "auto");
    const [, call, ...results] = messages;
    assertEquals(call.tool_calls[0], {
      id: "call_1",
      type: "function",
      function: { name: "get_weather", arguments: '{"city":"Oslo"}' },
    });
    assertEquals(results, [
      { role: "tool", content: "rain", tool_call_id: "call_1", name: "get_weather" },
      { role: "tool", content: "sun", tool_call_id: "call_2", name: "get_weather" },
    ]);
    assertEquals(await page.locator(".results:visible").count(), 0);
  },

  async "conversations are exported, deleted and imported as they were, and other files refused"(
    browser,
  ) {
    await using server = await startChat();
    await using opened = await openPage(browser, server.url);
    const { page } = opened;
    page.on("dialog", (dialog) => void dialog.accept());
    await say(page, "Hello");
    await answered(page);
    await page.click("text=Regenerate");
    await answered(page);
    const before = await texts(page);
    const download = page.waitForEvent("download");
    await page.click("#transfer >> text=Export");
    const path = await (await download).path();
    await page.click('[aria-label="Delete \\"Hello\\""]');
    await page.waitForSelector("#conversations:empty", { state: "attached" });
    assertEquals(await texts(page), []);
    const bad: [string, RegExp][] = [
      ["no json", /no JSON/],
      ["{}", /no conversations/],
      ['{"format":"m40-conversations","version":9,"conversations":[]}', /version 9/],
      ['{"format":"m40-conversations","version":1,"conversations":[{"messages":[{}]}]}', /role/],
      [
        '{"format":"m40-conversations","version":1,"conversations":[{"id":"x","messages":' +
        '[{"id":"a","parent":"a","role":"user","content":""}]}]}',
        /do not follow/,
      ],
    ];
    for (const [text, message] of bad) {
      const file = { name: "x.json", mimeType: "application/json", buffer: Buffer.from(text) };
      await page.setInputFiles("#import-file", file);
      await page.locator("#problem", { hasText: message }).waitFor();
    }
    await page.setInputFiles("#import-file", path);
    await page.click("#conversations .conversation");
    await page.waitForSelector(".assistant .content");
    assertEquals(await texts(page), before);
    assertEquals(await page.innerText(".assistant .count"), "2 / 2");
    assert((await page.title()) === "Hello");
  },
});
