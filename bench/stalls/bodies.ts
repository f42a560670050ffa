/** Bodies, texts and fields that are long or deep. */
import {
  chat,
  completion,
  ids,
  type Input,
  MOST,
  post,
  properties,
  repeat,
  text,
  times,
  words,
} from "./input.ts";

const nested = (open: string, close: string, levels: number) =>
  `${open.repeat(levels)}1${close.repeat(levels)}`;

export const BODIES: readonly Input[] = [
  text("arrays 2 million deep", () => `{"prompt":${nested("[", "]", 2_000_000)}}`),
  text("objects 800,000 deep", () => `{"prompt":"a","metadata":${nested('{"a":', "}", 600_000)}}`),
  text("arrays 9,000 deep", () => `{"prompt":"a","json_schema":${nested("[", "]", 9000)}}`),
  text("2 million numbers in an unknown field", () => `{"prompt":"a","x":${ids(2_000_000, 1)}}`),
  text(
    "numbers with more digits than a double has",
    () =>
      `{"prompt":"a","x":${
        ids(400_000, 1.5).replaceAll("1.5", "12345678901234567")
          .slice(0, MOST - 100).replace(/,\d*$/, "")
      }]}`,
  ),
  text("400,000 keys", () => `{"prompt":"a",${times(300_000, (i) => `"k${i}":1`).join()}}`),
  text(
    "300,000 keys that are numbers",
    () => `{"prompt":"a","x":{${times(300_000, (i) => `"${300_000 - i}":1`).join()}}}`,
  ),
  text("4 MB of escapes", () => `{"prompt":"${"\\u0041".repeat(MOST / 6 - 20 | 0)}"}`),
  text("4 MB of backslashes", () => `{"prompt":"${"\\\\".repeat(MOST / 2 - 20 | 0)}"}`),
  text("4 MB of blanks", () => " ".repeat(MOST)),
  text("4 MB that end too early", () => `{"prompt":"a","x":${ids(2_000_000, 1).slice(0, -1)}`),
  text(
    "a seed of 19 digits among seeds",
    () =>
      `{"prompt":"a","seed":1234567890123456789,"x":[${
        repeat(180_000, '{"seed": 123456789}').join()
      }]}`,
  ),
];

export const TOKENS: readonly Input[] = [
  post("/detokenize", "of 10^6 ids", { tokens: repeat(1_000_000, 5) }),
  post("/detokenize", "of 2 x 10^6 ids", { tokens: repeat(2_000_000, 5) }),
  post("/detokenize", "of 10^6 ids that are none", { tokens: repeat(500_000, 999999) }),
  post("/tokenize", "of 4 MB", { content: words(MOST - 100) }),
  post("/tokenize", "of 4 MB with pieces", { content: words(MOST - 100), with_pieces: true }),
  post("/tokenize", "of 4 MB without a blank, with pieces", {
    content: "x1~".repeat(MOST / 3 - 100 | 0),
    with_pieces: true,
  }),
  post("/tokenize", "of 1 million emoji with pieces", {
    content: "👩".repeat(MOST / 4 - 100 | 0),
    with_pieces: true,
  }),
  post("/tokenize", "of 4 MB of special tokens", { content: "<s>".repeat(MOST / 3 - 100 | 0) }),
  post("/tokenize", "of 4 MB of blanks", { content: " ".repeat(MOST - 100) }),
  completion("a prompt of 4 MB", { prompt: words(MOST - 100) }),
  completion("a prompt of 10^6 ids", { prompt: repeat(1_000_000, 5) }),
  completion("a prompt of ids that are none", { prompt: repeat(500_000, 99999) }),
  completion("100,000 prompts", { prompt: repeat(100_000, "a") }),
  completion("300 prompts of 10 KB", { prompt: repeat(300, words(10_000)) }),
  post("/v1/embeddings", "of 100,000 texts", { input: repeat(100_000, "a b c") }),
  post("/v1/embeddings", "of 2,000 texts", { input: repeat(2000, words(1800)) }),
  post("/v1/embeddings", "of 4 MB", { input: words(MOST - 100) }),
  post("/api/embed", "of 4 MB, cut", { input: words(MOST - 100), truncate: true }),
  post("/api/embed", "of 2,000 texts, cut", { input: repeat(2000, words(1800)), truncate: true }),
  post("/infill", "of 4 MB", { input_prefix: words(2e6 - 100), input_suffix: words(2e6) }),
  post("/infill", "of 1,000 files", {
    input_prefix: "a",
    input_suffix: "b",
    input_extra: repeat(1000, { filename: "a", text: words(3000) }),
  }),
];

export const INFILL: readonly Input[] = [
  post("/infill", "of 4 MB, all of it a suffix", {
    input_prefix: "a",
    input_suffix: words(MOST - 200),
  }),
  post("/infill", "of 20,000 short files", {
    input_prefix: "a",
    input_suffix: "b",
    input_extra: repeat(20_000, { filename: "a", text: words(120) }),
  }),
  completion("a suffix of 4 MB", { prompt: "a", suffix: words(MOST - 200) }),
  completion("16 prompts with a suffix of 200 KB", {
    prompt: repeat(16, "a"),
    suffix: words(200_000),
  }),
  post("/api/generate", "with a suffix of 4 MB", {
    prompt: "a",
    suffix: words(MOST - 200),
    stream: false,
  }),
  post("/rerank", "of 100,000 texts", { query: "a", documents: repeat(100_000, "a b c") }),
  post("/rerank", "of 4 MB", { query: "a", documents: [words(MOST - 200)] }),
  post("/tokenize", "of 4 MB of one letter", { content: "a".repeat(MOST - 100) }),
  post("/tokenize", "of 4 MB as vLLM asks", { prompt: words(MOST - 100) }),
];

export const FIELDS: readonly Input[] = [
  completion("n of 128", { n: 128, max_tokens: 4 }),
  completion("n of 10^9", { n: 1e9 }),
  completion("logprobs of 20, n of 32, 64 tokens", {
    n: 32,
    logprobs: 20,
    max_tokens: 64,
    ignore_eos: true,
  }),
  completion("stop of 100,000 texts", { stop: repeat(100_000, "abc") }),
  completion("stop of 16 texts of 200 KB", {
    stop: times(16, (i) => `${i}` + "x".repeat(200_000)),
    max_tokens: 64,
  }),
  completion("logit_bias of 200,000 tokens", {
    logit_bias: Object.fromEntries(times(200_000, (i) => [i, 1])),
  }),
  completion("logit_bias as 200,000 pairs", {
    logit_bias: times(200_000, (i) => [i, 1]),
  }),
  completion("dry_sequence_breakers of 100,000 texts", {
    dry_multiplier: 1,
    dry_sequence_breakers: repeat(100_000, "ab"),
  }),
  completion("an unknown model of 4 MB", { model: "m".repeat(MOST - 200) }),
  completion("a wrong field of 4 MB", { temperature: "t".repeat(MOST - 200) }),
  completion("keep_alive of 3 MB of digits", { keep_alive: "1".repeat(100_000) + "x" }),
  chat("metadata of 200,000 pairs", { metadata: properties(200_000, "a") }),
  chat("a tool_choice of 4 MB", { tool_choice: "x".repeat(MOST - 300) }),
  post("/api/show", "of a name of 4 MB", { model: "m".repeat(MOST - 100) }),
  post("/api/show", "", { model: "demo", verbose: true }),
  post("/api/create", "of a template of 4 MB", {
    model: "x",
    from: "demo",
    template: "{{ x }}".repeat(MOST / 7 - 100 | 0),
  }),
  post("/api/pull", "of slashes", { model: `hf.co/a${"/".repeat(MOST - 100)}b` }),
  post("/m40/mcp/call", "of 4 MB", { name: "a", arguments: "{".repeat(MOST - 100) }),
];
