import { assert, assertEquals, assertMatch } from "@std/assert";
import { RunTime, StepRate, tokensPerSecond } from "../../server/metrics/rates.ts";
import {
  answerOf,
  MODEL,
  NO_END,
  openRequest,
  readEvents,
  startServer,
} from "../fixtures/server_fixture.ts";
import { until } from "../fixtures/waiting.ts";

/** A page of metrics: values by name and labels, and types by name. Fails for what is not the format. */
/** Metrics of the server as a whole, which are of no model. */
const OF_THE_SERVER = /^(m40_http_|m40_model|process_)/;

function parseMetrics(text: string) {
  const values = new Map<string, number>();
  const types = new Map<string, string>();
  assert(text.endsWith("\n"));
  for (const line of text.split("\n").filter((line) => line !== "")) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line);
    if (comment) {
      if (comment[1] === "TYPE") types.set(comment[2], comment[3]);
      continue;
    }
    const sample = /^([a-zA-Z_:][\w:]*)(?:\{([^{}]*)\})? (\S+)$/.exec(line);
    assert(sample !== null, line);
    const [, name, labels = "", value] = sample;
    const named = /(^|,)model_name="golden"(,|$)/.test(labels);
    assertEquals(named, !OF_THE_SERVER.test(name), line);
    // vLLM's have the number of the engine too.
    assertEquals(/(^|,)engine="0"(,|$)/.test(labels), name.startsWith("vllm:"), line);
    assert(Number.isFinite(Number(value)), line);
    assert(types.has(name) || types.has(name.replace(/_(bucket|sum|count)$/, "")), line);
    const common = [`model_name="${MODEL}"`, 'engine="0"'];
    const others = labels.split(",").filter((label) => label !== "" && !common.includes(label));
    const key = others.length === 0 ? name : `${name}{${others.join()}}`;
    assert(!values.has(key), `${key} is there twice`);
    values.set(key, Number(value));
  }
  return { values, types };
}

Deno.test("GET /metrics counts requests and tokens, under m40's names and vLLM's", async () => {
  await using server = await startServer({ engine: { parallel: 2 } });
  const metrics = async () => {
    const response = await fetch(server.url + "/metrics");
    assertEquals(response.status, 200);
    assertMatch(response.headers.get("content-type")!, /^text\/plain; version=0\.0\.4/);
    return parseMetrics(await response.text());
  };
  const before = (await metrics()).values;
  for (const name of ["m40_requests_total", "m40_generation_tokens_total"]) {
    assertEquals(before.get(name === "m40_requests_total" ? `${name}{outcome="stop"}` : name), 0);
  }
  // 64 tokens of prompt, of which the second request finds two pages less one token.
  const prompt = Array.from({ length: 65 }, (_, i) => 30 + i);
  for (const stream of [false, true]) {
    const body = { prompt, max_tokens: 10, ...NO_END, stream };
    const response = await server.post("/v1/completions", body);
    if (stream) await readEvents(response);
    else await response.json();
  }
  const ask = async (more: Record<string, unknown>) => {
    const body = { prompt, max_tokens: 10, ...NO_END, ...more };
    return await answerOf(server, "/v1/completions", body);
  };
  const { text } = (await ask({})).choices[0];
  // Ended by a stop string, before as many tokens are sampled as were asked for.
  const stopped = await ask({ stop: [[...text].find((character) => character !== "\uFFFD")] });
  assertEquals(stopped.choices[0].finish_reason, "stop");
  const stoppedTokens = stopped.usage.completion_tokens;
  await (await server.post("/v1/completions", { prompt: 7 })).body?.cancel();
  const { values, types } = await metrics();
  const expected: Record<string, number> = {
    'm40_requests_total{outcome="length"}': 3,
    'm40_requests_total{outcome="stop"}': 1,
    'm40_requests_total{outcome="cancelled"}': 0,
    'vllm:request_success_total{finished_reason="length"}': 3,
    'vllm:request_success_total{finished_reason="stop"}': 1,
    'vllm:request_success_total{finished_reason="abort"}': 0,
    'm40_http_responses_total{status="400"}': 1,
    "m40_prompt_tokens_computed_total": 65 + 3 * 1,
    "m40_prompt_tokens_total": 4 * 65,
    "vllm:prompt_tokens_total": 4 * 65,
    "vllm:prompt_tokens_cached_total": 3 * 64,
    "vllm:prefix_cache_queries_total": 4 * 65,
    "vllm:prefix_cache_hits_total": 3 * 64,
    "vllm:num_requests_running": 0,
    "vllm:num_requests_waiting": 0,
    "vllm:kv_cache_usage_perc": 0,
    "vllm:gpu_cache_usage_perc": 0,
    "vllm:num_preemptions_total": 0,
    "m40_device_failed": 0,
    "vllm:time_to_first_token_seconds_count": 4,
    "vllm:e2e_request_latency_seconds_count": 4,
    "vllm:request_queue_time_seconds_count": 4,
    "vllm:request_inference_time_seconds_count": 4,
    "vllm:request_prefill_time_seconds_count": 4,
    "vllm:request_decode_time_seconds_count": 4,
    "vllm:request_params_max_tokens_sum": 4 * 10,
    "vllm:request_prompt_tokens_sum": 4 * 65,
    "vllm:request_generation_tokens_sum": 3 * 10 + stoppedTokens,
    // Between ten tokens there are nine times.
    "vllm:inter_token_latency_seconds_count": 3 * 9 + stoppedTokens - 1,
    "vllm:time_per_output_token_seconds_count": 3 * 9 + stoppedTokens - 1,
    "m40_request_token_seconds_count": stoppedTokens > 1 ? 4 : 3,
    'vllm:time_to_first_token_seconds_bucket{le="+Inf"}': 4,
  };
  for (const [name, value] of Object.entries(expected)) {
    assertEquals(values.get(name), value, name);
  }
  // Steps that ran until the stop string was met have sampled tokens more: how many, the machine decides.
  const sampled = values.get("vllm:generation_tokens_total")!;
  assert(sampled >= 30 + stoppedTokens && sampled <= 40, String(sampled));
  const steps = values.get("m40_steps_total")!;
  assertEquals(values.get("m40_step_seconds_count"), steps);
  assertEquals(values.get("vllm:iteration_tokens_total_count"), steps);
  assert(values.get("m40_step_gap_seconds_count")! < steps);
  assert(values.get("vllm:e2e_request_latency_seconds_sum")! > 0);
  const memory = ["total", "used", "free"].map((part) =>
    values.get(`m40_device_memory_${part}_bytes`)!
  );
  assert(memory[0] > memory[1] && memory[1] > 0 && memory[2] > 0, String(memory));
  // What is not known of the device is absent, and not 0.
  assertEquals(types.get("m40_device_temperature_celsius"), "gauge");
  assertEquals(values.get("m40_device_temperature_celsius"), undefined);
  const { weightBytes } = server.engine.plan;
  assertEquals(values.get('m40_memory_bytes{part="weights"}'), weightBytes);
  assertEquals(types.get("vllm:num_requests_running"), "gauge");
  assertEquals(types.get("vllm:prompt_tokens_total"), "counter");
  assertEquals(types.get("vllm:time_to_first_token_seconds"), "histogram");
  const pages = server.engine.status().kvBlocks;
  const info = [...values.keys()].find((name) => name.startsWith("vllm:cache_config_info"));
  assert(info?.includes(`block_size="32"`) && info.includes(`num_gpu_blocks="${pages}"`), info);
});

Deno.test("GET /metrics and GET /slots show what runs and what waits, and what they hold", async () => {
  await using server = await startServer({ contextLength: 65_536 });
  const body = { prompt: "Hello", max_tokens: 60_000, ...NO_END, stream: true };
  const first = await openRequest(server.port, "/v1/completions", body);
  await until("one runs", () => server.engine.slots()[0]?.state === "decoding");
  const second = await openRequest(server.port, "/v1/completions", body);
  await until("one waits", () => server.engine.status().waiting === 1);
  const { values } = parseMetrics(await (await fetch(server.url + "/metrics")).text());
  assertEquals(values.get("vllm:num_requests_running"), 1);
  assertEquals(values.get("m40_requests_waiting"), 1);
  // The first token of the one that runs is counted, though the request has not ended.
  assertEquals(values.get("vllm:time_to_first_token_seconds_count"), 1);
  assertEquals(values.get("vllm:e2e_request_latency_seconds_count"), 0);
  assert(values.get("vllm:kv_cache_usage_perc")! > 0);
  const slots = await (await fetch(server.url + "/slots")).json();
  assertEquals([slots.model, slots.running, slots.waiting, slots.draining], [MODEL, 1, 1, false]);
  assertEquals(slots.kv_pages, server.engine.status().kvBlocks);
  const [running, waiting] = slots.slots;
  assertEquals([running.id, running.state], [0, "decoding"]);
  assert(running.generated_tokens > 0 && running.pages > 0 && running.age_seconds > 0);
  assertEquals(running.computed_tokens, running.prompt_tokens + running.generated_tokens - 1);
  const { age_seconds, ...rest } = waiting;
  assert(age_seconds <= running.age_seconds);
  assertEquals(rest, {
    id: 1,
    model: MODEL,
    state: "waiting",
    prompt_tokens: running.prompt_tokens,
    computed_tokens: 0,
    generated_tokens: 0,
    pages: 0,
  });
  first.close();
  second.close();
  await until("the engine is free", () => {
    const { running, waiting } = server.engine.status();
    return running + waiting === 0;
  });
  const after = parseMetrics(await (await fetch(server.url + "/metrics")).text()).values;
  assertEquals(after.get('m40_requests_total{outcome="cancelled"}'), 2);
  assertEquals(after.get('vllm:request_success_total{finished_reason="abort"}'), 2);
});

Deno.test("a model's name with quotes and line breaks does not spoil the metrics", async () => {
  await using server = await startServer({ app: { modelName: 'a"b\nc\\d' } });
  const text = await (await fetch(server.url + "/metrics")).text();
  const labels = 'model_name="a\\"b\\nc\\\\d",engine="0"';
  assert(text.includes(`vllm:num_requests_running{${labels}} 0\n`), text);
});

Deno.test("the rate of tokens counts the last seconds only, and is 0 when nothing runs any more", () => {
  let now = 5_000_300;
  const rates = [new StepRate(), new StepRate()];
  assertEquals(tokensPerSecond([], now), 0);
  assertEquals(tokensPerSecond(rates, now), 0);
  for (let i = 0; i < 200; i++) {
    rates[i % 2].step({ promptTokens: 1, decodeTokens: 3 }, now);
    now += 100;
  }
  // 30 tokens a second; the second that has just started is not whole.
  const whole = tokensPerSecond(rates, now);
  assert(Math.abs(whole - 30) < 3.5, String(whole));
  now += 5000;
  const half = tokensPerSecond(rates, now);
  assert(half > 10 && half < 20, String(half));
  now += 1_000_000;
  assertEquals(tokensPerSecond(rates, now), 0);
});

Deno.test("Retry-After grows with the queue and with what a request takes, from 1 s to 60 s", () => {
  const rate = new RunTime();
  assertEquals(rate.retryAfterSeconds({ running: 4, waiting: 64 }), 1);
  for (let i = 0; i < 100; i++) rate.add({ totalMs: 5000, queueMs: 3000 });
  // Two seconds each, four at a time: 32 of 64 have been admitted after 16 s.
  assertEquals(rate.retryAfterSeconds({ running: 4, waiting: 64 }), 16);
  assertEquals(rate.retryAfterSeconds({ running: 4, waiting: 8 }), 2);
  assertEquals(rate.retryAfterSeconds({ running: 4, waiting: 0 }), 1);
  assertEquals(rate.retryAfterSeconds({ running: 1, waiting: 1000 }), 60);
  // A request that never ran says nothing of how long running takes.
  for (let i = 0; i < 100; i++) rate.add({ totalMs: 0 });
  assertEquals(rate.retryAfterSeconds({ running: 4, waiting: 64 }), 16);
});
