import { assert, assertEquals } from "@std/assert";
import { startServer, type TestServer } from "./server_fixture.ts";

// More cases: M40_FUZZ_CASES=1000000. Others: M40_FUZZ_SEED=2. A failure prints its body.
const CASES = Number(Deno.env.get("M40_FUZZ_CASES") ?? 4000);
const SEED = Number(Deno.env.get("M40_FUZZ_SEED") ?? 1);
/** Requests that are under way at the same time. */
const CLIENTS = 8;

type Random = (below: number) => number;

/** A counted random number generator (mulberry32): the seed says all. */
function generator(seed: number): Random {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor(((t ^ (t >>> 14)) >>> 0) / 0x100000000 * below);
  };
}

type Body = Record<string, unknown>;

/** Bodies that are right, with every field between them. */
const SEEDLINGS: readonly [path: string, body: Body][] = [
  ["/v1/completions", { model: "golden", prompt: "Hello", max_tokens: 3 }],
  ["/v1/completions", {
    model: "golden",
    prompt: ["Hello", "World"],
    max_tokens: 2,
    n: 2,
    best_of: 2,
    seed: 5,
    stream: true,
    stream_options: { include_usage: true },
  }],
  ["/v1/completions", {
    model: "golden",
    prompt: [1, 5, 9],
    max_tokens: 3,
    temperature: 0.8,
    top_p: 0.9,
    top_k: 40,
    min_p: 0.05,
    repetition_penalty: 1.1,
    frequency_penalty: 0.5,
    presence_penalty: -0.5,
    logit_bias: { "7": 5, "300": -100 },
    logprobs: 5,
    stop: ["\n", "é"],
  }],
  ["/v1/completions", {
    prompt: [[1, 5], [1, 9]],
    max_tokens: 2,
    echo: true,
    suffix: null,
    user: "me",
    stop: "x",
  }],
  ["/v1/completions", {
    model: "golden",
    prompt: "Hello",
    max_tokens: 0,
    echo: true,
    logprobs: 2,
    parse_special: false,
    best_of: 3,
    ignore_eos: true,
    min_tokens: 0,
  }],
  ["/v1/completions", {
    model: "golden",
    prompt: "Hello",
    max_tokens: 3,
    typical_p: 0.9,
    repeat_last_n: 8,
    dry_multiplier: 1,
    dry_base: 1.5,
    dry_allowed_length: 1,
    dry_penalty_last_n: 16,
    dry_sequence_breakers: ["\n"],
    xtc_probability: 0.5,
    xtc_threshold: 0.1,
    dynatemp_range: 0.5,
    dynatemp_exponent: 1.2,
    mirostat: 2,
    mirostat_tau: 4,
    mirostat_eta: 0.2,
  }],
  ["/v1/chat/completions", {
    model: "golden",
    messages: [
      { role: "system", content: "a" },
      { role: "user", content: [{ type: "text", text: "b" }], name: "c" },
      { role: "assistant", content: "d", reasoning_content: "e" },
    ],
    max_completion_tokens: 3,
    continue_final_message: true,
    logprobs: true,
    top_logprobs: 2,
    n: 2,
  }],
  ["/v1/chat/completions", {
    model: "golden",
    messages: [{ role: "user", content: "b" }],
    max_tokens: 3,
    stream: true,
    stream_options: { include_usage: true },
    chat_template_kwargs: { enable_thinking: true },
    reasoning_effort: "low",
    reasoning_budget: 1,
    tools: [],
    tool_choice: "none",
    response_format: { type: "text" },
    structured_outputs: { grammar: "root ::= [a-z]+ | .{2}", regex: null },
    metadata: { a: "b" },
    add_generation_prompt: true,
  }],
  ["/infill", {
    input_prefix: "a",
    input_suffix: "b",
    input_extra: [{ filename: "c", text: "d" }],
  }],
  ["/tokenize", { content: "Hello é", add_special: true, parse_special: true, with_pieces: true }],
  ["/detokenize", { tokens: [1, 5, 300] }],
  ["/apply-template", { messages: [{ role: "user", content: "b" }] }],
  ["/v1/generate", { prompt: "Hello é 世界", max_tokens: 3, regex: "[a-c]{2,}(x|é)*" }],
  ["/v1/completions", { prompt: "a", max_tokens: 3, grammar: 'root ::= "a" | [^b-d]{2,3}' }],
  ["/v1/completions", { prompt: "a", max_tokens: 3, guided_choice: ["yes", "no"] }],
  ["/v1/generate", { model: "golden", prompt: [1, 2, 3], max_tokens: 3, stream: true, seed: 1 }],
];

const FIELDS = [...new Set(SEEDLINGS.flatMap(([, body]) => Object.keys(body)))];

/** Values that have broken programs before. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  1,
  -1,
  2,
  5,
  16,
  0.5,
  1e-320,
  1e308,
  -1e308,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  2 ** 63,
  2 ** 64,
  "",
  " ",
  "a",
  "0",
  "\u0000",
  "\ud800",
  "\udc00\ud800",
  "\ufeff",
  "<s>",
  "</s><unk><0x0A>",
  "e\u0301👩‍👩‍👧",
  "x".repeat(3000),
  "__proto__",
  { role: "user", content: "a" },
  [{ role: "user", content: "a" }],
  [{ role: "assistant", content: null }],
  [{ role: "tool", content: [{ type: "text", text: "a" }] }],
  [{ role: "user", content: [{ type: "image_url", image_url: {} }] }],
  [{ role: "user", content: "{{ 1 / 0 }}{% for %}" }],
  [],
  [[]],
  [null],
  [""],
  [0],
  [[0]],
  [1e9],
  [-1],
  ["a", "b", "c"],
  Array(300).fill(1),
  Array(20).fill("a"),
  {},
  { a: 1 },
  { "0": 100 },
  { "-1": 1 },
  { "1e3": 1 },
  { "99999999999": 1 },
  { include_usage: true },
  { length: 3 },
  { toString: 1, valueOf: null, then: 1, constructor: {} },
];

/** A body with some of its values changed. */
function mutateValues(body: Body, random: Random): string {
  const copy = structuredClone(body);
  const pick = <T>(list: readonly T[]) => list[random(list.length)];
  for (let changes = 1 + random(3); changes > 0; changes--) {
    const field = random(4) === 0 ? pick(FIELDS) : pick(Object.keys(body));
    const kind = random(8);
    if (kind === 0) delete copy[field];
    else if (kind === 1) copy[field] = [copy[field]];
    else if (kind === 2) copy[field] = { [field]: copy[field] };
    else if (kind === 3) copy[field] = [copy[field], pick(VALUES)];
    else copy[field] = pick(VALUES);
  }
  const text = JSON.stringify(copy);
  if (random(20) === 0) return text.replace("{", '{"__proto__":{"prompt":"a"},');
  // Numbers that JSON.stringify() never writes.
  if (random(20) === 0) return text.replace(/\d+/, pick(["1e999", "-1e999", "1E-999", "0.1e1"]));
  return text;
}

/** A body's bytes with some of them changed. */
function mutateBytes(body: Body, random: Random): Uint8Array<ArrayBuffer> {
  let bytes = new TextEncoder().encode(JSON.stringify(body));
  const special = new TextEncoder().encode('{}[]":,\\0-.eE truefalsn\n');
  for (let changes = 1 + random(3); changes > 0; changes--) {
    const at = random(bytes.length + 1);
    const byte = random(2) === 0 ? random(256) : special[random(special.length)];
    const until = Math.min(bytes.length, at + random(12));
    switch (random(5)) {
      case 0:
        bytes[Math.min(at, bytes.length - 1)] = byte;
        break;
      case 1:
        bytes = new Uint8Array([...bytes.subarray(0, at), byte, ...bytes.subarray(at)]);
        break;
      case 2:
        bytes = new Uint8Array([...bytes.subarray(0, at), ...bytes.subarray(until)]);
        break;
      case 3:
        bytes = bytes.slice(0, at);
        break;
      case 4:
        bytes = new Uint8Array([...bytes.subarray(0, until), ...bytes.subarray(at)]);
        break;
    }
    if (bytes.length === 0) break;
  }
  return bytes;
}

/** Sends a body and checks that the answer is one that a client can live with. */
async function check(
  server: TestServer,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
): Promise<number> {
  // Not a measure of speed: an answer that never comes is a failure and not a test that hangs.
  const signal = AbortSignal.timeout(120_000);
  const response = await server.post(path, "", { body, signal });
  const text = await response.text();
  const { status } = response;
  if (status === 200) {
    if (response.headers.get("content-type") === "text/event-stream") {
      assert(text.endsWith("data: [DONE]\n\n"), text);
      assert(!text.includes('"error"'), text);
    } else {
      JSON.parse(text);
    }
    return status;
  }
  assert([400, 404, 429].includes(status), `${status}: ${text}`);
  const { error } = JSON.parse(text);
  assertEquals(Object.keys(error), ["message", "type", "param", "code"]);
  assert(error.message.length < 1000, "an error is short whatever was sent");
  return status;
}

Deno.test(`fuzz: ${CASES} mutated bodies are answered with 2xx or 4xx in OpenAI's shape`, async () => {
  const template = "{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}" +
    "{% if enable_thinking %}<think>{% endif %}";
  await using server = await startServer({ engine: { chatTemplate: template } });
  const counts = new Map<number, number>();
  let next = 0;
  const client = async () => {
    while (next < CASES) {
      const seed = SEED + next++;
      const random = generator(seed);
      const [path, seedling] = SEEDLINGS[random(SEEDLINGS.length)];
      const body = random(2) === 0 ? mutateValues(seedling, random) : mutateBytes(seedling, random);
      try {
        const status = await check(server, path, body);
        counts.set(status, (counts.get(status) ?? 0) + 1);
      } catch (error) {
        const text = typeof body === "string" ? body : new TextDecoder().decode(body);
        console.error(`seed ${seed}, ${path}:`, text);
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  // Otherwise the mutations test nothing.
  if (CASES >= 1000) {
    for (const status of [200, 400, 404]) {
      assert((counts.get(status) ?? 0) > 10, `${status}: ${counts.get(status)}`);
    }
  }
  const { running, waiting, failed } = server.engine.status();
  assertEquals({ running, waiting, failed }, { running: 0, waiting: 0, failed: undefined });
  const response = await server.post("/v1/generate", { prompt: "Hello", max_tokens: 3 });
  assertEquals(response.status, 200, await response.text());
});
