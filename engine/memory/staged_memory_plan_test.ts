import { assert, assertEquals, assertLess, assertMatch, assertThrows } from "@std/assert";
import type { Context } from "../device/context.ts";
import { compareBandwidths } from "../device/device_bandwidth.ts";
import { KernelLibrary } from "../device/library.ts";
import { M40Error } from "../errors.ts";
import { planMemory, type PlanRequest } from "./memory_plan.ts";
import { architectureOf } from "../models/architecture.ts";
import type { Model } from "../models/model.ts";
import { planStages, type StagedMemoryPlan } from "./staged_memory_plan.ts";
import { headerOf } from "../../tests/fixtures/model_header.ts";

// Which layers go on which card, and what of its memory they take, by models' shapes alone.

const GIB = 2 ** 30;
/** What a Tesla M40 and a GTX 1080 have free, and what their memory gives. */
const M40 = { free: 22.1 * GIB, speed: 288e9 };
const GTX_1080 = { free: 7.7 * GIB, speed: 320e9 };

const library = KernelLibrary.find("cpu");
const context: Context = library.createContext({ threads: 1 });
globalThis.addEventListener("unload", () => context.close());

const REQUEST = {
  kvType: "f16",
  maxRunning: 32,
  outputs: 1,
  device: "gpu",
} as const satisfies Partial<PlanRequest>;

const models = new Map<string, Model>();

/** A model of a shape, read once. */
function modelOf(name: string, type: string): Model {
  const key = `${name} ${type}`;
  const known = models.get(key);
  if (known !== undefined) return known;
  const gguf = headerOf(name, type);
  const model = architectureOf(gguf).read(gguf);
  models.set(key, model);
  return model;
}

function plan(
  model: string,
  type: string,
  cards: readonly { free: number; speed: number }[],
  request: Partial<PlanRequest> = {},
): StagedMemoryPlan {
  const { program, shape } = modelOf(model, type);
  const named = cards.map(({ free, speed }, i) => ({
    name: `cuda:${i}`,
    sizes: context,
    kind: "cpu",
    freeBytes: free,
    bytesPerSecond: speed,
  }));
  return planStages(named, program, shape, { ...REQUEST, ...request });
}

function refusal(...given: Parameters<typeof plan>): string {
  const error = assertThrows(() => plan(...given), M40Error);
  assertEquals(error.code, "out_of_memory");
  return error.message;
}

const layersOf = ({ stages }: StagedMemoryPlan) => stages.map(({ layers }) => layers);

Deno.test("two cards alike share the layers, but for those that the output head weighs; what is left are KV blocks", () => {
  const split = plan("mistral-7b", "Q8_0", [M40, M40]);
  assertEquals(layersOf(split), [[0, 15], [16, 31]]);
  const { program, shape } = modelOf("mistral-7b", "Q8_0");
  const whole = planMemory(context, program, shape, { ...REQUEST, freeBytes: M40.free });
  // Nothing is on both cards but the buffers of a step.
  assertEquals(split.weightBytes, whole.weightBytes);
  assert(split.kvBlocks > 2.3 * whole.kvBlocks, `${split.kvBlocks}, ${whole.kvBlocks}`);
  for (const { plan: { cache, totalBytes }, leftBytes } of split.stages) {
    assertEquals([cache.n_layers, cache.n_kv_blocks], [16, split.kvBlocks]);
    assertEquals(totalBytes + leftBytes, M40.free);
    assert(leftBytes >= 256 * 2 ** 20);
  }
  // Of the fuller one nearly nothing is left.
  assertLess(Math.min(...split.stages.map(({ leftBytes }) => leftBytes)), 0.3 * GIB);
  assertEquals(
    [split.totalBytes, split.leftBytes],
    [0, 1].map((n) =>
      split.stages.reduce((sum, one) => sum + [one.plan.totalBytes, one.leftBytes][n], 0)
    ),
  );
});

Deno.test("a model too large for one card fits two, with windows, states and experts too", () => {
  for (const model of ["gemma3-12b", "qwen3.6-35b-a3b"]) {
    const type = model === "gemma3-12b" ? "Q8_0" : "Q4_K_M";
    const cards = [{ ...M40, free: 0.62 * M40.free }, { ...M40, free: 0.62 * M40.free }];
    const split = plan(model, type, cards);
    const [[first, middle], [next, last]] = layersOf(split);
    assertEquals([first, next], [0, middle + 1]);
    assert(Math.abs(2 * next - last) <= 0.2 * last, `${model}: ${middle} of ${last}`);
    assert(split.contextTokens > 8192, `${split.contextTokens}`);
    assert(split.mostContextTokens >= split.contextTokens && split.kvBlocks > 0);
    // As long as the layers' KV blocks leave room for: those are what a usual context has.
    const usual = plan(model, type, cards, { contextTokens: 8192 });
    assertEquals(layersOf(split), layersOf(usual));
    assert(split.slots === 0 || split.slots > REQUEST.maxRunning + 1, `${split.slots} slots`);
  }
});

Deno.test("of mixed cards the one with little memory gets what it has room for, in either order", () => {
  const split = plan("phi4-14b", "Q8_0", [M40, GTX_1080]);
  const [[, middle], [, last]] = layersOf(split);
  const share = 1 - (middle + 1) / (last + 1);
  assert(share > 0.25 && share < 0.45, `${share}`);
  const other = layersOf(plan("phi4-14b", "Q8_0", [GTX_1080, M40]));
  assert(Math.abs(other[0][1] - (last - middle)) <= 3, JSON.stringify([layersOf(split), other]));
  // Where both have room, the faster one has more.
  const small = layersOf(plan("llama-3.1-8b", "Q4_K_M", [M40, { ...M40, speed: 2 * M40.speed }]));
  assert(small[0][1] >= 9 && small[0][1] <= 11, JSON.stringify(small));
});

Deno.test("what does not fit is refused with what each card has room for, and with what would fit", () => {
  const cards = [{ ...M40, free: 8 * GIB }, { ...M40, free: 5 * GIB }];
  const message = refusal("phi4-14b", "Q8_0", cards);
  assertMatch(
    message,
    /^the model needs 1\d\.\d\d GiB with a context of 8192 tokens: weights 14\.\d\d GiB, KV cache 1\.\d\d GiB, activations 0\.\d\d GiB on each card; of its 40 layers: cuda:0 has 7\.75 GiB free, room for 1\d of them, cuda:1 has 4\.75 GiB free, room for \d+ of them; \d+ find no room; another card, or a smaller quantisation of the model, is needed$/,
  );
  const tight = [{ ...M40, free: 8.8 * GIB }, { ...M40, free: 8.8 * GIB }];
  const asked = refusal("phi4-14b", "Q8_0", tight, { contextTokens: 16_384 });
  const possible = Number(/a context of (\d+) tokens would fit \(--ctx \d+\)/.exec(asked)?.[1]);
  assertEquals(
    plan("phi4-14b", "Q8_0", tight, { contextTokens: possible }).contextTokens,
    possible,
  );
  refusal("phi4-14b", "Q8_0", tight, { contextTokens: possible + 32 });
  // Where no context is asked for, it is as long as there is room for.
  const less = tight.map((card) => ({ ...card, free: card.free - 0.4 * GIB }));
  assertLess(plan("phi4-14b", "Q8_0", less).contextTokens, 8192);
});

Deno.test("a card that has room for no layer is no card the less: it is said", () => {
  const message = refusal("mistral-7b", "Q4_K_M", [M40, { ...M40, free: 0.3 * GIB }]);
  assertMatch(
    message,
    /cuda:1 has 0\.05 GiB free, room for none of them; each card has to have a layer: leave out/,
  );
});

Deno.test("a model with fewer layers than there are cards is refused", () => {
  const error = assertThrows(() => plan("tiny", "F32", [M40, M40, M40, M40]), M40Error);
  assertEquals(error.code, "unsupported");
  assertMatch(
    error.message,
    /^this model can be cut into 3 parts at the most, but 4 devices are named \(cuda:0, cuda:1, cuda:2, cuda:3\): name 3 of them$/,
  );
});

Deno.test("cards alike are compared without being measured; others by what they copy, in two digits", async () => {
  const info = library.device(0);
  const cards = [{ library, context, info }, { library, context, info }];
  assertEquals(await compareBandwidths(cards), [1, 1]);
  const other = { ...info, name: "another card" };
  const found = await compareBandwidths([...cards, { library, context, info: other }]);
  assertEquals(found[0], found[1]);
  for (const bandwidth of found) {
    assert(bandwidth > 1e6, `${bandwidth}`);
    assertEquals(bandwidth, Number(bandwidth.toPrecision(2)));
  }
});
