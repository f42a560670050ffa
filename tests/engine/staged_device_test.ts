import { assert, assertEquals, assertRejects } from "@std/assert";
import type { StepResult } from "../../engine/device/step_result.ts";
import { isDeviceLoss, M40Error } from "../../engine/errors.ts";
import {
  follower,
  logitsOf,
  type StagedModel,
  tokensOf,
  withStages,
} from "../fixtures/staged_model.ts";

// A model over several cards: what it computes has the bits of one card's, whatever else is under way.

/** What differs most: windows, experts, a latent cache, layers that share K and V, states with attention and without. */
const MODELS = Deno.env.get("M40_STAGED_MODELS")?.split(",") ??
  ["llama", "gpt-oss", "gemma3", "deepseek2", "gemma4-e2b", "qwen3next", "granitehybrid", "mamba2"];

/** What each of three sequences computes: prompts longer than a KV block, chunks of them, decoded tokens. */
const CHUNKS: readonly { readonly count: number; readonly decode: boolean }[] = [
  { count: 33, decode: false },
  { count: 6, decode: false },
  { count: 1, decode: true },
  { count: 1, decode: true },
  { count: 2, decode: true },
];

/** The logits of three sequences' tokens, of all chunks one after the other. */
async function computed(model: StagedModel, together: boolean): Promise<string[][][]> {
  const sequences = [0, 1, 2].map((n) => follower(model, n));
  const seen: string[][][] = [];
  for (const { count, decode } of CHUNKS) {
    // Two of them in one step, the third in another.
    const steps = [[0, 1], [2]].map((some) =>
      some.map((n) => sequences[n].next(tokensOf(n, sequences[n].position, count), decode))
    );
    const results: StepResult[] = [];
    if (together) results.push(...await Promise.all(steps.map((one) => model.device.step(one))));
    else for (const one of steps) results.push(await model.device.step(one));
    seen.push(results.map(logitsOf));
  }
  return seen;
}

for (const [i, name] of MODELS.entries()) {
  const kvType = i % 2 === 0 ? "f16" : "f32";
  Deno.test(`${name} on two and three cards, two steps under way, has the bits of one card's, KV ${kvType}`, async () => {
    const whole = await withStages(name, 1, { kvType }, (model) => computed(model, false));
    for (const stages of [2, 3]) {
      await withStages(name, stages, { kvType }, async (model) => {
        assertEquals(await computed(model, true), whole);
      });
    }
  });
}

for (const name of ["gemma3", "granitehybrid"]) {
  Deno.test(`${name}: what a sequence keeps on two cards goes to host memory, and comes back to other KV blocks bit for bit`, async () => {
    await withStages(name, 2, {}, async (model) => {
      const { device, plan, kvBlockBytes, slotBytes } = model;
      const first = tokensOf(0, 0, 40);
      const last = tokensOf(0, 40, 3);
      const run = async (gone: boolean) => {
        const one = follower(model, 0);
        const begun = device.step([one.next(first, false)]);
        if (gone) {
          const held = Uint32Array.from(one.kvBlocks.flat());
          const memory = new Uint8Array(held.length * kvBlockBytes);
          const state = new Uint8Array(slotBytes);
          // All asked for while the step is under way: each card does them in this order.
          const other = follower(model, 0);
          const moved = [
            device.save("kvBlocks", held, memory),
            ...(plan.slots > 0 ? [device.save("slots", Uint32Array.of(0), state)] : []),
            device.step([other.next(tokensOf(1, 0, 40), false)]),
          ];
          await Promise.all(moved);
          one.kvBlocks = follower(model, 1).kvBlocks;
          one.slot = 1;
          await Promise.all([
            device.restore("kvBlocks", Uint32Array.from(one.kvBlocks.flat()), memory),
            ...(plan.slots > 0 ? [device.restore("slots", Uint32Array.of(1), state)] : []),
          ]);
        }
        await begun;
        return logitsOf(await device.step([one.next(last, true)]));
      };
      assertEquals(await run(true), await run(false));
      assert(kvBlockBytes > 0 && (slotBytes > 0) === plan.slots > 0);
    });
  });
}

Deno.test("KV blocks that change hands after a step was asked for are that step's still", async () => {
  await withStages("llama", 3, {}, async (model) => {
    const { device } = model;
    const [first, next] = [tokensOf(0, 0, 33), tokensOf(0, 33, 1)];
    const run = async (givenUp: boolean) => {
      const one = follower(model, 0);
      await device.step([one.next(first, false)]);
      const step = one.next(next, true);
      const result = device.step([step]);
      if (givenUp) {
        // The scheduler's own list, which is emptied when the sequence is preempted.
        for (const kvBlocks of one.kvBlocks) kvBlocks.splice(0, kvBlocks.length, 7, 8, 9);
        await device.step([follower(model, 0).next(tokensOf(2, 0, 40), false)]);
      }
      return logitsOf(await result);
    };
    assertEquals(await run(true), await run(false));
  });
});

Deno.test("a step that a card refuses fails with that card's name; those after it compute what they would", async () => {
  await withStages("llama", 3, {}, async (model) => {
    const { device } = model;
    const alone = logitsOf(await device.step([follower(model, 0).next(tokensOf(0, 0, 9), false)]));
    const good = () => device.step([follower(model, 1).next(tokensOf(0, 0, 9), false)]);
    const step = follower(model, 2).next(tokensOf(1, 0, 9), false);
    for (
      const [card, refused] of [
        // A KV block that does not exist, and an output of a row that does not exist: only the last card gets
        // outputs.
        ["card 0", { ...step, kvBlocks: step.kvBlocks.map((some) => Array.from(some, () => 1e6)) }],
        ["card 2", { ...step, outputs: [{ row: 100, kind: "logits" as const }] }],
      ] as const
    ) {
      const [failure, after] = await Promise.allSettled([device.step([refused]), good()]);
      assert(failure.status === "rejected" && failure.reason instanceof M40Error);
      const { code, message } = failure.reason;
      assertEquals([code, message.split(":")[0]], ["internal", card]);
      assert(after.status === "fulfilled");
      assertEquals(logitsOf(after.value), alone);
    }
  });
});

for (const killed of [0, 1]) {
  Deno.test(`a card whose process is killed is the device's loss, with its name: card ${killed}`, async () => {
    await withStages("llama", 2, { process: true }, async (model) => {
      const { device, libraries } = model;
      const step = (n: number) => device.step([follower(model, n).next(tokensOf(n, 0, 9), false)]);
      logitsOf(await step(0));
      const underWay = [step(0), step(1), step(2)];
      Deno.kill(libraries[killed].processId!, "SIGKILL");
      const results = await Promise.allSettled(underWay);
      const lost = await assertRejects(
        async () => {
          await step(3);
          await step(0);
        },
        M40Error,
        `card ${killed}: `,
      );
      assert(isDeviceLoss(lost));
      for (const one of results) {
        // Some may have been over before it.
        if (one.status === "rejected") assert(isDeviceLoss(one.reason), String(one.reason));
      }
      await assertRejects(
        () => device.copyKvBlocks(Uint32Array.of(0), Uint32Array.of(1)),
        M40Error,
      );
    });
  });
}

Deno.test("host memory of another size than that of the parts is refused", async () => {
  await withStages("llama", 2, {}, async ({ device, kvBlockBytes }) => {
    await assertRejects(
      () => device.save("kvBlocks", Uint32Array.of(0, 1), new Uint8Array(kvBlockBytes)),
      M40Error,
      `${kvBlockBytes} bytes of host memory for 2 of ${kvBlockBytes}`,
    );
  });
});
