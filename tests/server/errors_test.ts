import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { M40Error } from "../../engine/mod.ts";
import { serve } from "../../server/mod.ts";
import { standardError } from "../../server/output/output_stream.ts";
import { type BadRequest, testBadRequests } from "../fixtures/bad_requests.ts";
import { MODEL, readError, startServer } from "../fixtures/server_fixture.ts";
import { appOf } from "../fixtures/fixed_model.ts";

Deno.test("prompts, and what completions alone have, of a wrong kind or out of range are refused by name", async () => {
  await using server = await startServer();
  const prompts: BadRequest[] = [
    [{ prompt: undefined }, "prompt", /got nothing/],
    [{ prompt: null }, "prompt", /got null/],
    [{ prompt: 5 }, "prompt", /wanted a string.*got 5/],
    [{ prompt: [] }, "prompt", /0 elements/],
    [{ prompt: [[]] }, "prompt"],
    [{ prompt: ["a", 5] }, "prompt"],
    [{ prompt: [1, -1] }, "prompt"],
    [{ prompt: [1.5] }, "prompt"],
    [{ prompt: [1, 352] }, "prompt", /352.*351/],
    [{ prompt: {} }, "prompt", /an object/],
  ];
  const right = { prompt: "Hello", max_tokens: 2 };
  await testBadRequests(server, "/v1/generate", right, prompts);
  await testBadRequests(server, "/v1/completions", right, [
    ...prompts,
    [{ prompt: Array(33).fill("a") }, "prompt", /up to 32/],
    [{ n: 0 }, "n"],
    [{ n: 9 }, "n", /from 1 to 8; got 9/],
    [{ n: 8, prompt: ["a", "b", "c", "d", "e"] }, "n"],
    [{ best_of: 0 }, "best_of"],
    [{ best_of: 21 }, "best_of", /from 1 to 20; got 21/],
    [{ best_of: 1, n: 2 }, "best_of", /at least n, which is 2/],
    [{ best_of: 2, stream: true }, "best_of", /stream/],
    [{ best_of: 20, prompt: ["a", "b"] }, "best_of", /more than 32/],
    [{ logprobs: 21 }, "logprobs", /from 0 to 20/],
    [{ logprobs: true }, "logprobs"],
    [{ echo: 1 }, "echo"],
    [{ echo: true, logprobs: 1, suffix: "end" }, "suffix", /not supported/, "unsupported"],
    [{ suffix: "end" }, "suffix", /fill in the middle/, "unsupported"],
    [{ stream_options: 1 }, "stream_options"],
    [{ stream_options: { include_usage: 1 } }, "stream_options.include_usage"],
    [{ user: 1 }, "user"],
  ]);
});

Deno.test("a prompt longer than the context is answered with both numbers", async () => {
  await using server = await startServer();
  for (const prompt of [Array(200).fill(5), ["Hello", Array(500).fill("long").join(" ")]]) {
    for (const stream of [false, true]) {
      const error = await readError(await server.post("/v1/completions", { prompt, stream }), 400);
      assertEquals(error.code, "context_length_exceeded");
      assertMatch(error.message, /\b128\b/);
      if (typeof prompt[0] === "number") assertMatch(error.message, /\b200\b/);
    }
  }
  assertEquals(server.engine.status().running + server.engine.status().waiting, 0);
});

Deno.test("another model than the served one is answered with 404 and what there is", async () => {
  await using server = await startServer();
  const body = { model: "gpt-4", prompt: "a" };
  const error = await readError(await server.post("/v1/completions", body), 404);
  assertEquals([error.code, error.param], ["model_not_found", "model"]);
  assertMatch(error.message, /"gpt-4".*"golden"/);
});

Deno.test("an unknown path is answered with 404, a wrong method with 405 and Allow", async () => {
  await using server = await startServer();
  for (const path of ["/v1", "/v1/chat", "/v1/completions/x", "/V1/MODELS", "/%ff", "//"]) {
    assertEquals((await readError(await fetch(server.url + path), 404)).code, "not_found");
  }
  const cases = [
    ["/v1/completions", "DELETE", "POST, OPTIONS"],
    ["/v1/generate", "PUT", "POST, OPTIONS"],
    ["/v1/models", "POST", "GET, HEAD, OPTIONS"],
    ["/v1/models/golden", "DELETE", "GET, HEAD, OPTIONS"],
    ["/health", "POST", "GET, HEAD, OPTIONS"],
  ];
  for (const [path, method, allow] of cases) {
    const response = await fetch(server.url + path, { method });
    assertEquals(response.headers.get("allow"), allow);
    assertEquals((await readError(response, 405)).code, "method_not_allowed");
  }
});

Deno.test("a port in use is an error that says what to do", async () => {
  await using server = await startServer();
  const app = appOf({ engine: server.engine, modelName: MODEL });
  const listen = (hostname: string, port: number) => serve(app, { hostname, port });
  const error = assertThrows(() => listen("127.0.0.1", server.port), M40Error, "--port");
  assertEquals(error.code, "io");
  assertStringIncludes(error.message, `127.0.0.1:${server.port}`);
  // An address that is kept for documents: no machine has it.
  assertEquals(assertThrows(() => listen("192.0.2.1", 0), M40Error).code, "io");
});

Deno.test("an answer that fails inside names no file and no stack", async () => {
  await using server = await startServer();
  const broken = appOf({
    engine: new Proxy(server.engine, {
      get(engine, key) {
        if (key === "generate") throw new TypeError("secret detail");
        return Reflect.get(engine, key, engine);
      },
    }),
    modelName: MODEL,
  });
  const logged: string[] = [];
  const { say } = standardError;
  standardError.say = (text) => logged.push(text);
  try {
    const response = await broken.request("/v1/generate", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"prompt":"a"}',
    });
    const error = await readError(response, 500);
    assertEquals([error.type, error.code], ["server_error", "internal"]);
    assert(!/secret|TypeError|\.ts|at /.test(error.message.replace("at it", "")), error.message);
    assertEquals(logged.length, 1, "the log has the error");
    const reference = /under ([0-9a-f]{8})/.exec(error.message)![1];
    assertStringIncludes(logged[0], reference);
  } finally {
    standardError.say = say;
  }
});

Deno.test("/health and /ready are 503 with the reason when the device was lost", async () => {
  await using server = await startServer();
  // A device cannot be lost on purpose, so the engine's word for it is put in place.
  const lost = appOf({
    engine: new Proxy(server.engine, {
      get(engine, key) {
        if (key === "status") return () => ({ running: 0, waiting: 0, failed: "fell off the bus" });
        return Reflect.get(engine, key, engine);
      },
    }),
    modelName: MODEL,
  });
  for (const path of ["/health", "/ready"]) {
    const response = await lost.request(path);
    assertEquals(response.status, 503);
    assertEquals(await response.json(), { status: "failed", reason: "fell off the bus" });
  }
});
