import { assert, assertEquals } from "@std/assert";
import type { StepSequence } from "../device/step_block.ts";
import type { StepOutput } from "../device/step_result.ts";
import { SAMPLING_DEFAULTS, type SamplingParameters } from "../sampling/parameters.ts";
import { KvBlockManager } from "./kv_blocks/kv_block_manager.ts";
import { RowTimes } from "./steps/row_times.ts";
import { Scheduler } from "./scheduler.ts";
import { Sequence, type SequenceOptions } from "./sequences/sequence.ts";
import { SlotManager } from "./kv_blocks/slot_manager.ts";
import { alone, END } from "../../tests/fixtures/fake_answers.ts";
import { FakeDevice } from "../../tests/fixtures/fake_device.ts";

const KV_BLOCK_TOKENS = 4;
const KV_BLOCKS = 40;
const ODDS = 1_000_000;
const PROMPT = [3, 1, 4, 1, 5, 9];

/** A step as the device was given it: rows of the sequence, and how often each token was counted. */
interface Seen {
  readonly rows: number[];
  readonly position: number;
  readonly kvBlocks: number;
  readonly counts: Record<number, number>[];
  readonly counters: number[];
  /** Everything else that an output is sampled by. */
  readonly samplings: unknown[];
  readonly states?: StepSequence["states"];
}

/** A sequence that is served alone, with drafts; and what became of it. */
async function serve(
  draft: SequenceOptions["draft"],
  maxTokens: number,
  sampling: Partial<SamplingParameters> = {},
  statusOf: FakeDevice["statusOf"] = () => "ok",
  slots?: number,
  stepMs?: (rows: number) => number,
) {
  const shape = {
    kvBlocks: KV_BLOCKS,
    kvBlockTokens: KV_BLOCK_TOKENS,
    endOdds: ODDS,
    maxRunning: 1,
    slots,
  };
  const device = new FakeDevice({ ...shape, stepTokens: 32, stepOutputs: 8 });
  device.statusOf = statusOf;
  const seen: Seen[] = [];
  const step = device.step.bind(device);
  let time = 0;
  device.step = (sequences) => {
    seen.push(describe(sequences[0]));
    time += stepMs?.(sequences[0].tokens.length) ?? 0;
    return step(sequences);
  };
  const slotManager = slots === undefined ? undefined : new SlotManager(slots);
  const kvBlockManager = new KvBlockManager(KV_BLOCKS, KV_BLOCK_TOKENS, undefined, slotManager);
  const scheduler = new Scheduler(device, kvBlockManager, {
    maxRunning: 1,
    maxWaiting: 4,
    stepTokens: 32,
    stepOutputs: 8,
    chunkMs: 50,
    rowTimes: stepMs && new RowTimes(),
    now: stepMs && (() => time),
  });
  const sampled: number[] = [];
  const ends: unknown[] = [];
  const sequence = new Sequence({
    prompt: PROMPT,
    maxTokens,
    sampling: { ...SAMPLING_DEFAULTS, seed: 1, ...sampling },
    topLogprobs: 0,
    endTokens: new Set([END]),
    listener: {
      accept: ({ token }) => sampled.push(token) > 0,
      end: (error) => void ends.push(error),
    },
    draft,
  });
  scheduler.add(sequence);
  await scheduler.idle();
  assertEquals(kvBlockManager.freeKvBlocks, KV_BLOCKS);
  assertEquals(slotManager?.free, slots);
  assertEquals(ends.length, 1);
  return { sampled, error: ends[0], seen, sequence, kvBlockManager };
}

function describe({ tokens, position, kvBlocks, outputs, states }: StepSequence): Seen {
  const sampling = outputs.map((output) => output.sampling!);
  return {
    rows: Array.from(tokens),
    position,
    states,
    kvBlocks: kvBlocks[0].length,
    counts: sampling.map(({ tokenCounts }) => Object.fromEntries(tokenCounts ?? [])),
    counters: sampling.map(({ counter }) => counter),
    samplings: sampling.map((one) => ({
      ...one,
      tokenCounts: Object.fromEntries(one.tokenCounts ?? []),
      tokenBiases: Object.fromEntries(one.tokenBiases ?? []),
    })),
  };
}

/** What is sampled without drafts. */
const expected = (maxTokens: number) => alone(PROMPT, maxTokens, ODDS);
/** The tokens that come next, the n-th of all tokens replaced by a wrong one. */
const draftUntil = (wrong: number): SequenceOptions["draft"] => (tokens, most) => {
  const first = tokens.length - PROMPT.length;
  return expected(40).slice(first, first + most)
    .map((token, i) => first + i === wrong ? token % 10 + 1 : token);
};

Deno.test("right drafts are taken in together, each with the token that comes after them", async () => {
  const { sampled, seen, error } = await serve(draftUntil(Infinity), 20);
  assertEquals(sampled, expected(20));
  assertEquals(error, undefined);
  // One after the prompt, then seven drafts and one more a step; what is left needs no more.
  assertEquals(seen.map(({ rows }) => rows.length), [6, 8, 8, 3]);
  assertEquals(seen.map(({ position }) => position), [0, 6, 14, 22]);
});

Deno.test("drafts that a step takes longer for than they are worth are tried, then left out; those that are worth it are not", async () => {
  // A device that computes four rows at a time, and takes longer for more than twice as many steps would.
  const stepMs = (rows: number) => rows <= 4 ? 10 : 25;
  const { sampled, seen } = await serve(draftUntil(Infinity), 40, {}, undefined, undefined, stepMs);
  assertEquals(sampled, expected(40));
  // Nothing is known at first; then a row alone, what is nearer to that, and what lies between.
  assertEquals(seen.slice(1).map(({ rows }) => rows.length), [8, 1, 4, 6, 5, 4, 4, 4, 3]);
});

Deno.test("what comes after a wrong draft is forgotten, and computed again from there", async () => {
  const { sampled, seen } = await serve(draftUntil(4), 12);
  assertEquals(sampled, expected(12));
  // Tokens 1 to 3 were drafted; token 4 was sampled instead of the draft.
  assertEquals(seen.map(({ position }) => position), [0, 6, 10]);
  assertEquals(seen[2].rows[0], expected(12)[4]);
});

Deno.test("a state is taken in with all drafts or none: after a wrong one, the right ones are computed again with the next", async () => {
  const { sampled, seen } = await serve(draftUntil(4), 12, {}, undefined, 6);
  assertEquals(sampled, expected(12));
  // The prompt up to its last KV block border, and the rest; after that as without states.
  assertEquals(seen.map(({ position }) => position), [0, 4, 6, 6]);
  // A token and seven drafts; that token, the three right drafts and the next one, and six drafts.
  assertEquals(seen.map(({ rows }) => rows.length), [4, 2, 8, 5 + 6]);
  assertEquals(seen[3].rows.slice(0, 5), expected(5));
  const [, , wrong, again] = seen.map(({ states }) => states!);
  assertEquals(wrong.from, again.from);
  assert(wrong.from !== wrong.to && again.from !== again.to);
});

Deno.test("where no slot is free besides a sequence's own, nothing is drafted", async () => {
  const { sampled, seen } = await serve(draftUntil(Infinity), 12, {}, undefined, 1);
  assertEquals(sampled, expected(12));
  assertEquals(seen.slice(2).every(({ rows }) => rows.length === 1), true);
});

Deno.test("KV blocks that wrong drafts needed are given back, and none of theirs is published", async () => {
  const wrong: SequenceOptions["draft"] = (tokens, most) => {
    const next = expected(40)[tokens.length - PROMPT.length];
    return Array.from({ length: most }, () => next % 10 + 1);
  };
  const { sampled, seen, kvBlockManager } = await serve(wrong, 12);
  assertEquals(sampled, expected(12));
  for (const { position, rows, kvBlocks } of seen) {
    assertEquals(kvBlocks, Math.ceil((position + rows.length) / KV_BLOCK_TOKENS));
  }
  // Of all tokens but the last, which was never computed, the full KV blocks.
  const computed = [...PROMPT, ...expected(12)].slice(0, -1);
  assertEquals(kvBlockManager.match([...computed, 0]).length, Math.floor(17 / KV_BLOCK_TOKENS));
  assertEquals(kvBlockManager.idleKvBlocks, Math.floor(17 / KV_BLOCK_TOKENS));
});

Deno.test("a draft is counted as a token where the one after it is sampled, and not when it was wrong", async () => {
  const { seen, sampled } = await serve(draftUntil(3), 10, { repetitionPenalty: 1.2 });
  assertEquals(sampled, expected(10));
  const count = (tokens: readonly number[]) => {
    const counts: Record<number, number> = {};
    for (const token of PROMPT) counts[token] = 0;
    for (const token of tokens) counts[token] = (counts[token] ?? 0) + 1;
    return counts;
  };
  for (const { position, rows, counts, counters } of seen.slice(1)) {
    const before = sampled.slice(0, position - PROMPT.length);
    rows.forEach((_, i) => {
      assertEquals(counts[i], count([...before, ...rows.slice(0, i + 1)]));
      assertEquals(counters[i], before.length + i + 1);
    });
  }
});

Deno.test("every token is sampled by what it would be sampled by without drafts: penalties, repetitions, no end", async () => {
  const samplers = {
    presencePenalty: 0.5,
    repeatLastN: 7,
    dryMultiplier: 0.8,
    dryAllowedLength: 1,
    minTokens: 11,
  };
  const samplingsOf = async (draft: SequenceOptions["draft"]) => {
    const { seen, sampled } = await serve(draft, 20, samplers);
    assertEquals(sampled, expected(20));
    return new Map(
      seen.flatMap(({ counters, samplings }) => counters.map((n, i) => [n, samplings[i]])),
    );
  };
  const without = await samplingsOf(undefined);
  assertEquals(without.size, 20);
  for (const wrong of [Infinity, 4, 13]) {
    const withDrafts = await samplingsOf(draftUntil(wrong));
    for (const [counter, sampling] of without) assertEquals(withDrafts.get(counter), sampling);
  }
});

Deno.test("an answer with mirostat makes no drafts: its cut follows from each token that is sampled", async () => {
  const { sampled, seen } = await serve(draftUntil(Infinity), 12, { mirostat: 2 });
  assertEquals(sampled, expected(12));
  assertEquals(seen.slice(1).every(({ rows }) => rows.length === 1), true);
});

Deno.test("an answer ends in the middle of its drafts where it is complete", async () => {
  const endAt = 5;
  const end = expected(40)[endAt];
  const sampled: number[] = [];
  const device = new FakeDevice({
    kvBlocks: KV_BLOCKS,
    kvBlockTokens: KV_BLOCK_TOKENS,
    endOdds: ODDS,
    maxRunning: 1,
    stepTokens: 32,
    stepOutputs: 8,
  });
  const scheduler = new Scheduler(device, new KvBlockManager(KV_BLOCKS, KV_BLOCK_TOKENS), {
    maxRunning: 1,
    maxWaiting: 1,
    stepTokens: 32,
    stepOutputs: 8,
    chunkMs: 50,
  });
  let ends = 0;
  scheduler.add(
    new Sequence({
      prompt: PROMPT,
      maxTokens: 30,
      sampling: { ...SAMPLING_DEFAULTS, seed: 1 },
      topLogprobs: 0,
      endTokens: new Set([end]),
      listener: { accept: ({ token }) => sampled.push(token) > 0, end: () => void ends++ },
      draft: draftUntil(Infinity),
    }),
  );
  await scheduler.idle();
  assertEquals(sampled, expected(40).slice(0, expected(40).indexOf(end) + 1));
  assertEquals(ends, 1);
});

Deno.test("an output that is not finite ends the answer where it would have ended without drafts", async () => {
  for (const draft of [undefined, draftUntil(Infinity)]) {
    let outputs = 0;
    const status = (): StepOutput["status"] => outputs++ === 6 ? "not_finite" : "ok";
    const { sampled, error } = await serve(draft, 20, {}, status);
    assertEquals(sampled, expected(20).slice(0, 6));
    assert(error instanceof Error && "code" in error);
    assertEquals(error.code, "not_finite");
  }
});

Deno.test("one that is not finite after a wrong draft ends nothing", async () => {
  let outputs = 0;
  // Token 1 after the prompt's, then the drafts: the second of them is wrong, and the third of no concern.
  const status = (): StepOutput["status"] => outputs++ === 4 ? "not_finite" : "ok";
  const { sampled, error } = await serve(draftUntil(2), 20, {}, status);
  assertEquals(error, undefined);
  assertEquals(sampled, expected(20));
});
