import { assert, assertEquals } from "@std/assert";
import { demoModelFile } from "../engine/store/demo_model.ts";
import { BUILT_IN_TEMPLATES } from "../engine/chat/templates/mod.ts";
import { ChatCompletion, ChatCompletionChunk } from "../server/openai/chat_schemas.ts";
import { CHAT } from "./server_chat_fixture.ts";
import { readEvents, startServer } from "./server_fixture.ts";

const TOOLS = [{
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather in a city",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string", maxLength: 12 },
        unit: { enum: ["celsius", "fahrenheit"] },
      },
      required: ["city", "unit"],
      additionalProperties: false,
    },
  },
}];

Deno.test("a required call comes whole and streamed alike, with its arguments by the tool's schema", async () => {
  await using server = await startServer({
    path: demoModelFile,
    engine: { contextTokens: 1024, chatTemplate: BUILT_IN_TEMPLATES.get("chatml") },
  });
  const body = {
    messages: [{ role: "user", content: "Hello" }],
    tools: TOOLS,
    tool_choice: "required",
    parallel_tool_calls: false,
    temperature: 1.5,
    seed: 1,
    max_tokens: 200,
  };
  const response = await server.post(CHAT, body);
  const text = await response.text();
  assertEquals(response.status, 200, text);
  const { choices: [choice] } = ChatCompletion.parse(JSON.parse(text));
  assertEquals(choice.finish_reason, "tool_calls");
  assertEquals(choice.message.content, null);
  const [call] = choice.message.tool_calls!;
  assertEquals(call.function.name, "get_weather");
  const { city, unit } = JSON.parse(call.function.arguments);
  assert(typeof city === "string" && ["celsius", "fahrenheit"].includes(unit));
  const events = (await readEvents(await server.post(CHAT, { ...body, stream: true })))
    .map((event) => ChatCompletionChunk.parse(event));
  const pieces = events.flatMap(({ choices }) => choices[0].delta.tool_calls ?? []);
  assertEquals(pieces.map((one) => one.function.arguments).join(""), call.function.arguments);
  assertEquals(pieces[0].function.name, "get_weather");
  assert(pieces.length > 3);
  assertEquals(events.at(-1)!.choices[0].finish_reason, "tool_calls");
});
