import { assert, assertEquals } from "@std/assert";
import { NONE, Status } from "../../engine/device/structs.ts";
import { BACKEND, Random } from "../fixtures/device_harness.ts";
import { HEADER, validStep, withParts } from "../fixtures/spoiled_program.ts";

// Random damage to steps and programs: thousands of cases, none of which may end the process.

/** Of each kind, more with M40_FUZZ_CASES=8000; the emulation is slow. */
const CASES = BACKEND === "emulated" ? 200 : Number(Deno.env.get("M40_FUZZ_CASES") ?? 1000);

/** A value that a careless check would let through. */
function nasty(random: Random, before: number): number {
  const values = [
    0,
    1,
    2,
    3,
    NONE,
    NONE - 1,
    0x7FFFFFFF,
    0x80000000,
    0x7F800000,
    0x7FC00000,
    0xFF7FFFFF,
  ];
  const kind = random.below(values.length + 5);
  if (kind < values.length) return values[kind];
  return [before + 1, before - 1, before * 2, random.word(), before ^ (1 << random.below(32))][
    kind - values.length
  ] >>> 0;
}

for (const states of [false, true]) {
  const model = states ? " with states" : "";

  Deno.test(`${CASES} spoiled steps${model} are answered, and the program still works after each hundred`, async () => {
    const random = new Random(20);
    await withParts(async (parts) => {
      const counts: Record<number, number> = {};
      await parts.create(async (program) => {
        for (let i = 0; i < CASES; i++) {
          const { words, bytes } = validStep();
          for (let n = 1 + random.below(3); n > 0; n--) {
            const at = random.below(3) === 0 ? random.below(HEADER) : random.below(words.length);
            words[at] = nasty(random, words[at]);
          }
          // A copy of the exact length, so that a sanitizer sees what is read beyond it.
          const length = random.below(10) === 0 ? random.below(bytes.length) : bytes.length;
          const got = await parts.step(program, bytes.slice(0, length));
          counts[got.status] = (counts[got.status] ?? 0) + 1;
          assert(got.status === Status.ok || got.message.length > 10);
          if (i % 100 === 0) {
            assertEquals((await parts.step(program, validStep().bytes)).status, Status.ok);
          }
        }
      });
      assert(
        counts[Status.ok] > CASES / 40 && counts[Status.invalid_argument] > CASES / 4,
        JSON.stringify(counts),
      );
      const known = [Status.ok, Status.invalid_argument, Status.internal].map(String);
      assertEquals(Object.keys(counts).filter((status) => !known.includes(status)), []);
    }, states);
  });

  Deno.test(`${CASES} spoiled programs${model} are answered; those that are accepted can be run`, async () => {
    const random = new Random(21);
    await withParts(async (parts) => {
      const counts: Record<number, number> = {};
      for (let i = 0; i < CASES; i++) {
        const saved = [parts.ops, parts.buffers, parts.limits].map((bytes) => bytes.slice());
        for (let n = 1 + random.below(2); n > 0; n--) {
          const kind = random.below(12);
          const bytes = kind === 0 ? parts.limits : kind === 1 ? parts.buffers : parts.ops;
          const words = new Uint32Array(bytes.buffer);
          let at = random.below(words.length);
          // The last words of most records are not used: aim at the first ones more often.
          if (bytes === parts.ops) at = Math.floor(at / 32) * 32 + random.below(i % 2 ? 30 : 15);
          words[at] = nasty(random, words[at]);
        }
        const got = await parts.create(async (program) => {
          const { status, message } = await parts.step(program, validStep().bytes);
          assert(
            [Status.ok, Status.invalid_argument, Status.internal].some((s) => s === status),
            message,
          );
        });
        counts[got.status] = (counts[got.status] ?? 0) + 1;
        assert(got.status === Status.ok || got.message.length > 10);
        [parts.ops, parts.buffers, parts.limits].forEach((bytes, k) => bytes.set(saved[k]));
      }
      assert(
        counts[Status.ok] > CASES / 40 && counts[Status.invalid_argument] > CASES / 4,
        JSON.stringify(counts),
      );
      // Some shapes are beyond a GPU's kernels, and the CPU has one lane.
      const known = [
        Status.ok,
        Status.invalid_argument,
        Status.out_of_memory,
        Status.unsupported,
      ].map(String);
      assertEquals(Object.keys(counts).filter((status) => !known.includes(status)), []);
    }, states);
  });
}
