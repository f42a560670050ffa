import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Engine, type GenerationReport, M40Error } from "../../engine/mod.ts";
import { bodyWith, type Dialect, DIALECTS, readRefusal } from "../fixtures/dialects.ts";
import { GOLDEN } from "../fixtures/goldens.ts";
import { patiently } from "../fixtures/patience.ts";
import { startChat } from "../fixtures/server_chat_fixture.ts";
import { NO_END, readError, startServer } from "../fixtures/server_fixture.ts";
import { until } from "../fixtures/waiting.ts";

const LONG = { contextLength: 65_536 };
const NO_END_SAMPLING = { logitBias: new Map([[2, -100]]), temperature: 0 };
const ENDLESS = { prompt: "Hello", max_tokens: 60_000, ...NO_END };

for (const dialect of DIALECTS) {
  const { path } = dialect;
  Deno.test(`a request whose deadline passes is answered with 504, a stream with an error: ${path}`, () =>
    patiently((times) => endsAtDeadline(dialect, 400 * times)));
}

async function endsAtDeadline(dialect: Dialect, timeoutMs: number): Promise<void> {
  const { path } = dialect;
  await using server = await startChat({ ...LONG, app: { timeoutMs } });
  // The template's thread is there, so that the deadline passes while tokens are sampled.
  await server.engine.chat!.prompt({ messages: [{ role: "user", content: "Hello" }] });
  const body = bodyWith(dialect, { max_tokens: 60_000, ...NO_END });
  const whole = await server.post(path, { ...body, stream: false });
  const { message } = await readRefusal(path, whole, 504);
  assertEquals(whole.headers.get("x-should-retry"), "false");
  const late = `not done after ${timeoutMs / 1000} s: `;
  assertMatch(message, new RegExp(`${late}\\d+ of at most \\d+ tokens`));
  await server.engine.idle();
  assertEquals(server.engine.status().usedKvBlocks, 0);

  const stream = await server.post(path, { ...body, stream: true });
  const lines = (await stream.text()).trimEnd().split("\n");
  assertEquals(stream.status, 200);
  assert(lines.length > 3, "nothing came before the deadline");
  assertStringIncludes(lines.at(-1)!, late);
  await server.engine.idle();
  assertEquals(server.engine.status().usedKvBlocks, 0);

  // What is done in time is not touched.
  const short = await server.post(path, bodyWith(dialect, { max_tokens: 2, ...NO_END }));
  assertEquals(short.status, 200, await short.text());
}

Deno.test("a request whose deadline passes in the queue gets an error, and leaves the queue", async () => {
  await using server = await startServer({ ...LONG, app: { timeoutMs: 300 } });
  const first = server.engine.generate({
    prompt: "Hello",
    maxTokens: 60_000,
    sampling: NO_END_SAMPLING,
  });
  await until("it runs", () => server.engine.status().running === 1);
  const error = await readError(await server.post("/v1/completions", ENDLESS), 504);
  assertMatch(error.message, /still waiting for its turn/);
  assertEquals(server.engine.status().waiting, 0);
  // The head of a stream is out before its turn comes: an event reports it.
  const stream = await server.post("/v1/completions", { ...ENDLESS, stream: true });
  assertEquals(stream.status, 200);
  const event = await stream.text();
  assertMatch(event, /^data: {"error":.*still waiting for its turn.*"code":"timeout"}}\n\n$/);
  assertEquals(server.engine.status().waiting, 0);
  first.cancel();
});

Deno.test("a deadline error names the whole time also where a prompt is made first, in every dialect", async () => {
  // It takes a while, so that less is left for the tokens.
  const slow = "{% for a in range(10000) %}{% endfor %}{{ messages[0].content }}";
  await using server = await startChat({ ...LONG, app: { timeoutMs: 300 } }, slow);
  await server.engine.chat!.prompt({ messages: [{ role: "user", content: "Hello" }] });
  for (const dialect of DIALECTS) {
    const body = bodyWith(dialect, { max_tokens: 60_000, ...NO_END });
    const response = await server.post(dialect.path, { ...body, stream: false });
    const { message } = await readRefusal(dialect.path, response, 504);
    assertMatch(message, /not done after 0\.3 s: /, dialect.path);
  }
});

Deno.test("a deadline counts from when the request says, and its error names the whole of it", async () => {
  const engine = await Engine.load(GOLDEN, { device: "cpu", threads: 1 });
  const limits = { timeoutMs: 600_000, timeoutFrom: performance.now() - 600_000 };
  const generation = engine.generate({
    prompt: [5],
    maxTokens: 100,
    sampling: NO_END_SAMPLING,
    ...limits,
  });
  const scoring = engine.score(Array.from({ length: 100 }, (_, i) => 5 + i), {
    topLogprobs: 0,
    ...limits,
  });
  for (const work of [Array.fromAsync(generation), scoring.result]) {
    const error = await assertRejects(() => work, M40Error, "not done after 600 s");
    assertEquals(error.code, "timeout");
  }
  await engine.close();
});

Deno.test("the engine's deadline ends a generation with what was sampled before, and frees its KV blocks", async () => {
  const engine = await Engine.load(GOLDEN, { device: "cpu", threads: 1 });
  const reports: GenerationReport[] = [];
  engine.observer = { generation: (report) => reports.push(report) };
  // A millisecond is over before 100 tokens are sampled.
  const generation = engine.generate({
    prompt: [5],
    maxTokens: 100,
    sampling: NO_END_SAMPLING,
    timeoutMs: 1,
  });
  let tokens = 0;
  let thrown: unknown;
  try {
    for await (const chunk of generation) {
      tokens += chunk.tokens.length;
      assertEquals(chunk.finishReason, undefined);
    }
  } catch (error) {
    thrown = error;
  }
  assert(thrown instanceof M40Error && thrown.code === "timeout", String(thrown));
  await engine.idle();
  assertEquals(engine.status().usedKvBlocks, 0);
  assertEquals(reports.map(({ outcome }) => outcome), ["timeout"]);
  assertEquals(reports[0].completionTokens, tokens);
  for (const timeoutMs of [0, -1, NaN, 2 ** 31]) {
    let error: unknown;
    try {
      engine.generate({ prompt: [5], timeoutMs });
    } catch (caught) {
      error = caught;
    }
    assert(error instanceof M40Error && error.code === "invalid_request", `${timeoutMs}`);
  }
  await engine.close();
});

Deno.test("more answers than can ever run and wait are a bad request, not a full queue", async () => {
  await using server = await startServer({ engine: { parallel: 2, maxQueue: 1 } });
  const body = { prompt: "Hello", max_tokens: 2, ...NO_END };
  const three = await server.post("/v1/completions", { ...body, n: 3 });
  assertEquals(three.status, 200, await three.text());
  const error = await readError(await server.post("/v1/completions", { ...body, n: 4 }), 400);
  assertEquals(error.code, "invalid_request");
  assertMatch(error.message, /4 .*2 can run and 1 wait/);
});

Deno.test("what can never fit is refused with 400 at once, even when the queue is full", async () => {
  await using server = await startServer({ ...LONG, engine: { maxQueue: 0 } });
  const first = server.engine.generate({
    prompt: "Hello",
    maxTokens: 60_000,
    sampling: NO_END_SAMPLING,
  });
  await until("it runs", () => server.engine.status().running === 1);
  await readError(await server.post("/v1/completions", ENDLESS), 429);
  const prompt = Array.from({ length: 65_536 }, (_, i) => 10 + i % 300);
  const error = await readError(await server.post("/v1/completions", { prompt }), 400);
  assertEquals(error.code, "context_length_exceeded");
  first.cancel();
});
