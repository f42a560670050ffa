// Requests to Ollama's routes by what JavaScript has itself: fetch calls a body of text "text/plain", and http none.
//     node plain_requests.mjs URL
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { request } from "node:http";
import process from "node:process";

const [url] = process.argv.slice(2);
const messages = [{ role: "user", content: "How is the weather?" }];
const body = JSON.stringify({ model: "script", messages, stream: false });

const byFetch = await fetch(`${url}/api/chat`, { method: "POST", body });
assert.equal((await byFetch.json()).message.content, "It is sunny.");
for (const type of [undefined, "application/x-www-form-urlencoded; charset=UTF-8"]) {
  const headers = type === undefined ? {} : { "Content-Type": type };
  const answer = await new Promise((resolve, reject) => {
    request(`${url}/api/chat`, { method: "POST", headers }, resolve).on("error", reject).end(body);
  });
  const pieces = await answer.toArray();
  const text = Buffer.concat(pieces).toString();
  assert.equal(JSON.parse(text).message?.content, "It is sunny.", `${type}: ${text}`);
}
