// What sequences do for the steps to come while the device computes one.
import { assert, assertEquals } from "@std/assert";
import type { GenerateRequest } from "../engine/mod.ts";
import type { Steering } from "../engine/sampling/steering.ts";
import { prepareBeside } from "../engine/scheduler/prepare_beside.ts";
import { collect, promptOf, withEngine } from "./engine_fixture.ts";

const now = () => performance.now();

/** A sequence with so many parts of work; each notes its name. */
function worker(name: string, parts: number, done: string[]) {
  return {
    runs: true,
    prepare() {
      done.push(name);
      return --parts > 0;
    },
  };
}

Deno.test("sequences do a part of their work in turn, until nothing is left, though the step goes on", async () => {
  const done: string[] = [];
  const never = new Promise<never>(() => {});
  const sequences = [worker("a", 3, done), worker("b", 1, done), worker("c", 2, done)];
  await prepareBeside(sequences, never, Infinity, now);
  assertEquals(done.join(""), "abcaca");
});

for (const end of ["ends", "fails"]) {
  Deno.test(`work without end ends when the step ${end}: others have their turn meanwhile`, async () => {
    const done: string[] = [];
    const step = new Promise<void>((resolve, reject) =>
      setTimeout(() => end === "ends" ? resolve() : reject(new Error("a step")), 5)
    );
    step.catch(() => {});
    await prepareBeside([worker("a", Infinity, done)], step, Infinity, now);
    assert(done.length > 0);
  });
}

Deno.test("who runs no more prepares nothing, and who fails prepares nothing more; others go on", async () => {
  const done: string[] = [];
  const never = new Promise<never>(() => {});
  const failing = {
    runs: true,
    prepare() {
      done.push("f");
      throw new Error("a part of the work");
    },
  };
  const gone = { ...worker("g", 5, done), runs: false };
  await prepareBeside([failing, gone, worker("a", 3, done)], never, Infinity, now);
  assertEquals(done.join(""), "faaa");
});

Deno.test("nothing is begun where the step is about to end, and nothing goes on then", async () => {
  const done: string[] = [];
  let time = 0;
  const sequence = worker("a", Infinity, done);
  const timed = {
    runs: true,
    prepare() {
      time += 0.25;
      return sequence.prepare();
    },
  };
  const never = new Promise<never>(() => {});
  await prepareBeside([timed], never, 0.5, () => time);
  assertEquals(done, []);
  await prepareBeside([timed], never, 1.75, () => time);
  assertEquals(done.length, 4);
});

Deno.test("what steers an answer prepares beside its prompt, told of its tokens; what fails there does not fail the answer", async () => {
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
  await withEngine({}, async (engine) => {
    const prepared = await collect(engine.generate({ ...request, steering }));
    assertEquals(lengths.slice(0, 2), [0, 0]);
    assertEquals(prepared.error, undefined);
    assertEquals(prepared, await collect(engine.generate(request)));
  });
});
