// Bodies of requests that cannot be read: no JSON, nested or long beyond reason, of another type.
import { MOST_LEVELS } from "../engine/json/parse_json.ts";
import { assertEquals, assertMatch } from "@std/assert";
import { readError, sendRaw, startServer } from "./server_fixture.ts";

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
  const deepest = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  for (const levels of [MOST_LEVELS, 2_000_000]) {
    const error = await readError(
      await server.post("/v1/completions", `{"prompt":"a","other":${deepest(levels)}}`),
      400,
    );
    assertMatch(error.message, /nested more than 1000 deep/);
  }
  const levels = MOST_LEVELS - 1;
  const nested = deepest(levels);
  const objects = '{"a":'.repeat(levels) + "1.0" + "}".repeat(levels);
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
