/**
 * A model that knows nothing of tools calls them in each format, by a server. Its output follows the grammar and is
 * read back, whole and streamed, and the result goes into the next turn.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { demoModelFile } from "../../engine/store/demo_model.ts";
import { BUILT_IN_TEMPLATES } from "../../engine/chat/templates/mod.ts";
import { ChatCompletion, ChatCompletionChunk } from "../../server/openai/chat_schemas.ts";
import { CHAT } from "../fixtures/server_chat_fixture.ts";
import { readEvents, startServer } from "../fixtures/server_fixture.ts";

const TOOLS = [{
  type: "function",
  function: {
    name: "book_table",
    parameters: {
      type: "object",
      properties: {
        name: { type: "string", pattern: "^[A-Z][a-z]{1,8}$" },
        place: { enum: ["inside", "outside"] },
        guests: { type: "integer", minimum: 1, maximum: 20 },
        vegan: { type: "boolean" },
        dishes: { type: "array", items: { enum: ["soup", "tea"] }, minItems: 1, maxItems: 2 },
      },
      required: ["name", "place", "guests", "vegan", "dishes"],
      additionalProperties: false,
    },
  },
}];

/** One of each format that the demo model can write: it has no tokens for DeepSeek's tags and gpt-oss's channels. */
const NAMES = ["gemma4", "glm4.5", "granite", "lfm2", "mistral-v11", "mistral-v3", "qwen3-coder"];

for (const name of NAMES) {
  Deno.test(`${name}: a required call follows its schema, whole and streamed, and its result is taken back`, async () => {
    await using server = await startServer({
      path: demoModelFile,
      engine: { contextTokens: 1024, chatTemplate: BUILT_IN_TEMPLATES.get(name) },
    });
    const question = { role: "user", content: "A table for two." };
    const body = {
      messages: [question],
      tools: TOOLS,
      tool_choice: "required",
      parallel_tool_calls: false,
      temperature: 1.5,
      seed: 3,
      max_tokens: 330,
      reasoning_budget: 8,
    };
    const response = await server.post(CHAT, body);
    const text = await response.text();
    assertEquals(response.status, 200, text);
    const { choices: [{ finish_reason, message }] } = ChatCompletion.parse(JSON.parse(text));
    assertEquals(finish_reason, "tool_calls", text);
    const [call] = message.tool_calls!;
    assertEquals(message.content, null);
    assert(call.type === "function", text);
    assertEquals(call.function.name, "book_table");
    const values = JSON.parse(call.function.arguments);
    assertEquals(Object.keys(values), ["name", "place", "guests", "vegan", "dishes"]);
    assert(/^[A-Z][a-z]{1,8}$/.test(values.name), text);
    assert(["inside", "outside"].includes(values.place), text);
    assert(Number.isInteger(values.guests) && typeof values.vegan === "boolean", text);
    assert(values.dishes.every((dish: string) => ["soup", "tea"].includes(dish)), text);
    const events = (await readEvents(await server.post(CHAT, { ...body, stream: true })))
      .map((event) => ChatCompletionChunk.parse(event));
    const pieces = events.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    assertEquals(pieces.map((one) => one.function?.arguments).join(""), call.function.arguments);
    const next = await server.post(CHAT, {
      ...body,
      tool_choice: "auto",
      max_tokens: 4,
      messages: [question, message, { role: "tool", tool_call_id: call.id, content: "Done." }],
    });
    assertEquals(next.status, 200, await next.text());
  });
}
