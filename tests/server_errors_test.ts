import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { M40Error } from "../engine/mod.ts";
import { createApp, serve } from "../server/mod.ts";
import { standardError } from "../server/output_stream.ts";
import { MODEL, readError, sendRaw, startServer } from "./server_fixture.ts";

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
    [{ temperature: -0.1 }, "temperature", /-0\.1.*0 to 2/],
    [{ temperature: 2.1 }, "temperature"],
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
    [{ dynatemp_range: 3 }, "dynatemp_range"],
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
    [{ max_tokens: -1 }, "max_tokens"],
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
    [{ logprobs: 6 }, "logprobs"],
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

Deno.test("a body that is not JSON is answered with 400 and the place", async () => {
  await using server = await startServer();
  const place = await readError(await server.post("/v1/completions", '{"prompt": "a",}'), 400);
  assertEquals(place.code, "invalid_json");
  assertMatch(place.message, /position 15|line 1 column 16/);
  for (const body of ["", " \n", "{", "nul", '{"a":1}{', "\u0000", "'a'", "[", "NaN"]) {
    assertEquals((await readError(await server.post("/v1/completions", body), 400)).param, null);
  }
  for (const body of ["[]", "null", "5", '"text"', "true"]) {
    const error = await readError(await server.post("/v1/completions", body), 400);
    assertMatch(error.message, /wanted a JSON object/);
  }
  const latin1 = new Uint8Array([...new TextEncoder().encode('{"prompt":"'), 0xe9, 0x22, 0x7d]);
  const error = await readError(
    await server.post("/v1/completions", "", { body: latin1 }),
    400,
  );
  assertMatch(error.message, /UTF-8/);
});

Deno.test("values nested by the million are answered, not crashed on", async () => {
  await using server = await startServer();
  const levels = 1_000_000;
  const nested = "[".repeat(levels) + "]".repeat(levels);
  const objects = '{"a":'.repeat(levels / 2) + "1" + "}".repeat(levels / 2);
  for (const value of [nested, objects]) {
    for (const field of ["prompt", "stop", "logit_bias", "temperature", "user"]) {
      const error = await readError(
        await server.post("/v1/completions", `{"prompt":"a","${field}":${value}}`),
        400,
      );
      assertEquals(error.param, field);
    }
    const unknown = `{"prompt":"a","max_tokens":1,"other":${value}}`;
    const response = await server.post("/v1/completions", unknown);
    assertEquals([response.status, (await response.json()).choices.length], [200, 1]);
  }
  await readError(await server.post("/v1/completions", "[".repeat(4_000_000)), 400);
  for (const element of ["1", '"a"', "null", "[]", "{}", "1.5"]) {
    const array = "[" + Array(800_000).fill(element).join(",") + "]";
    for (const field of ["prompt", "stop"]) {
      await readError(await server.post("/v1/completions", `{"${field}":${array}}`), 400);
    }
  }
});

Deno.test("a body of 20 MB is answered with 413, whether its length is said or not", async () => {
  await using server = await startServer();
  const megabyte = new Uint8Array(2 ** 20).fill(0x20);
  const body = new Uint8Array(20 * megabyte.length).fill(0x20);
  const chunked = () => {
    let left = 20;
    return new ReadableStream({
      pull(controller) {
        if (left-- > 0) controller.enqueue(megabyte);
        else controller.close();
      },
    });
  };
  for (const make of [() => body, chunked]) {
    const error = await readError(
      await server.post("/v1/completions", "", { body: make() }),
      413,
    );
    assertEquals(error.code, "body_too_large");
    assertMatch(error.message, /4194304/);
  }
  // The length alone is enough: the server does not wait for the bytes.
  const answer = await sendRaw(
    server.port,
    "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
      "Content-Length: 20000000\r\nConnection: close\r\n\r\n{",
  );
  assertMatch(answer, /^HTTP\/1\.1 413 /);
});

Deno.test("the longest body that is allowed is read, and one byte more is not", async () => {
  await using server = await startServer({ app: { maxBodyBytes: 1000 } });
  const body = (bytes: number) => {
    const start = '{"prompt":"a","max_tokens":1,"user":"';
    return start + "x".repeat(bytes - start.length - 2) + '"}';
  };
  const response = await server.post("/v1/completions", body(1000));
  assertEquals([response.status, (await response.json()).object], [200, "text_completion"]);
  await readError(await server.post("/v1/completions", body(1001)), 413);
});

Deno.test("another content type than JSON is answered with 415", async () => {
  await using server = await startServer();
  const body = '{"prompt":"a","max_tokens":1}';
  const types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "a", ""];
  for (const type of types) {
    const headers = { "Content-Type": type };
    const error = await readError(await server.post("/v1/completions", body, { headers }), 415);
    assertMatch(error.message, /Content-Type: application\/json/);
  }
  for (const type of ["application/json; charset=utf-8", "Application/JSON", "application/json;"]) {
    const headers = { "Content-Type": type };
    const response = await server.post("/v1/completions", body, { headers });
    assertEquals([response.status, (await response.json()).object], [200, "text_completion"]);
  }
  const headers = { "Content-Encoding": "gzip" };
  await readError(await server.post("/v1/completions", body, { headers }), 415);
});

Deno.test("an unknown path is answered with 404, a wrong method with 405 and Allow", async () => {
  await using server = await startServer();
  for (const path of ["/", "/v1", "/v1/chat", "/v1/completions/x", "/V1/MODELS", "/%ff", "//"]) {
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

Deno.test("with a key all but /health and /ready needs it, and only the right one passes", async () => {
  await using server = await startServer({ app: { apiKey: " sécret key\n" } });
  const get = (path: string, authorization?: string, method = "GET") => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    return fetch(server.url + path, { method, headers });
  };
  const health = await get("/health");
  assertEquals([health.status, (await health.json()).status], [200, "ok"]);
  const ready = await get("/ready");
  assertEquals([ready.status, (await ready.json()).status], [200, "ok"]);
  const bytes = new TextEncoder().encode("sécret key");
  const wrong = [undefined, "", "Bearer", "Bearer ", "Bearer x", "Basic c2VjcmV0", "secret"];
  for (const authorization of [...wrong, "Bearer s\u00e9cret ke", "Bearer s\u00e9cret keyy"]) {
    const closed = ["/metrics", "/slots", "/v1/models", "/v1/models/x", "/unknown", "/health/"];
    for (const path of [...closed, "//health"]) {
      const response = await get(path, authorization);
      assertMatch(response.headers.get("www-authenticate") ?? "", /^Bearer/);
      assertEquals((await readError(response, 401)).code, "invalid_api_key");
    }
  }
  await readError(await get("/v1/completions", undefined, "OPTIONS"), 401);
  await readError(await server.post("/v1/completions", { prompt: "a" }), 401);
  const latin1 = String.fromCharCode(...bytes);
  const response = await get("/v1/models", `bearer ${latin1}`);
  assertEquals([response.status, (await response.json()).object], [200, "list"]);
});

Deno.test("a key of spaces alone, which no request could bring, starts no server", async () => {
  await using server = await startServer();
  const { engine } = server;
  const error = assertThrows(
    () => createApp({ engine, modelName: MODEL, apiKey: " \t " }),
    M40Error,
  );
  assertEquals(error.code, "invalid_request");
});

Deno.test("on a loopback address only loopback hosts are answered (DNS rebinding)", async () => {
  await using server = await startServer();
  const ask = (host: string | undefined, version = "1.1") =>
    sendRaw(
      server.port,
      `GET /health HTTP/${version}\r\n${host === undefined ? "" : `Host: ${host}\r\n`}` +
        "Connection: close\r\n\r\n",
    );
  const own = ["localhost", "LOCALHOST:1", "127.0.0.1:80", "127.1.2.3", "[::1]:11434"];
  const absolute = ["localhost.", "Localhost.:80", "127.0.0.1."];
  for (const host of [...own, ...absolute, "app.localhost", "A.b.LocalHost.:11434"]) {
    assertMatch(await ask(host), /^HTTP\/1\.1 200 /, host);
  }
  assertMatch(await ask(undefined, "1.0"), /^HTTP\/1\.0 200 /);
  const hosts = [
    "evil.example",
    "evil.example:11434",
    "localhost.evil.example",
    "localhost..",
    ".localhost",
    "notlocalhost",
    "evil.example:80.localhost",
    "127.0.0.1.nip.io",
  ];
  for (const host of [...hosts, "10.0.0.1", "127.0.0.1@evil.example", "0x7f.1"]) {
    const answer = await ask(host);
    assertMatch(answer, /^HTTP\/1\.1 40[03] /, host);
    if (answer.startsWith("HTTP/1.1 403")) assertStringIncludes(answer, "forbidden_host");
  }
});

Deno.test("bound to every network any host is answered", async () => {
  await using server = await startServer({ app: { hostname: "0.0.0.0" } });
  const answer = await sendRaw(
    server.port,
    "GET /health HTTP/1.1\r\nHost: gpu-box.example\r\nConnection: close\r\n\r\n",
  );
  assertMatch(answer, /^HTTP\/1\.1 200 /);
});

Deno.test("web pages of other origins are refused, and no preflight is granted", async () => {
  await using server = await startServer();
  const ask = (method: string, origin: string, host = "localhost:1") =>
    sendRaw(
      server.port,
      `${method} /v1/models HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\n` +
        "Connection: close\r\n\r\n",
    );
  for (const origin of ["https://evil.example", "http://localhost:3000", "null"]) {
    for (const method of ["GET", "OPTIONS"]) {
      const answer = await ask(method, origin);
      assertMatch(answer, /^HTTP\/1\.1 403 /);
      assertStringIncludes(answer, "forbidden_origin");
      assert(!/access-control/i.test(answer));
    }
  }
  for (const origin of ["http://localhost:1", "HTTP://LOCALHOST.:1", "vscode-file://vscode-app"]) {
    assertMatch(await ask("GET", origin), /^HTTP\/1\.1 200 /);
  }
  assertMatch(await ask("GET", "http://a.localhost:1", "A.localhost.:1"), /^HTTP\/1\.1 200 /);
  assertMatch(await ask("GET", "http://a.localhost:1", "b.localhost:1"), /^HTTP\/1\.1 403 /);
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
