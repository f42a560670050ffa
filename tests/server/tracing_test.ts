// Traces as OpenTelemetry's collectors get them, of the real program.
import { assert, assertAlmostEquals, assertEquals, assertMatch } from "@std/assert";
import { Home, startServe } from "../fixtures/cli_program.ts";
import { NO_END } from "../fixtures/server_fixture.ts";
import { until } from "../fixtures/waiting.ts";

interface Attribute {
  key: string;
  value: { stringValue?: string; doubleValue?: number; intValue?: string };
}

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  status: { code: number };
}

/** A collector of OpenTelemetry's protocol, for JSON by HTTP. */
class Collector implements AsyncDisposable {
  readonly spans: Span[] = [];
  readonly logs: string[] = [];
  private readonly server = Deno.serve({ port: 0, onListen() {} }, async (request) => {
    const body = await request.json();
    const path = new URL(request.url).pathname;
    if (path === "/v1/traces") {
      for (const { scopeSpans } of body.resourceSpans) {
        for (const { scope, spans } of scopeSpans) {
          if (scope.name === "m40") this.spans.push(...spans);
        }
      }
    }
    if (path === "/v1/logs") {
      for (const { scopeLogs } of body.resourceLogs) {
        for (const { logRecords } of scopeLogs) {
          for (const record of logRecords) this.logs.push(record.body.stringValue);
        }
      }
    }
    return Response.json({});
  });

  get env(): Record<string, string> {
    return {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${this.server.addr.port}`,
      OTEL_DENO_CONSOLE: "replace",
      OTEL_BSP_SCHEDULE_DELAY: "100",
      OTEL_BLRP_SCHEDULE_DELAY: "100",
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.shutdown();
  }
}

function attributesOf({ attributes }: Span): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map((
      { key, value },
    ) => [key, value.stringValue ?? Number(value.doubleValue ?? value.intValue)]),
  );
}

const start = ({ startTimeUnixNano }: Span) => Number(startTimeUnixNano) / 1e6;
const end = ({ endTimeUnixNano }: Span) => Number(endTimeUnixNano) / 1e6;

Deno.test("each request is a span in its caller's trace, with queue, prefill and decode in it, and what the server says is a log", async () => {
  await using collector = new Collector();
  await using home = await Home.make();
  const args = ["--model", await home.longModel(), "--port", "0", "--ctx", "4096"];
  const { child, output, before, url } = await startServe(home, args, collector.env);
  try {
    const post = (body: unknown, headers = {}) =>
      fetch(`${url}/v1/completions`, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
    const trace = "0af7651916cd43dd8448eb211c80319c";
    const caller = "b7ad6b7169203331";
    const body = { prompt: "hello", max_tokens: 20, ...NO_END };
    const traceparent = `00-${trace}-${caller}-01`;
    const answer = await post({ ...body, n: 2, stream: true }, { traceparent });
    const prefix = answer.headers.get("X-M40-Prefix");
    await answer.text();
    // One that is refused, and a header that is none: traces of their own.
    await (await post({ ...body, n: 0 }, {
      traceparent: traceparent.replace(caller, "0".repeat(16)),
    })).text();
    await (await fetch(url + "/health")).text();
    await until("spans", () => collector.spans.filter(({ kind }) => kind === 2).length === 2);

    const [root] = collector.spans.filter(({ traceId }) => traceId === trace)
      .filter(({ parentSpanId }) => parentSpanId === caller);
    assertEquals(root.name, "POST /v1/completions");
    const { "m40.prefix": name, "http.response.status_code": status } = attributesOf(root);
    assertEquals([name, status], [prefix, 200]);
    const within = (parent: Span) =>
      collector.spans.filter(({ parentSpanId }) => parentSpanId === parent.spanId);
    const generations = within(root);
    assertEquals(generations.map(({ name }) => name), ["generation", "generation"]);
    for (const generation of generations) {
      const said = attributesOf(generation);
      assertEquals([said["gen_ai.usage.output_tokens"], said["m40.outcome"]], [20, "length"]);
      const parts = within(generation).sort((a, b) => start(a) - start(b));
      assertEquals(parts.map(({ name }) => name), ["queue", "prefill", "decode"]);
      // One follows on the other, and all of them lie in the generation, and that in the request.
      for (const [i, part] of parts.entries()) {
        assert(end(part) >= start(part));
        const before = i === 0 ? start(generation) : end(parts[i - 1]);
        assertAlmostEquals(start(part), before, 0.01);
      }
      assert(end(parts[2]) <= end(generation) + 0.01 && start(generation) >= start(root) - 2);
      assert(end(generation) <= end(root) + 1);
    }
    const refused = collector.spans.find((span) =>
      attributesOf(span)["http.response.status_code"] === 400
    );
    assert(refused !== undefined && refused.traceId !== trace);
    assertEquals(within(refused), []);
    assertMatch(refused.spanId, /^[0-9a-f]{16}$/);
    // What it says is a log, and printed once.
    const listening = /^Listening on http/;
    await until("logs", () => collector.logs.some((text) => listening.test(text)));
    assertEquals(before.match(/Listening on/g)?.length, 1);
  } finally {
    child.kill("SIGTERM");
    await output.rest();
    assertEquals((await child.status).code, 0);
  }
});

Deno.test("without OTEL_DENO nothing is exported", async () => {
  await using collector = new Collector();
  await using home = await Home.make();
  const env = { ...collector.env, OTEL_DENO: "false" };
  const { child, output, url } = await startServe(home, [
    "--model",
    await home.longModel(),
    "--port",
    "0",
    "--ctx",
    "512",
  ], env);
  const body = JSON.stringify({ prompt: "hello", max_tokens: 2 });
  await (await fetch(`${url}/v1/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
  })).text();
  child.kill("SIGTERM");
  await output.rest();
  assertEquals((await child.status).code, 0);
  assertEquals([collector.spans, collector.logs], [[], []]);
});
