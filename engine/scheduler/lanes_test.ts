import { assert, assertEquals } from "@std/assert";
import type { StepSequence } from "../device/step_block.ts";
import type { StepResult } from "../device/step_result.ts";
import { M40Error } from "../errors.ts";
import type { Lane, StepPlace } from "./scheduler_options.ts";
import { HostKvBlocks } from "./kv_blocks/host_kv_blocks.ts";
import { KvBlockManager } from "./kv_blocks/kv_block_manager.ts";
import { Scheduler } from "./scheduler.ts";
import type { Sequence, SequenceOptions } from "./sequences/sequence.ts";
import {
  NothingMoves,
  sameToken,
  sequence as sequenceOf,
} from "../../tests/fixtures/timed_device.ts";

const KV_BLOCK_TOKENS = 4;

/** A step that the test ends. */
interface Given {
  readonly sequences: readonly StepSequence[];
  readonly place: StepPlace;
  readonly end: () => void;
  readonly fail: (error: Error) => void;
}

/** A device with two lanes whose steps end on command. */
class LanedDevice extends NothingMoves {
  /** The step that is under way in each lane. */
  readonly underWay = new Map<Lane, Given>();

  step(sequences: readonly StepSequence[], place?: StepPlace): Promise<StepResult> {
    const { lane } = place!;
    assert(!this.underWay.has(lane), "two steps in one lane");
    return new Promise((resolve, reject) => {
      const over = () => this.underWay.delete(lane);
      const end = () => (over(), resolve(sameToken(sequences)));
      const fail = (error: Error) => (over(), reject(error));
      this.underWay.set(lane, { sequences, place: place!, end, fail });
    });
  }

  /** The step under way in a lane; fails where there is none. */
  in(lane: Lane): Given {
    const given = this.underWay.get(lane);
    assert(given !== undefined, `nothing is under way in the lane of ${lane}`);
    return given;
  }
}

class Life {
  readonly device = new LanedDevice();
  readonly kvBlocks: KvBlockManager;
  readonly scheduler: Scheduler;
  readonly ends = new Map<Sequence, unknown>();

  constructor(kvBlocks = 100, host?: HostKvBlocks) {
    this.kvBlocks = new KvBlockManager(kvBlocks, KV_BLOCK_TOKENS);
    this.scheduler = new Scheduler(this.device, this.kvBlocks, {
      maxRunning: 8,
      maxWaiting: 8,
      stepTokens: 16,
      stepOutputs: 12,
      chunkMs: 50,
      lanes: { decodeTokens: 12, prefillShare: 0.25 },
      host,
    });
  }

  /** A sequence arrives; each prompt has its own tokens. */
  arrive(
    promptTokens: number,
    maxTokens = 100,
    options: Partial<SequenceOptions> = {},
  ): Sequence {
    const first = 1000 * (1 + this.ends.size + this.scheduler.sequences().length);
    const sequence: Sequence = sequenceOf(promptTokens, maxTokens, first, {
      listener: {
        accept: () => true,
        end: (error) => void this.ends.set(sequence, error),
      },
      ...options,
    });
    this.scheduler.add(sequence);
    return sequence;
  }

  /** A decoding sequence. */
  async decoder(maxTokens = 100, options: Partial<SequenceOptions> = {}): Promise<Sequence> {
    const sequence = this.arrive(3, maxTokens, options);
    await settle();
    while (!sequence.samplesNext) {
      this.device.in("prompts").end();
      await settle();
    }
    return sequence;
  }

  async endStep(lane: Lane): Promise<void> {
    this.device.in(lane).end();
    await settle();
  }

  /** Ends whatever goes on. */
  async close(): Promise<void> {
    this.scheduler.sequences().forEach((sequence) => this.scheduler.cancel(sequence));
    for (const { end } of [...this.device.underWay.values()]) end();
    await this.scheduler.idle();
    assertEquals(this.kvBlocks.freeKvBlocks, this.kvBlocks.kvBlocks, "KV blocks were lost");
  }
}

/** Until nothing happens any more by itself. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
}

Deno.test("decoding sequences go on while a prompt is computed, which joins them at a step's border", async () => {
  const life = new Life();
  const { device } = life;
  const stream = await life.decoder();
  const long = life.arrive(40);
  await settle();
  assertEquals(device.in("prompts").sequences[0].tokens.length, 16);
  const before = stream.sampled;
  for (let i = 0; i < 5; i++) await life.endStep("decode");
  assertEquals([stream.sampled - before, long.computed], [5, 0]);
  for (const computed of [16, 32, 40]) {
    await life.endStep("prompts");
    assertEquals(long.computed, computed);
  }
  assertEquals(device.underWay.has("prompts"), false);
  assertEquals(device.in("decode").sequences.length, 1);
  await life.endStep("decode");
  assertEquals(device.in("decode").sequences.length, 2);
  await life.close();
});

Deno.test("a prompt takes its share of the device while others decode, and all of it alone", async () => {
  const life = new Life();
  const first = life.arrive(20);
  await settle();
  assertEquals(life.device.in("prompts").place.share, 1);
  await life.endStep("prompts");
  assertEquals(life.device.in("prompts").place.share, 1);
  await life.endStep("prompts");
  assert(first.samplesNext);
  life.arrive(20);
  await settle();
  assertEquals(life.device.in("prompts").place.share, 0.25);
  life.scheduler.cancel(first);
  await life.endStep("prompts");
  assertEquals(life.device.in("prompts").place.share, 1);
  await life.close();
});

for (const [failing, other] of [["decode", "prompts"], ["prompts", "decode"]] as const) {
  Deno.test(`a step that fails in the lane of ${failing} ends the sequences in it, and none in the other`, async () => {
    const life = new Life();
    const stream = await life.decoder();
    const long = life.arrive(40);
    await settle();
    const [ended, goesOn] = failing === "decode" ? [stream, long] : [long, stream];
    const failure = new M40Error("internal", "a step failed");
    life.device.in(failing).fail(failure);
    await settle();
    assertEquals([...life.ends], [[ended, failure]]);
    const computed = goesOn.computed;
    await life.endStep(other);
    assert(goesOn.computed > computed);
    await life.close();
  });

  Deno.test(`a device that is lost in the lane of ${failing} ends all sequences, though the other's step goes on`, async () => {
    const life = new Life();
    const sequences = [await life.decoder(), life.arrive(40)];
    await settle();
    const loss = new M40Error("device", "lost");
    life.device.in(failing).fail(loss);
    await settle();
    assertEquals([...life.ends], sequences.map((one) => [one, loss]));
    assertEquals(life.scheduler.status().failed, "lost");
    assert(
      life.kvBlocks.freeKvBlocks < life.kvBlocks.kvBlocks,
      "the other's step has its KV blocks still",
    );
    life.device.in(other).fail(loss);
    await life.close();
  });
}

Deno.test("KV blocks of a cancelled sequence stay held until its step is over", async () => {
  const life = new Life(8);
  await life.decoder(12);
  const long = life.arrive(16, 1);
  await settle();
  const free = life.kvBlocks.freeKvBlocks;
  life.scheduler.cancel(long);
  assertEquals([life.ends.has(long), life.kvBlocks.freeKvBlocks], [true, free]);
  life.arrive(16, 1);
  await life.endStep("decode");
  assertEquals(
    life.scheduler.status().waiting,
    1,
    "it was admitted, to KV blocks that are being written",
  );
  await life.endStep("prompts");
  assertEquals(life.scheduler.status().waiting, 0);
  await life.close();
});

Deno.test("a sequence that needs the KV blocks of a prompt being computed waits for that step, and no other is preempted", async () => {
  const life = new Life(8);
  const { device, scheduler: { counts } } = life;
  const streams = [await life.decoder(12), await life.decoder(12)];
  const long = life.arrive(16, 1);
  await settle();
  while (counts.preemptions === 0) await life.endStep("decode");
  assertEquals(long.state, "preempted");
  // A sequence with a KV block goes on until the block is full.
  while (device.underWay.has("decode")) await life.endStep("decode");
  assertEquals(counts.preemptions, 1);
  assert(streams.every(({ runs }) => runs));
  const sampled = streams.map(({ sampled }) => sampled);
  await life.endStep("prompts");
  for (let i = 0; i < 2; i++) await life.endStep("decode");
  assert(streams.every((one, i) => one.sampled > sampled[i]), "one still waits");
  await life.close();
});

Deno.test("while all decode, nothing is decided on the lane of prompts between two steps; a new sequence is admitted", async () => {
  const life = new Life();
  await life.decoder();
  await life.endStep("decode");
  const planner = life.scheduler["planner"];
  const plan = planner.plan.bind(planner);
  const planned: (Lane | undefined)[] = [];
  planner.plan = (lane) => {
    planned.push(lane);
    return plan(lane);
  };
  for (let i = 0; i < 3; i++) await life.endStep("decode");
  assertEquals(planned, ["decode", "decode", "decode"]);
  const arrived = life.arrive(3);
  await settle();
  await life.endStep("prompts");
  assert(arrived.samplesNext);
  await life.close();
});

/** A decoding sequence at the end of a KV block, and a preempted one; as many KV blocks are free as are given. */
async function besidePreempted(freeKvBlocks: number, options: Partial<SequenceOptions> = {}) {
  const life = new Life(10, new HostKvBlocks(new Uint8Array(10), 1));
  const { kvBlocks } = life;
  const oldest = await life.decoder(20, options);
  const youngest = await life.decoder(20);
  await life.endStep("decode");
  const others = kvBlocks.allocate(kvBlocks.freeKvBlocks)!;
  await life.endStep("decode");
  assertEquals([youngest.state, youngest.saved?.count], ["preempted", 1]);
  others.push(...kvBlocks.allocate(kvBlocks.freeKvBlocks)!);
  while (oldest.computed < 7) await life.endStep("decode");
  kvBlocks.release(others.splice(0, freeKvBlocks));
  await settle();
  return { life, oldest, youngest, others };
}

Deno.test("a preempted sequence does not return into KV blocks that an earlier one is to have for its next token", async () => {
  const { life, oldest, youngest, others } = await besidePreempted(2);
  assertEquals(life.device.underWay.has("prompts"), false);
  await life.endStep("decode");
  assertEquals([oldest.computed, youngest.state], [8, "preempted"]);
  await life.endStep("decode");
  assertEquals(oldest.computed, 9);
  life.kvBlocks.release(others);
  await settle();
  await life.endStep("prompts");
  assert(youngest.computed > 4);
  await life.close();
});

Deno.test("one that is preempted during a step does not return before what it made room for has its KV blocks", async () => {
  // With the fifth token six more are certain, which two KV blocks have room for.
  const steering = {
    next: ({ length }: readonly number[]) => length >= 6 && length < 12 ? 1 : undefined,
  };
  const { life, oldest, youngest, others } = await besidePreempted(3, {
    steering,
    logprobs: false,
  });
  // It takes two of the three, and one is left.
  assertEquals(life.device.in("prompts").sequences.length, 1);
  await life.endStep("decode");
  assertEquals([oldest.uncomputed, youngest.state], [6, "preempted"]);
  assertEquals(life.device.underWay.has("decode"), false);
  await life.endStep("prompts");
  assertEquals(life.device.in("decode").sequences[0].tokens.length, 7);
  await life.endStep("decode");
  assertEquals(oldest.computed, 15);
  life.kvBlocks.release(others);
  await life.close();
});
