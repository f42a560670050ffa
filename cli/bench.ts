import { type Gguf, readGguf } from "../engine/gguf/reader.ts";
import type { Engine } from "../engine/mod.ts";
import { type Command, command, flag, option, type OptionValues } from "./command.ts";
import { formatBytes, formatTable } from "./format.ts";
import { loadModel, MODEL_ARGUMENT, MODEL_OPTIONS } from "./model_options.ts";
import { Progress } from "./progress.ts";
import { type Statistics, statistics } from "./statistics.ts";
import { write } from "./terminal.ts";
import { integer } from "./values.ts";

const OPTIONS = {
  "prompt-tokens": option(integer(1), "Tokens of the prompt that prefill is timed with", {
    default: 512,
  }),
  "decode-tokens": option(integer(2), "Tokens that decode is timed with", { default: 128 }),
  repetitions: option(integer(1, 1000), "How often each is timed, after one run to warm up", {
    default: 5,
  }),
  json: flag("Write a JSON object"),
  ...MODEL_OPTIONS,
};

/** `m40 bench MODEL`. */
export const bench: Command = command({
  name: "bench",
  summary: "Measure how fast a model runs here",
  description:
    "Prefill: a prompt of random tokens until the first token of the answer. Decode: the tokens after the " +
    "first, one by one, of an answer to one token. Mean and standard deviation over the repetitions.",
  arguments: [MODEL_ARGUMENT],
  options: OPTIONS,
  examples: [
    { line: "m40 bench demo", about: "Tokens per second" },
    { line: "m40 bench demo --threads 4 --repetitions 10 --json", about: "For a script" },
  ],
  async run([model], options) {
    const { engine, stored } = await loadModel(model, options);
    try {
      const decodeBytes = bytesPerToken(await readGguf(stored.path));
      const result = { ...await measure(engine, options), decodeBytes };
      write(options.json ? JSON.stringify(asJson(engine, result)) + "\n" : asText(engine, result));
    } finally {
      await engine.close();
    }
  },
});

/** Durations of one kind of work. */
interface Timing {
  readonly tokens: number;
  /** One for each repetition, in milliseconds. */
  readonly milliseconds: readonly number[];
}

interface Result {
  readonly prefill: Timing;
  readonly decode: Timing;
  /** Bytes of weights that decode reads for a token. */
  readonly decodeBytes: number;
}

async function measure(
  engine: Engine,
  options: OptionValues<typeof OPTIONS>,
): Promise<Omit<Result, "decodeBytes">> {
  using progress = new Progress("measuring");
  const { repetitions } = options;
  // What the context has no room for is not measured; the result says how many tokens were.
  const promptTokens = Math.min(options["prompt-tokens"], engine.contextTokens - 1);
  const decodeTokens = Math.min(options["decode-tokens"], engine.contextTokens - 1);
  const prefill: number[] = [];
  const decode: number[] = [];
  let timed = 0;
  for (let repetition = 0; repetition <= repetitions; repetition++) {
    progress.update(repetition, repetitions + 1);
    const prompt = randomTokens(engine, promptTokens, repetition);
    const answer = await time(engine, prompt, 1);
    const story = await time(engine, prompt.slice(0, 1), decodeTokens);
    timed = story.tokens - 1;
    if (repetition === 0) continue;
    prefill.push(answer.first);
    decode.push(story.last - story.first);
  }
  return {
    prefill: { tokens: promptTokens, milliseconds: prefill },
    decode: { tokens: timed, milliseconds: decode },
  };
}

/** Milliseconds from the request to the first and to the last token. */
async function time(
  engine: Engine,
  prompt: readonly number[],
  maxTokens: number,
): Promise<{ first: number; last: number; tokens: number }> {
  // Random text ends soon; without its end tokens the answer is as long as was asked for.
  const logitBias = new Map([...engine.tokenizer.endTokens].map((token) => [token, -100]));
  const start = performance.now();
  let first = 0;
  let last = 0;
  let tokens = 0;
  const sampling = { temperature: 0, logitBias };
  for await (const chunk of engine.generate({ prompt, maxTokens, sampling })) {
    if (chunk.tokens.length === 0) continue;
    last = performance.now() - start;
    if (tokens === 0) first = last;
    tokens += chunk.tokens.length;
  }
  return { first, last, tokens };
}

/** Tokens drawn by a fixed generator (Numerical Recipes' LCG), the same in every run of the program. */
function randomTokens(engine: Engine, count: number, seed: number): number[] {
  const { tokenizer } = engine;
  const tokens: number[] = [];
  let state = seed >>> 0;
  for (let tries = 0; tokens.length < count; tries++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const token = Math.floor(state / 2 ** 32 * tokenizer.vocabSize);
    // A vocabulary of control tokens alone has nothing better.
    if (!tokenizer.isControl(token) || tries > 100 * count) tokens.push(token);
  }
  return tokens;
}

/** Tokens per second over the repetitions. */
function rate({ tokens, milliseconds }: Timing): Statistics {
  return statistics(milliseconds.map((duration) => tokens / duration * 1000));
}

function asText(engine: Engine, result: Result): string {
  const { device, model, plan } = engine;
  const rows = (["prefill", "decode"] as const).map((name) => {
    const timing = result[name];
    const speed = rate(timing);
    const duration = statistics(timing.milliseconds);
    return [
      name,
      String(timing.tokens),
      `${speed.mean.toFixed(1)} ± ${speed.deviation.toFixed(1)}`,
      `${duration.mean.toFixed(1)} ± ${duration.deviation.toFixed(1)}`,
      (duration.mean / timing.tokens).toFixed(3),
    ];
  });
  return `${model.name} (${model.architecture}, ${model.quantisation}, ${
    formatBytes(plan.weightBytes)
  } of weights) on ${device.name} (${describeDevice(engine)})\n` +
    formatTable(
      [["", "tokens", "tokens/s", "ms", "ms/token"], ...rows],
      [1, 2, 3, 4],
    ) +
    `weights read in decode: ${(weightRate(result) / 1e9).toFixed(2)} GB/s\n`;
}

function describeDevice({ device }: Engine): string {
  return [
    device.backend,
    ...(device.instructionSet ? [device.instructionSet] : []),
    ...(device.threads ? [`${device.threads} threads`] : []),
  ].join(", ");
}

/**
 * Bytes of weights that a token of a dense model reads, as in the file: all of them, but of the
 * embeddings only a row, unless they are the output's weights as well.
 */
function bytesPerToken({ tensors }: Gguf): number {
  let bytes = 0;
  for (const { name, bytes: size, shape } of tensors.values()) {
    const isTable = name === "token_embd.weight" && tensors.has("output.weight");
    bytes += isTable ? size / shape[1] : size;
  }
  return bytes;
}

/** Bytes of weights that decode read per second. */
function weightRate({ decode, decodeBytes }: Result): number {
  return rate(decode).mean * decodeBytes;
}

function asJson(engine: Engine, result: Result): unknown {
  const { device, model, plan } = engine;
  const timing = (name: "prefill" | "decode") => {
    const speed = rate(result[name]);
    const duration = statistics(result[name].milliseconds);
    return {
      tokens: result[name].tokens,
      tokens_per_second: speed.mean,
      tokens_per_second_deviation: speed.deviation,
      milliseconds: duration.mean,
      milliseconds_deviation: duration.deviation,
    };
  };
  return {
    model: model.name,
    architecture: model.architecture,
    quantisation: model.quantisation,
    parameters: model.parameters,
    weight_bytes: plan.weightBytes,
    context_tokens: engine.contextTokens,
    kv_type: plan.kvType,
    device: {
      backend: device.backend,
      name: device.name,
      instruction_set: device.instructionSet,
      threads: device.threads,
      memory_bytes: device.memoryBytes,
    },
    repetitions: result.decode.milliseconds.length,
    prefill: timing("prefill"),
    decode: timing("decode"),
    decode_bytes_per_token: result.decodeBytes,
    decode_weight_bytes_per_second: weightRate(result),
  };
}
