// What sequences do for the steps to come while the device computes one.
import { assert, assertEquals } from "@std/assert";
import { setImmediate } from "node:timers";
import type { GenerateRequest } from "../../engine/mod.ts";
import type { Steering } from "../../engine/sampling/steering.ts";
import { prepareAhead } from "../../engine/scheduler/steps/prepare_ahead.ts";
import { collect, loadEngine, promptOf, withEngine } from "../fixtures/engine_fixture.ts";

const now = () => performance.now();
const unknown = () => [Infinity];

/** A sequence with so many parts of work; each notes its name. */
function worker(name: string, parts: number, done: string[]) {
  const prepare = () => {
    done.push(name);
    return --parts > 0;
  };
  return { runs: true, sampler: { prepare } };
}

Deno.test("sequences do a part of their work in turn, until nothing is left, though the step goes on", async () => {
  const done: string[] = [];
  const never = new Promise<never>(() => {});
  const sequences = [worker("a", 3, done), worker("b", 1, done), worker("c", 2, done)];
  await prepareAhead(sequences, never, unknown, now);
  assertEquals(done.join(""), "abcaca");
});

for (const end of ["ends", "fails"]) {
  Deno.test(`work without end ends when the step ${end}: others have their turn meanwhile`, async () => {
    const done: string[] = [];
    const step = new Promise<void>((resolve, reject) =>
      setTimeout(() => end === "ends" ? resolve() : reject(new Error("a step")), 5)
    );
    step.catch(() => {});
    await prepareAhead([worker("a", Infinity, done)], step, unknown, now);
    assert(done.length > 0);
  });
}

Deno.test("a sequence that has ended prepares nothing, and one that fails prepares nothing more; others go on", async () => {
  const done: string[] = [];
  const never = new Promise<never>(() => {});
  const prepare = () => {
    done.push("f");
    throw new Error("a part of the work");
  };
  const failing = { runs: true, sampler: { prepare } };
  const gone = { ...worker("g", 5, done), runs: false };
  await prepareAhead([failing, gone, worker("a", 3, done)], never, unknown, now);
  assertEquals(done.join(""), "faaa");
});

Deno.test("others have their turn without a timer, which would keep the work waiting for longer than they need", async () => {
  const { setTimeout } = globalThis;
  const noTimer = () => {
    throw new Error("a timer");
  };
  globalThis.setTimeout = Object.assign(noTimer, { __promisify__: noTimer });
  try {
    const done: string[] = [];
    // Resolves when the event loop has had its turn.
    await prepareAhead([worker("a", Infinity, done)], Deno.stat("."), unknown, now);
    assert(done.length > 0);
  } finally {
    globalThis.setTimeout = setTimeout;
  }
});

/** Work without end on a clock that moves by so many milliseconds with each part, and a step that is over after so many parts. */
function clocked(partMs: number, parts: number) {
  const { promise: step, resolve } = Promise.withResolvers<void>();
  const clock = { time: 0, done: 0 };
  const prepare = () => {
    clock.time += partMs;
    if (++clock.done === parts) resolve();
    return true;
  };
  const sequence = { runs: true, sampler: { prepare } };
  return { step, clock, sequence, now: () => clock.time };
}

Deno.test("nothing is begun where the step is about to end", async () => {
  const { step, clock, sequence, now } = clocked(0.25, 6);
  await prepareAhead([sequence], step, () => [1.75], now);
  assertEquals(clock.done, 6);
  await prepareAhead([sequence], Promise.resolve(), () => [1.9], now);
  assertEquals(clock.done, 6);
});

Deno.test("nothing is begun where another step under way is about to end, and work goes on when it has", async () => {
  const { step, clock, sequence, now } = clocked(0.25, 60);
  let begun: number | undefined;
  let ends = [1.75, 100];
  const expected = () => {
    if (clock.done === 6 && begun === undefined) {
      begun = 6;
      setTimeout(() => {
        begun = clock.done;
        ends = [100];
      });
    }
    return ends;
  };
  await prepareAhead([sequence], step, expected, now);
  assertEquals(begun, 6);
  assert(clock.done >= 60, `${clock.done} parts`);
});

Deno.test("where a step does not end when it was expected to, work goes on", async () => {
  const { step, clock, sequence, now } = clocked(0.25, 60);
  let waits = false;
  const expected = () => {
    if (clock.done === 6 && !waits) {
      waits = true;
      setTimeout(() => clock.time = 3);
    }
    return [1.75];
  };
  await prepareAhead([sequence], step, expected, now);
  assert(clock.done >= 60, `${clock.done} parts`);
});

Deno.test("what steers an answer prepares while its prompt is computed, with its tokens; what fails there does not fail the answer", async () => {
  const lengths: number[] = [];
  const steering: Steering = {
    next: () => undefined,
    prepare(generated) {
      lengths.push(generated.length);
      if (lengths.length === 2) throw new Error("a part of the work");
      return true;
    },
  };
  const request: GenerateRequest = {
    prompt: promptOf(9, 1),
    maxTokens: 20,
    sampling: { temperature: 1, seed: 3, ignoreEos: true },
  };
  await using engine = await loadEngine();
  const prepared = await collect(engine.generate({ ...request, steering }));
  assertEquals(lengths.slice(0, 2), [0, 0]);
  assertEquals(prepared.error, undefined);
  assertEquals(prepared, await collect(engine.generate(request)));
});

Deno.test("what steers an answer finds out what may come in parts, in turn with others; the answer is the same", async () => {
  const request: GenerateRequest = {
    prompt: promptOf(9, 1),
    maxTokens: 5,
    sampling: { temperature: 1, seed: 3, ignoreEos: true },
  };
  let left = 0;
  let length = -1;
  let turns = 0;
  const seen: number[] = [];
  const steering: Steering = {
    next: () => undefined,
    proceed(generated) {
      if (generated.length !== length) {
        length = generated.length;
        left = 40;
        turns = 0;
      }
      // Parts take time: others have their turn where they have taken too much of it.
      for (const end = performance.now() + 1; performance.now() < end;);
      return --left <= 0;
    },
    allowed(generated) {
      assert(generated.length === 0 || left <= 0);
      if (generated.length > 0) seen.push(turns);
      return undefined;
    },
  };
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await withEngine({}, async (engine) => {
    const steered = await collect(engine.generate({ ...request, steering }));
    isOver = true;
    assertEquals(steered, await collect(engine.generate(request)));
  });
  assertEquals(seen.length, 4);
  assert(seen.every((one) => one > 1), `${seen}`);
});
