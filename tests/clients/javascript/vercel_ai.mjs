// Vercel's AI SDK: Anthropic's and OpenAI's providers against m40, whole and streamed, with tools and objects.
//     node vercel_ai.mjs URL
import assert from "node:assert/strict";
import process from "node:process";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [url] = process.argv.slice(2);
const options = { baseURL: `${url}/v1`, apiKey: "none" };
const openai = createOpenAI(options);
const models = {
  // It wants /v1 in the base URL, which Anthropic's own clients do not.
  anthropic: createAnthropic(options)("script"),
  responses: openai.responses("script"),
  chat: openai.chat("script"),
  compatible: createOpenAICompatible({
    ...options,
    name: "m40",
    supportsStructuredOutputs: true,
  })("script"),
};
const tools = {
  get_weather: tool({
    description: "The weather in a city",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `Weather in ${city}: what is it?`,
  }),
};
for (const [name, model] of Object.entries(models)) {
  const whole = await generateText({ model, prompt: "How is the weather?", maxRetries: 0 });
  assert.equal(whole.text, "It is sunny.", name);
  const stream = streamText({ model, prompt: "How is the weather?", maxRetries: 0 });
  let text = "";
  for await (const piece of stream.textStream) text += piece;
  assert.equal(text, "It is sunny.", name);
  const called = await generateText({
    model,
    tools,
    prompt: "Look it up!",
    stopWhen: stepCountIs(3),
    maxRetries: 0,
  });
  const [first] = called.steps;
  assert.deepEqual(first.toolCalls.map(({ input }) => input), [{ city: "Paris" }], name);
  assert.equal(called.text, "It is sunny.", `${name}: what it says of the tool's result`);
  const schema = z.object({ name: z.string(), age: z.number() });
  const { object } = await generateObject({ model, schema, prompt: "Who?#", maxRetries: 0 });
  // Anthropic's provider asks by a tool, whose grammar has the model say something else than the script.
  assert.equal(typeof object.name, "string", name);
}
// It sends strict, in addition to a format that is Zod's own.
for (const model of [models.responses, models.chat, models.compatible]) {
  const schema = z.object({ id: z.nanoid() });
  const { object } = await generateObject({ model, schema, prompt: "Who?#", maxRetries: 0 });
  assert.match(object.id, /^[\w-]{21}$/);
}
