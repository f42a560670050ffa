// What a tool gave that is no text, in every dialect: it is named, and the conversation goes on.
import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  MESSAGES,
  messagesBody,
  readAnthropicError,
} from "../fixtures/server_anthropic_fixture.ts";
import { CHAT, HELLO, startChat } from "../fixtures/server_chat_fixture.ts";
import { readError, type TestServer } from "../fixtures/server_fixture.ts";
import { RESPONSES, responsesBody } from "../fixtures/server_responses_fixture.ts";

/** Shows what the tool's result is to the model: it refuses it in its words, in whichever role. */
const TEMPLATE = "{% for m in messages %}{{ m.role }}:{{ m.content or '' }}" +
  "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}\n" +
  "{% if 'SEEN' in m.content %}{{ raise_exception(m.content + '|') }}{% endif %}" +
  "{% endfor %}a:";

const IMAGE = "[image of the type image/png; not shown: this model reads text]";
const PNG = "data:image/png;base64,AAAA";

/** A conversation whose last word is a tool's, in a dialect's shape. */
const called = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
const inChat = (content: unknown) => ({
  messages: [
    ...HELLO,
    { role: "assistant", content: null, tool_calls: [called] },
    { role: "tool", tool_call_id: "a", content },
  ],
});
const inMessages = (content: unknown, more = {}) =>
  messagesBody({
    messages: [
      ...HELLO,
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content, ...more }] },
    ],
  });
const inResponses = (output: unknown) =>
  responsesBody({
    input: [
      ...HELLO,
      { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output },
    ],
  });
const inOllama = (content: string, images: unknown) => ({
  messages: [
    ...HELLO,
    { role: "assistant", tool_calls: [{ function: { name: "f", arguments: {} } }] },
    { role: "tool", tool_name: "f", content, images },
  ],
  stream: false,
});

/** What the template says of a body, and so of the result in it. */
async function seen(server: TestServer, path: string, body: unknown): Promise<string> {
  const response = await server.post(path, body);
  if (path === MESSAGES) return (await readAnthropicError(response, 400)).message;
  if (path !== "/api/chat") return (await readError(response, 400)).message;
  const { error } = await response.json();
  assertEquals(response.status, 400, error);
  return error;
}

Deno.test("an image in a tool's result is named in every dialect, next to the result's texts", async () => {
  await using server = await startChat({ contextLength: 1024 }, TEMPLATE);
  const text = { type: "text", text: "SEEN" };
  const block = {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: "AAAA" },
  };
  const cases: [path: string, body: unknown, says: string][] = [
    [MESSAGES, inMessages([text, block]), `SEEN\n${IMAGE}|`],
    [MESSAGES, inMessages([block, text], { is_error: true }), `Error: ${IMAGE}\nSEEN|`],
    [
      MESSAGES,
      inMessages([text, { type: "image", source: { type: "url", url: "https://a.example/b" } }]),
      "SEEN\n[image; not shown: this model reads text]|",
    ],
    [
      MESSAGES,
      inMessages([text, {
        type: "document",
        source: { type: "base64", media_type: "application/pdf" },
      }]),
      "SEEN\n[document of the type application/pdf; not shown: this model reads text]|",
    ],
    [
      MESSAGES,
      inMessages([text, { type: "document", source: { type: "text", data: "What it says" } }]),
      "SEEN\nWhat it says|",
    ],
    [CHAT, inChat([text, { type: "image_url", image_url: { url: PNG } }]), `SEEN\n${IMAGE}|`],
    [CHAT, inChat([text, { type: "image_url", image_url: PNG }]), `SEEN\n${IMAGE}|`],
    [
      CHAT,
      inChat([text, { type: "input_audio", input_audio: { data: "AAAA" } }, { type: "file" }]),
      "SEEN\n[sound; not shown: this model reads text]\n[file; not shown: this model reads text]|",
    ],
    [
      RESPONSES,
      inResponses([{ type: "input_text", text: "SEEN" }, { type: "input_image", image_url: PNG }]),
      `SEEN\n${IMAGE}|`,
    ],
    [
      RESPONSES,
      inResponses([
        { type: "input_text", text: "SEEN" },
        { type: "input_file", file_data: "data:application/pdf;base64,AAAA" },
      ]),
      "SEEN\n[file of the type application/pdf; not shown: this model reads text]|",
    ],
    [
      "/api/chat",
      inOllama("SEEN", ["AAAA", "AAAA"]),
      "SEEN" + "\n[image; not shown: this model reads text]".repeat(2) + "|",
    ],
  ];
  for (const [path, body, says] of cases) {
    assertStringIncludes(await seen(server, path, body), says, JSON.stringify(body));
  }
});

Deno.test("an invalid media type is not named: it would be the client's word in the prompt", async () => {
  await using server = await startChat({ contextLength: 1024 }, TEMPLATE);
  for (const media_type of ["image/png; not hidden]", 5, "", "a/" + "b".repeat(1000), null]) {
    const content = [{ type: "image", source: { media_type } }, { type: "text", text: "SEEN" }];
    const says = "[image; not shown: this model reads text]\nSEEN|";
    assertStringIncludes(await seen(server, MESSAGES, inMessages(content)), says);
  }
  const content = [{ type: "image", source: 5 }, { type: "text", text: "SEEN" }, {
    type: "image",
  }];
  assertStringIncludes(await seen(server, MESSAGES, inMessages(content)), "text]\nSEEN\n[image;");
});

Deno.test("an image in what a user or an assistant says is refused all the same", async () => {
  await using server = await startChat();
  const image = { type: "image_url", image_url: { url: PNG } };
  for (const role of ["user", "system"]) {
    const body = { messages: [{ role, content: [image] }] };
    assertEquals((await readError(await server.post(CHAT, body), 400)).code, "unsupported");
  }
});
