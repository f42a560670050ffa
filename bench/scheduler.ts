/**
 * What a step costs the host. 32 sequences decode on a device that does nothing, so that all the time is the
 * scheduler's own: choosing the sequences, writing the step's block, taking the tokens in and delivering them. `deno
 * run -A bench/scheduler.ts`
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { StepBlock, stepBytes, type StepSequence } from "../engine/device/step_block.ts";
import type { StepOutput, StepResult } from "../engine/device/step_result.ts";
import { Generation } from "../engine/generation/generation.ts";
import { StopStrings } from "../engine/generation/stop_strings.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import { SAMPLING_DEFAULTS, type SamplingParameters } from "../engine/sampling/parameters.ts";
import type { KvBlockGroup } from "../engine/scheduler/kv_blocks/kv_block_layout.ts";
import { KvBlockManager } from "../engine/scheduler/kv_blocks/kv_block_manager.ts";
import { Scheduler } from "../engine/scheduler/scheduler.ts";
import { Sequence } from "../engine/scheduler/sequences/sequence.ts";
import { TokenTexts } from "../engine/tokenizer/streaming_decoder.ts";
import { loadTokenizer } from "../engine/tokenizer/load.ts";

const SEQUENCES = 32;
const PROMPT_TOKENS = 512;
const SAMPLED_TOKENS = 1500;
const KV_BLOCK_TOKENS = 32;
const VOCABULARY = 32_000;
const ROUNDS = 5;
/** What a step may cost, in milliseconds. */
const TARGET_MS = 0.2;

const path = fromFileUrl(new URL("../tests/data/golden/llama.gguf", import.meta.url));
const tokenizer = loadTokenizer((await readGguf(path)).metadata);
const texts = new TokenTexts(tokenizer);
/** A token that is a whole character. */
const TOKEN = tokenizer.encode("a").at(-1)!;

/** Writes the block as the device's program does, and has sampled at once. */
class IdleDevice {
  private readonly block: StepBlock;
  private readonly output: StepOutput = {
    status: "ok",
    sample: { token: TOKEN, logprob: 0, top: [] },
  };
  /** Milliseconds of steps that decode only, and how many there were. */
  writing = 0;
  steps = 0;
  readonly copyKvBlocks = () => Promise.resolve();
  readonly save = () => Promise.resolve();
  readonly restore = () => Promise.resolve();

  constructor(kvBlocks: number, groups: number) {
    const limits = {
      n_tokens: 4096,
      n_sequences: SEQUENCES,
      n_outputs: SEQUENCES,
      n_sequence_kv_blocks: kvBlocks,
      n_vocab: VOCABULARY,
    };
    const bytes = stepBytes(limits, VOCABULARY, groups);
    this.block = new StepBlock({ ...limits, lane: 0, step_bytes: BigInt(bytes) });
  }

  step(sequences: readonly StepSequence[]): Promise<StepResult> {
    const start = performance.now();
    const outputs = this.block.write(sequences);
    this.writing += performance.now() - start;
    this.steps++;
    return Promise.resolve({ outputs: outputs.map(() => this.output) });
  }
}

/** How the sampled tokens are taken in. */
type Listening = "counted" | "text";

/** Groups of layers of a model like Gemma 3 12B. */
const WINDOWED: readonly KvBlockGroup[] = [
  { window: 0, chunk: 0 },
  ...Array.from({ length: 5 }, () => ({ window: 1024, chunk: 0 })),
];

/** The mean cost of a decoding step and of writing its block, in milliseconds. */
async function run(
  listening: Listening,
  sampling: Partial<SamplingParameters>,
  groups: readonly KvBlockGroup[] = WINDOWED.slice(0, 1),
) {
  const sequenceKvBlocks = Math.ceil((PROMPT_TOKENS + SAMPLED_TOKENS) / KV_BLOCK_TOKENS);
  const device = new IdleDevice(sequenceKvBlocks, groups.length);
  const kvBlocks = groups.length * SEQUENCES * sequenceKvBlocks;
  const kvBlockManager = new KvBlockManager(kvBlocks, KV_BLOCK_TOKENS, groups);
  const scheduler = new Scheduler(device, kvBlockManager, {
    maxRunning: SEQUENCES,
    maxWaiting: SEQUENCES,
    stepTokens: 4096,
    chunkMs: 50,
  });
  let sampled = 0;
  let start = 0;
  const parameters = { ...SAMPLING_DEFAULTS, temperature: 0.8, topP: 0.95, ...sampling };
  /** Time is taken from the first step in which all decode to the last. */
  const count = () => {
    if (++sampled !== 8 * SEQUENCES) return;
    start = performance.now();
    device.writing = device.steps = 0;
  };
  const prompts = Array.from(
    { length: SEQUENCES },
    (_, i) => Array.from({ length: PROMPT_TOKENS }, (_, at) => 3 + (i * 31 + at) % 300),
  );
  let ended: Promise<unknown>;
  if (listening === "text") {
    const services = { tokenizer, texts, queue: scheduler };
    const generations = prompts.map((prompt) => {
      const sequence = new Sequence({
        prompt,
        maxTokens: SAMPLED_TOKENS,
        sampling: parameters,
        topLogprobs: 0,
        logprobs: false,
        endTokens: tokenizer.endTokens,
      });
      return new Generation({}, sequence, undefined, new StopStrings(["\n\n"]), services);
    });
    Generation.start(generations, scheduler);
    ended = Promise.all(generations.map(async (generation) => {
      for await (const { tokens } of generation) tokens.forEach(count);
    }));
  } else {
    const sequences = prompts.map((prompt) =>
      new Sequence({
        prompt,
        maxTokens: SAMPLED_TOKENS,
        sampling: parameters,
        topLogprobs: 0,
        endTokens: new Set(),
        listener: {
          accept() {
            count();
            return true;
          },
          end() {},
        },
      })
    );
    scheduler.add(...sequences);
    ended = scheduler.idle();
  }
  await ended;
  const elapsed = performance.now() - start;
  if (sampled !== SEQUENCES * SAMPLED_TOKENS) throw new Error(`${sampled} tokens were delivered`);
  return { step: elapsed / device.steps, writing: device.writing / device.steps };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

console.log(
  `${SEQUENCES} sequences, ${PROMPT_TOKENS} tokens of prompt, ${SAMPLED_TOKENS} sampled; medians of ${ROUNDS} runs`,
);
const cases: [string, Listening, Partial<SamplingParameters>, (readonly KvBlockGroup[])?][] = [
  ["tokens counted", "counted", {}],
  ["tokens made text", "text", {}],
  ["tokens made text, repetition penalty", "text", { repetitionPenalty: 1.1 }],
  ["tokens made text, six groups of layers", "text", {}, WINDOWED],
];
for (const [name, listening, sampling, groups] of cases) {
  await run(listening, sampling, groups); // Warms up.
  const results = [];
  for (let round = 0; round < ROUNDS; round++) results.push(await run(listening, sampling, groups));
  const step = median(results.map((result) => result.step));
  const writing = median(results.map((result) => result.writing));
  console.log(
    `${name.padEnd(38)} ${(step * 1000).toFixed(0).padStart(6)} µs a step, ${
      (writing * 1000).toFixed(0)
    } µs of them for the block; target ${TARGET_MS * 1000} µs ${
      step <= TARGET_MS ? "met" : "missed"
    }`,
  );
}
