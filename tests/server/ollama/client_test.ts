// Ollama's official client for JavaScript against a server in this process.
import { assertEquals } from "@std/assert";
import { Ollama } from "ollama";
import { exerciseClient } from "../../fixtures/ollama_exercise.ts";
import { startModels } from "../../fixtures/server_models_fixture.ts";
import { openRequest } from "../../fixtures/server_fixture.ts";
import { until } from "../../fixtures/waiting.ts";

const KEY = "k";
const TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}";

/** A test of the client, which leaves the end of a stream's body unread. */
function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn, sanitizeResources: false });
}

test("ollama client: everything about text and about models", async () => {
  await using server = await startModels({
    app: { apiKey: KEY, storeChanges: true },
    engine: { chatTemplate: TEMPLATE },
  });
  const { url: host } = server;
  await exerciseClient({ host, model: "llama", apiKey: KEY, storeChanges: true });
});

test("ollama client: white space while a stream waits for its turn is passed over, without a word", async () => {
  await using server = await startModels({
    app: { commentMs: 20 },
    engine: { parallel: 1 },
    manager: { models: 1 },
  });
  const options = { num_predict: -1, logit_bias: { "2": -100 } };
  const long = { model: "llama", prompt: "a", keep_alive: -1, options };
  const others = await Promise.all(
    Array.from({ length: 30 }, () => openRequest(server.port, "/api/generate", long)),
  );
  await until("one runs", () => server.manager.loaded()[0]?.engine?.status().running === 1);
  const warned: unknown[] = [];
  const { warn } = console;
  console.warn = (...words) => warned.push(words);
  try {
    const client = new Ollama({ host: server.url });
    const stream = await client.generate({
      model: "llama",
      prompt: "a",
      stream: true,
      // What is likeliest is no end.
      options: { num_predict: 2, temperature: 0 },
    });
    let reason: string | undefined;
    for await (const { done_reason } of stream) reason = done_reason;
    assertEquals(reason, "length");
    assertEquals(warned, []);
  } finally {
    console.warn = warn;
    for (const one of others) one.close();
  }
});
