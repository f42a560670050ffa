import type { StepSequence } from "../engine/device/step_block.ts";
import type { StepOutput } from "../engine/device/step_result.ts";
import { GREEDY, type StepSampling } from "../engine/device/step_sampling.ts";
import type { Engine } from "../engine/mod.ts";
import { Replica } from "../engine/replica.ts";
import { RowTimes } from "../engine/scheduler/steps/row_times.ts";

/** Rows that a GPU computes together, and what each group of them but the first adds to a step, as a share of it. */
const GROUP_ROWS = 8;
const GROUP_SHARE = 0.25;

const libc = Deno.dlopen("libc.so.6", {
  usleep: { parameters: ["u32"], result: "i32", nonblocking: true },
});

/**
 * How long steps take by their rows: milliseconds of up to 8, 16, 24, ... of them. Groups of eight beyond those given
 * take as much more as the last of them did, or a quarter of the first where there is one alone.
 */
export type StepTimes = readonly [number, ...number[]];

/**
 * Step times as a command line gives them: "23,44,72,75".
 *
 * @throws {Error} Where that is no list of numbers above 0.
 */
export function parseStepTimes(text: string): StepTimes {
  const times = text.split(",").map(Number);
  if (!times.every((ms) => ms > 0 && ms < Infinity)) {
    throw new Error(
      `--step-ms ${text}: wanted milliseconds above 0 of steps of up to 8, 16, 24, ... rows, as in 23,44,72,75`,
    );
  }
  return times as unknown as StepTimes;
}

/**
 * Has an engine's steps and runs take as long as a GPU's do. Nothing is computed. Any allowed token is equally likely,
 * and depends on seed and position alone. The rest of the processor, between and during steps, is what a GPU of that
 * speed would wait for.
 */
export function paceDevice(engine: Engine, times: StepTimes): void {
  const { vocabSize } = engine.model;
  const copies = engine["copies"];
  const replicas = copies instanceof Replica ? [copies] : copies["there"];
  for (const replica of replicas) paceReplica(replica, times, vocabSize);
}

function paceReplica({ scheduler, placed }: Replica, times: StepTimes, vocabSize: number): void {
  Object.assign(scheduler["options"], { rowTimes: new RowTimes() });
  const { scheduled } = placed;
  scheduled.step = async (sequences) => {
    const started = performance.now();
    const outputs = sequences.flatMap((one) => outputsOf(one, vocabSize));
    const rows = sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
    await sleepUntil(started + msOf(times, rows));
    return { outputs };
  };
  if (scheduled.run === undefined) return;
  scheduled.run = (sequences, steps, limits, take) => {
    let stops = false;
    const work = async () => {
      const over = sequences.map(() => false);
      let end = performance.now();
      for (let step = 0; step < steps && !stops && over.includes(false); step++) {
        await sleepUntil(end += msOf(times, sequences.length));
        take(sequences.map((one, i) => {
          if (over[i]) return undefined;
          const [output] = outputsOf(one, vocabSize, step);
          const { tokens, endTokens } = limits[i];
          over[i] = step + 1 === tokens || endTokens.has(output.sample!.token);
          return output;
        }));
      }
    };
    return { over: work(), stop: () => stops = true };
  };
  scheduled.wantsSteps = () => false;
}

function msOf(times: StepTimes, rows: number): number {
  const groups = Math.ceil(rows / GROUP_ROWS);
  if (groups <= times.length) return times[groups - 1];
  const [last, before = last * (1 - GROUP_SHARE)] = times.toReversed();
  return last + (groups - times.length) * (last - before);
}

async function sleepUntil(end: number): Promise<void> {
  await libc.symbols.usleep(Math.max(0, Math.round(1000 * (end - performance.now()))));
}

/** @param step The step of a run that it is. */
function outputsOf({ outputs }: StepSequence, vocabSize: number, step = 0): StepOutput[] {
  return outputs.map(({ sampling = GREEDY }) => {
    const counter = sampling.counter + step;
    const token = sampledToken({ ...sampling, counter }, vocabSize);
    return { status: "ok", sample: { token, logprob: -1, top: [] } };
  });
}

function sampledToken(
  { seed, stream, counter, mask, forbidden, only }: StepSampling,
  vocabSize: number,
) {
  if (only !== undefined) return only;
  let hash = Number(seed & 0xffffffffn) ^ Math.imul(counter + 1, 0x9e3779b1) ^
    Math.imul(stream + 1, 0x85ebca77);
  for (let i = 0; i < 3; i++) {
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  }
  const share = (hash >>> 0) / 2 ** 32;
  if (mask !== undefined) return nth(mask, share);
  let token = Math.floor(share * vocabSize);
  while (forbidden?.has(token)) token = (token + 1) % vocabSize;
  return token;
}

/** The token that stands at a share of a mask's. */
function nth(mask: Uint32Array, share: number): number {
  let left = Math.floor(share * mask.reduce((sum, word) => sum + bitsIn(word), 0));
  for (let i = 0; i < mask.length; i++) {
    const here = bitsIn(mask[i]);
    if (left >= here) {
      left -= here;
      continue;
    }
    let word = mask[i];
    while (left-- > 0) word &= word - 1;
    return 32 * i + 31 - Math.clz32(word & -word);
  }
  throw new Error("a mask allows nothing");
}

function bitsIn(word: number): number {
  word -= (word >>> 1) & 0x55555555;
  word = (word & 0x33333333) + ((word >>> 2) & 0x33333333);
  return Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
