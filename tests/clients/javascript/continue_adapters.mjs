// Continue's adapters: its provider "llama.cpp", whose base URL has no /v1, and "ollama".
//     node continue_adapters.mjs URL
import assert from "node:assert/strict";
import process from "node:process";
import { constructLlmApi } from "@continuedev/openai-adapters";

const [url] = process.argv.slice(2);
const api = constructLlmApi({ provider: "llama.cpp", apiBase: `${url}/`, apiKey: "none" });
const { signal } = new AbortController();
const messages = [{ role: "user", content: "How is the weather?" }];
const chat = await api.chatCompletionNonStream({ model: "script", messages }, signal);
assert.equal(chat.choices[0].message.content, "It is sunny.");
let text = "";
const asked = { model: "script", messages, stream: true };
for await (const chunk of api.chatCompletionStream(asked, signal)) {
  text += chunk.choices[0]?.delta.content ?? "";
}
assert.equal(text, "It is sunny.");
const completed = await api.completionNonStream({ model: "script", prompt: "Weather?" }, signal);
assert.equal(completed.choices[0].text, "It is sunny.");
const { data } = await api.embed({ model: "script", input: ["a", "b"] });
assert.equal(data.length, 2);
const models = await api.list();
assert.ok(models.some(({ id }) => id === "gpt-4o-mini"), "aliases are listed");
