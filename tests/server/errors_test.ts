import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { M40Error } from "../../engine/mod.ts";
import { createApp, serve } from "../../server/mod.ts";
import { standardError } from "../../server/output/output_stream.ts";
import { MODEL, readError, startServer } from "../fixtures/server_fixture.ts";

Deno.test("a parameter of a wrong kind or out of range is answered with 400 by its name", async () => {
  await using server = await startServer();
  const cases: [Record<string, unknown>, string, RegExp?][] = [
    [{ prompt: undefined }, "prompt", /got nothing/],
    [{ prompt: null }, "prompt", /got null/],
    [{ prompt: 5 }, "prompt", /wanted a string.*got 5/],
    [{ prompt: [] }, "prompt", /0 elements/],
    [{ prompt: [[]] }, "prompt"],
    [{ prompt: ["a", 5] }, "prompt"],
    [{ prompt: [1, -1] }, "prompt"],
    [{ prompt: [1.5] }, "prompt"],
    [{ prompt: [1, 352] }, "prompt", /352.*351/],
    [{ prompt: Array(33).fill("a") }, "prompt", /up to 32/],
    [{ prompt: {} }, "prompt", /an object/],
    [{ model: 5 }, "model"],
    [{ temperature: "hot" }, "temperature", /wanted a number; got the string "hot"/],
    [{ temperature: -0.1 }, "temperature", /-0\.1.*0 to 100/],
    [{ temperature: 100.1 }, "temperature"],
    [{ top_p: -0.1 }, "top_p"],
    [{ top_p: 1.1 }, "top_p"],
    [{ top_k: -2 }, "top_k"],
    [{ top_k: 1.5 }, "top_k"],
    [{ min_p: 2 }, "min_p"],
    [{ repetition_penalty: 0 }, "repetition_penalty"],
    [{ frequency_penalty: 3 }, "frequency_penalty"],
    [{ presence_penalty: -3 }, "presence_penalty"],
    [{ typical_p: 1.1 }, "typical_p"],
    [{ typical_p: "1" }, "typical_p", /wanted a number/],
    [{ repeat_last_n: -2 }, "repeat_last_n"],
    [{ repeat_last_n: 1.5 }, "repeat_last_n"],
    [{ dry_multiplier: -1 }, "dry_multiplier"],
    [{ dry_base: 0.5 }, "dry_base"],
    [{ dry_allowed_length: 0 }, "dry_allowed_length"],
    [{ dry_penalty_last_n: -2 }, "dry_penalty_last_n"],
    [{ dry_sequence_breakers: "x" }, "dry_sequence_breakers", /wanted an array of strings/],
    [{ dry_sequence_breakers: ["x", 1] }, "dry_sequence_breakers.1", /wanted a string; got 1/],
    [{ dry_sequence_breakers: [""] }, "dry_sequence_breakers"],
    [{ xtc_probability: 1.1 }, "xtc_probability"],
    [{ xtc_threshold: -0.1 }, "xtc_threshold"],
    [{ mirostat: 1 }, "mirostat", /wanted 2/],
    [{ mirostat: 3 }, "mirostat"],
    [{ mirostat_tau: -1 }, "mirostat_tau"],
    [{ mirostat_eta: 2 }, "mirostat_eta"],
    [{ dynatemp_range: 101 }, "dynatemp_range"],
    [{ dynatemp_exponent: 0 }, "dynatemp_exponent"],
    [{ ignore_eos: 1 }, "ignore_eos", /true or false/],
    [{ min_tokens: -1 }, "min_tokens"],
    [{ min_tokens: 3, max_tokens: 2 }, "min_tokens", /no more than max_tokens/],
    [{ seed: 1.5 }, "seed"],
    [{ seed: "x" }, "seed"],
    [{ seed: 2 ** 65 }, "seed", /from -2\^64 to 2\^64/],
    [{ logit_bias: [] }, "logit_bias"],
    [{ logit_bias: { a: 1 } }, "logit_bias", /wanted token ids as keys.*got the string "a"/],
    [
      { logit_bias: { "1": 1, "150": "x" } },
      "logit_bias.150",
      /wanted a number.*got the string "x"/,
    ],
    [{ logit_bias: { "150": null } }, "logit_bias.150", /got null/],
    [{ logit_bias: { "1": 1, "150": 101 } }, "logit_bias.150", /101.*from -100 to 100/],
    [{ logit_bias: { "352": 1 } }, "logit_bias", /352/],
    [{ max_tokens: -2 }, "max_tokens"],
    [{ max_tokens: 1.5 }, "max_tokens"],
    [{ max_tokens: "16" }, "max_tokens"],
    [{ stop: 5 }, "stop"],
    [{ stop: "" }, "stop"],
    [{ stop: ["a", ""] }, "stop"],
    [{ stop: Array(17).fill("a") }, "stop", /up to 16.*17 elements/],
    [{ stream: "yes" }, "stream"],
  ];
  const completions: typeof cases = [
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
    [{ echo: true, logprobs: 1, suffix: "end" }, "suffix", /not supported/],
    [{ suffix: "end" }, "suffix", /fill in the middle/],
    [{ stream_options: 1 }, "stream_options"],
    [{ stream_options: { include_usage: 1 } }, "stream_options.include_usage"],
    [{ user: 1 }, "user"],
  ];
  const all = [
    ...cases.map((one) => ["/v1/completions", ...one] as const),
    ...cases.map((one) => ["/v1/generate", ...one] as const),
    ...completions.map((one) => ["/v1/completions", ...one] as const),
  ];
  for (const [path, more, param, message] of all) {
    if (path === "/v1/generate" && param === "prompt" && message?.source.includes("32")) continue;
    const body = { prompt: "Hello", max_tokens: 2, ...more };
    const error = await readError(await server.post(path, body), 400);
    assertEquals(error.param, param, JSON.stringify([path, more, error]));
    assertEquals(error.type, "invalid_request_error");
    assertStringIncludes(error.message, param);
    if (message !== undefined) assertMatch(error.message, message);
  }
  const { running, waiting, failed } = server.engine.status();
  assertEquals({ running, waiting, failed }, { running: 0, waiting: 0, failed: undefined });
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
  for (const path of ["/v1/completions", "/v1/generate"]) {
    const error = await readError(await server.post(path, { model: "gpt-4", prompt: "a" }), 404);
    assertEquals([error.code, error.param], ["model_not_found", "model"]);
    assertMatch(error.message, /"gpt-4".*"golden"/);
  }
});

Deno.test("an unknown path is answered with 404, a wrong method with 405 and Allow", async () => {
  await using server = await startServer();
  for (const path of ["/v1", "/v1/chat", "/v1/completions/x", "/V1/MODELS", "/%ff", "//"]) {
    assertEquals((await readError(await fetch(server.url + path), 404)).code, "not_found");
  }
  const cases = [
    ["/v1/completions", "GET", "POST, OPTIONS"],
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
  const app = createApp({ engine: server.engine, modelName: MODEL });
  const listen = (hostname: string, port: number) => serve(app, { hostname, port });
  const error = assertThrows(() => listen("127.0.0.1", server.port), M40Error, "--port");
  assertEquals(error.code, "io");
  assertStringIncludes(error.message, `127.0.0.1:${server.port}`);
  // An address that is kept for documents: no machine has it.
  assertEquals(assertThrows(() => listen("192.0.2.1", 0), M40Error).code, "io");
});

Deno.test("an answer that fails inside names no file and no stack", async () => {
  await using server = await startServer();
  const broken = createApp({
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
  const lost = createApp({
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
