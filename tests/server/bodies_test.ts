// Bodies of requests that cannot be read: no JSON, nested or long beyond reason, of another type.
import { setImmediate } from "node:timers";
import { MOST_LEVELS } from "../../engine/json/parse_json.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { readJson } from "../../server/request/body.ts";
import { Incoming, RequestBody } from "../../server/http/incoming.ts";
import { readError, sendRaw, startServer } from "../fixtures/server_fixture.ts";

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

Deno.test("a body in chunks of one byte takes no memory for each of them", async () => {
  const count = 100_000;
  const sent = new TextEncoder().encode("1\r\nx\r\n".repeat(count) + "0\r\n\r\n");
  let at = 0;
  const source = {
    read(into: Uint8Array): Promise<number | null> {
      const piece = sent.subarray(at, at + into.length);
      if (piece.length === 0) return Promise.resolve(null);
      into.set(piece);
      at += piece.length;
      return Promise.resolve(piece.length);
    },
  };
  const body = new RequestBody(new Incoming(source, () => {}, () => {}), {
    kind: "chunked",
  });
  let pieces = 0;
  let length = 0;
  for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
    pieces++;
    length += piece.length;
  }
  assertEquals([length, body.complete], [count, true]);
  assert(pieces * 10 < count, `${pieces} pieces`);

  // A reader of a body keeps its bytes, not its pieces: here all are the same array.
  const text = `{"a":"${"0123456789".repeat(1000)}"}`;
  const one = new Uint8Array(1);
  let next = 0;
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (next === text.length) return controller.close();
      one[0] = text.charCodeAt(next++);
      controller.enqueue(one);
    },
  }, { highWaterMark: 0 });
  const request = new Request("http://localhost/", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: stream,
  });
  assertEquals(await readJson(request, text.length), JSON.parse(text));
});

Deno.test("a long body is read in parts, between which others have their turn; a short one at once", async () => {
  const turnsDuring = async (body: string) => {
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const request = new Request("http://localhost/", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    const value = await readJson(request, body.length);
    isOver = true;
    assertEquals(value, JSON.parse(body));
    return turns;
  };
  const short = await turnsDuring(JSON.stringify({ prompt: "a" }));
  const long = await turnsDuring(JSON.stringify({ prompt: new Array(200_000).fill(1) }));
  assert(long >= short + 3, `${short}, ${long}`);
});
