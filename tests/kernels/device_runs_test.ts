import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import type { DeviceProgram } from "../../engine/device/device_program.ts";
import { encodeRun, type RunLimits } from "../../engine/device/program_runs.ts";
import { ringBytes } from "../../engine/device/program_runs.ts";
import { StepBlock, stepBytes, type StepSequence } from "../../engine/device/step_block.ts";
import type { StepOutput } from "../../engine/device/step_result.ts";
import { GREEDY, type StepSampling } from "../../engine/device/step_sampling.ts";
import {
  ERROR,
  NONE,
  RING,
  RING_ENTRY,
  RUN_HEADER,
  RUN_ROW,
  Status,
} from "../../engine/device/structs.ts";
import { BACKEND, EXECUTOR, TestDevice, withDevice } from "../fixtures/device_harness.ts";
import { plainModelProgram } from "../fixtures/plain_model.ts";
import { smallModelProgram, VOCAB } from "../fixtures/small_model.ts";
import {
  courses,
  endless,
  NO_END,
  open,
  part,
  run,
  SPOILT,
  stateful,
  statefulProgram,
  step,
} from "../fixtures/device_runs.ts";

// Runs: steps that the device does one after the other give what single steps give and end where they should. They fail
// as steps do, and earlier samples are kept.

/** The small model has operations of every kind; a persistent kernel does not have all of them. */
const modelProgram = (device: TestDevice, cacheType = 0, spoilt?: number) =>
  EXECUTOR === "resident"
    ? plainModelProgram(device, spoilt)
    : smallModelProgram(device, cacheType, spoilt);

/** How long runs are; in the emulation a step takes as long as hundreds of them elsewhere. */
const LENGTHS = BACKEND === "emulated" ? [1, 4, 2] : [1, 4, 2, 6, 1, 3];

for (const cacheType of [0, 1]) {
  for (const count of BACKEND === "emulated" ? [1 + 2 * cacheType] : [1, 5]) {
    Deno.test(`runs of ${count} give what steps give, whatever their lengths, through a ring that goes round (cache type ${cacheType})`, async () => {
      using device = new TestDevice({ threads: 2 });
      const { program } = modelProgram(device, cacheType);
      open(device, program, BACKEND === "emulated" ? 16 : 32);
      const wanted = courses(count);
      const wantedOutputs: StepOutput[][] = [await step(program, wanted)];
      const own = LENGTHS.filter((steps) => steps !== 6).length;
      const all = LENGTHS.reduce((sum, steps) => sum + steps, own);
      for (let i = 0; i < all; i++) wantedOutputs.push(await step(program, wanted));
      const got = courses(count, 5);
      const outputs: unknown[] = [await step(program, got)];
      for (const steps of LENGTHS) {
        const taken = await run(program, got, steps, endless(got));
        assertEquals(taken.length, steps);
        outputs.push(...taken);
        // Steps and runs follow each other as they like.
        if (steps !== 6) outputs.push(await step(program, got));
      }
      assertEquals(outputs, wantedOutputs);
      assert(new Set(got[0].tokens).size > 3, "it samples different tokens");
    });
  }
}

Deno.test("each sequence of a run ends after its own tokens or at its own end tokens, and the others continue to the same bits", async () => {
  using device = new TestDevice({ threads: 2 });
  const { program } = modelProgram(device);
  open(device, program, 128);
  const wanted = courses(5);
  const alone: StepOutput[][] = [];
  for (let i = 0; i < 12; i++) alone.push(await step(program, wanted));
  const got = courses(5);
  await step(program, got);
  const ends = wanted.map(({ tokens, prompt }) => tokens.slice(prompt + 1));
  const limits: RunLimits[] = [
    { tokens: 1, endTokens: NO_END },
    { tokens: 100, endTokens: new Set([VOCAB - 1, ends[1][4]]) },
    { tokens: 5, endTokens: new Set([ends[2][3]]) },
    { tokens: 8, endTokens: NO_END },
    { tokens: 100, endTokens: new Set([ends[4][9]]) },
  ];
  const lasts = limits.map(({ tokens, endTokens }, i) => {
    const end = ends[i].findIndex((token) => endTokens.has(token));
    return Math.min(tokens, end < 0 ? Infinity : end + 1);
  });
  const taken = await run(program, got, 12, limits);
  assertEquals(taken.filter((outputs) => outputs.some((one) => one)).length, Math.max(...lasts));
  taken.forEach((outputs, i) =>
    assertEquals(outputs, alone[i + 1].map((output, s) => i < lasts[s] ? output : undefined))
  );
  // What ended is as it was: its next token is sampled from the same K and V.
  const after = await step(program, got);
  assertEquals(
    after.map(({ sample }) => sample?.token),
    wanted.map(({ tokens, prompt }, i) => tokens[prompt + 1 + lasts[i]]),
  );
});

Deno.test("a run ends on request, and when another call wants the device", async () => {
  using device = new TestDevice({ threads: 1 });
  const { program, cache } = modelProgram(device);
  open(device, program, 64);
  const some = courses(1);
  await step(program, some);
  const whole = part(some[0]);
  const all = 29;
  const steps = async (stop: (run: { stop(): void }) => unknown) => {
    let count = 0;
    const running = program.run([whole], all, endless(some), () => count++);
    const stopped = stop(running);
    await Promise.all([running.over, stopped]);
    return count;
  };
  /** A run is over in no time where this thread has to wait for a processor: one of some ends early. */
  const stopsOnce = async (stop: (run: { stop(): void }) => unknown) => {
    for (let i = 0; i < 100; i++) {
      const count = await steps(stop);
      assert(count >= 1);
      if (count < all) return;
    }
    throw new Error("no run ended before its last step");
  };
  assertEquals(await steps(() => {}), all);
  await stopsOnce((running) => running.stop());
  await stopsOnce(() => cache.copyKvBlocks(Uint32Array.of(3), Uint32Array.of(4)));
  // A run that is stopped before it begins, or that finds another call waiting, has one step.
  const before = program.step([whole]);
  assertEquals(await steps((running) => running.stop()), 1);
  await before;
  const first = program.step([whole]);
  assertEquals(await steps(() => program.step([whole])), 1);
  await first;
  assertEquals(await steps(() => {}), all);
});

for (const hasStates of [false, true]) {
  const model = hasStates ? "a model with states" : "a model";
  Deno.test(`logits of a run of ${model} that are no numbers end their own sequence alone`, async () => {
    using device = new TestDevice({ threads: 1 });
    const program = hasStates
      ? statefulProgram(device, SPOILT)
      : modelProgram(device, 0, SPOILT).program;
    const someCourses = (slot: number) => hasStates ? stateful(3, 0, slot) : courses(3);
    open(device, program, 64);
    const some = someCourses(0);
    await step(program, some);
    // The second is made to sample the spoilt token, and can sample nothing after it.
    const forced = { ...some[1], sampling: { ...GREEDY, only: SPOILT } };
    const others = [some[0], forced, some[2]];
    const wanted = someCourses(4);
    await step(program, wanted);
    const alone: StepOutput[][] = [];
    for (let i = 0; i < 6; i++) alone.push(await step(program, [wanted[0], wanted[2]]));
    const taken = await run(program, others, 6, endless(others));
    assertEquals(taken.map(([one, , other]) => [one, other]), alone);
    assertEquals(taken.map(([, output]) => output?.status), [
      "ok",
      "not_finite",
      ...new Array(4).fill(undefined),
    ]);
  });
}

/** The library's own functions, with a ring that nobody reads. */
function bareRun(device: TestDevice, program: DeviceProgram, entries: number) {
  const { symbols } = device.kernels;
  const handle = (program as unknown as { handle: Deno.PointerValue }).handle;
  const limits = program.records.limits;
  const block = new StepBlock({ ...limits, step_bytes: BigInt(stepBytes(limits)) });
  const memory = device.context.hostMemory(ringBytes(entries) + 64);
  const ring = memory.subarray(0, ringBytes(entries));
  const words = new Int32Array(memory.buffer, memory.byteOffset, memory.length / 4);
  memory.fill(0);
  const error = new Uint8Array(ERROR.bytes);
  const answer = (status: number) =>
    status === Status.ok ? "" : ERROR.read(new DataView(error.buffer)).message;
  return {
    ring,
    words,
    begin(sequences: readonly StepSequence[], run: Uint8Array<ArrayBuffer>, place = ring) {
      block.write(sequences);
      return answer(
        symbols.m40_run_begin(
          handle,
          block.bytes,
          BigInt(block.length),
          run,
          BigInt(run.length),
          place,
          BigInt(place.length),
          error,
        ),
      );
    },
    wait: async () => answer(await symbols.m40_run_wait(handle, error)),
    isOver: () => Atomics.load(words, RING.fields.over.offset / 4) !== 0,
    /** The numbers of the ring's entries. */
    numbers: () => Array.from({ length: entries }, (_, i) => words[RING.bytes / 4 + 48 * i]),
    read: (count: number) => Atomics.store(words, 0, count),
  };
}

Deno.test("a run whose ring is not read ends where there is no room, and overwrites nothing", async () => {
  using device = new TestDevice({ threads: 1 });
  const { program } = modelProgram(device);
  const some = courses(2);
  await step(program, some);
  const { begin, wait, isOver, numbers, read } = bareRun(device, program, 8);
  const run = encodeRun(20, endless(some));
  assertEquals(begin(some.map(part), run), "");
  do assertEquals(await wait(), ""); while (!isOver());
  assertEquals(numbers(), [1, 2, 3, 4, 5, 6, 7, 8]);
  assertMatch(begin(some.map(part), run), /^a run with a ring that has entries to be read/);
  read(8);
  assertEquals(begin(some.map(part), run), "");
  do assertEquals(await wait(), ""); while (!isOver());
  assertEquals(numbers(), [9, 10, 11, 12, 13, 14, 15, 16]);
  // Numbers go round as well.
  read(-2);
  assertEquals(begin(some.map(part), encodeRun(2, endless(some))), "");
  do assertEquals(await wait(), ""); while (!isOver());
  assertEquals(numbers(), [1, 2, 11, 12, 13, 14, -1, 0]);
  assertMatch(await wait(), /^no run is under way/);
});

Deno.test("what a run that could not begin has left in the ring is nobody's", async () => {
  using device = new TestDevice({ threads: 1 });
  const { program } = modelProgram(device);
  const some = courses(2);
  await step(program, some);
  const memory = device.context.hostMemory(ringBytes(64));
  program.openRuns(memory);
  const number = (RING.bytes + RING_ENTRY.fields.number.offset) / 4;
  const words = new Int32Array(memory.buffer, memory.byteOffset);
  // Of the first row alone.
  words[number] = 1;
  const taken = await run(program, some, 3, endless(some));
  assertEquals(taken.map((outputs) => outputs.map((output) => output?.status)), [
    ["ok", "ok"],
    ["ok", "ok"],
    ["ok", "ok"],
  ]);
});

Deno.test("a run that cannot be is refused with its reason, and nothing is under way", async () => {
  await withDevice({ threads: 1 }, async (device) => {
    const { program } = modelProgram(device);
    const some = courses(2);
    await step(program, some);
    const { begin, wait, isOver, ring } = bareRun(device, program, 8);
    const rows = some.map(part);
    const run = encodeRun(4, endless(some));
    const changed = (at: number, value: number) => {
      const copy = run.slice();
      new DataView(copy.buffer).setUint32(at, value, true);
      return copy;
    };
    const wrong = (one: Partial<StepSequence>) => [rows[0], { ...rows[1], ...one }];
    const sampled = (sampling: Partial<StepSampling>) =>
      wrong({ outputs: [{ row: 0, sampling: { ...GREEDY, ...sampling } }] });
    const refused = (message: string, reason: RegExp) => assertMatch(message, reason);
    refused(begin(rows, run.subarray(0, 12)), /^a run of 12 bytes/);
    refused(begin(rows, changed(0, 0)), /^a run of 0 steps/);
    refused(begin(rows, changed(RUN_HEADER.fields.rows.offset, 36)), /^rows: 2 elements/);
    refused(begin(rows, changed(RUN_HEADER.fields.rows.offset, 18)), /^rows: .*multiple of 4/);
    refused(begin(rows, changed(RUN_HEADER.fields.n_end_tokens.offset, 5000)), /5000 end tokens/);
    refused(begin(rows, changed(RUN_HEADER.fields.n_end_tokens.offset, 1)), /^end_tokens: 1 /);
    refused(begin(rows, changed(RUN_HEADER.bytes, 0)), /^row 0 of a run samples 0 tokens/);
    const endTokens = RUN_HEADER.bytes + RUN_ROW.fields.n_end_tokens.offset;
    refused(begin(rows, changed(endTokens, 1)), /^row 0 of a run: end tokens 0 to 1/);
    refused(begin(rows, changed(0, 60)), /KV block 15: its row of the block table has 8$/);
    const missing = wrong({
      kvBlocks: [[...some[1].kvBlocks.slice(0, 1), NONE, ...some[1].kvBlocks.slice(2)]],
    });
    refused(begin(missing, run), /absent/);
    refused(begin(wrong({ decode: false }), run), /wanted decoded ones alone/);
    refused(begin(wrong({ outputs: [] }), run), /with 1 outputs/);
    refused(begin(wrong({ outputs: [{ row: 0, kind: "logits" }] }), run), /wanted samples alone/);
    const two = { tokens: [1, 2], outputs: [{ row: 0 }, { row: 1 }] };
    refused(begin(wrong(two), run), /wanted one token a sequence/);
    refused(begin(sampled({ temperature: 1, mirostat: 2 }), run), /mirostat/);
    refused(begin(rows, run, ring.subarray(0, 100)), /^a ring of 100 bytes/);
    refused(begin(rows, run, ring.subarray(0, ringBytes(8) - 192)), /power of two/);
    refused(begin(rows, run, new Uint8Array(ringBytes(8))), /not in memory of m40_host_alloc$/);
    const more = courses(5, 7);
    refused(
      begin(
        more.map((one) => ({
          ...part(one),
          tokens: [1],
          position: 1,
          decode: true,
          outputs: [{ row: 0 }],
        })),
        encodeRun(1, endless(more)),
      ),
      /^a run of 5 rows with a ring of 8 entries: wanted two for each row at least$/,
    );
    assertMatch(await wait(), /^no run is under way/);

    assertEquals(begin(rows, run), "");
    refused(begin(rows, run), /^a run is under way/);
    await assertRejects(() => program.step(rows), M40Error, "a run is under way");
    do assertEquals(await wait(), ""); while (!isOver());
    assertEquals((await program.step(rows)).outputs.length, 2);
  });
  using device = new TestDevice({ threads: 1 });
  const { begin } = bareRun(device, statefulProgram(device), 8);
  const row = (from: number, to: number) => ({
    ...{ tokens: [1], position: 1, kvBlocks: [[from]], decode: true, outputs: [{ row: 0 }] },
    states: { from, to },
  });
  const refused = (reason: RegExp, ...later: RunLimits["later"][]) => {
    const limits = later.map((later) => ({ tokens: 4, endTokens: NO_END, later }));
    assertMatch(begin([row(0, 0), row(1, 2)], encodeRun(2, limits)), reason);
  };
  refused(/^the states of row 1 .* slot 16 .*: wanted one below 16/, undefined, {
    slot: 16,
    from: 1,
  });
  refused(/^the states of row 0 .* from step 0 on/, { slot: 3, from: 0 }, undefined);
  refused(/^two rows of a run continue in slot 3/, { slot: 3, from: 1 }, { slot: 3, from: 2 });
  for (const [slot, owner] of [[0, 0], [1, 1], [2, 1]]) {
    const reason = new RegExp(
      `^a row of a run continues in slot ${slot}, which row ${owner} begins`,
    );
    refused(reason, { slot, from: 1 }, undefined);
    refused(reason, undefined, { slot, from: 1 });
  }
});
