import type { StepSequence } from "../engine/device/step_block.ts";
import type { StepOutput } from "../engine/device/step_result.ts";
import { GREEDY, type StepSampling } from "../engine/device/step_sampling.ts";
import type { Engine } from "../engine/mod.ts";
import { RowTimes } from "../engine/scheduler/row_times.ts";

/** Rows that a GPU computes together, and what each group of them but the first adds to a step, as a share of it. */
const GROUP_ROWS = 8;
const GROUP_SHARE = 0.25;

const libc = Deno.dlopen("libc.so.6", {
  usleep: { parameters: ["u32"], result: "i32", nonblocking: true },
});

/**
 * Has an engine's steps take as long as a GPU's do: nothing is computed, any allowed token is as likely as the others,
 * and it is the seed's and the place's whatever else is in the step. What is left of the processor, between steps and
 * beside them, is what a GPU of that speed would wait for.
 *
 * @param stepMs Milliseconds of a step of up to eight rows.
 */
export function paceDevice(engine: Engine, stepMs: number): void {
  const { vocabSize } = engine.model;
  Object.assign(engine["scheduler"]["options"], { rowTimes: new RowTimes() });
  engine["scheduled"].step = async (sequences) => {
    const begun = performance.now();
    const outputs = sequences.flatMap((one) => outputsOf(one, vocabSize));
    const rows = sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
    const ms = stepMs * (1 + GROUP_SHARE * (Math.ceil(rows / GROUP_ROWS) - 1));
    await libc.symbols.usleep(Math.max(0, Math.round(1000 * (ms - (performance.now() - begun)))));
    return { outputs };
  };
}

function outputsOf({ outputs }: StepSequence, vocabSize: number): StepOutput[] {
  return outputs.map(({ sampling = GREEDY }) => ({
    status: "ok",
    sample: { token: drawn(sampling, vocabSize), logprob: -1, top: [] },
  }));
}

function drawn({ seed, stream, counter, mask, forbidden, only }: StepSampling, vocabSize: number) {
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
