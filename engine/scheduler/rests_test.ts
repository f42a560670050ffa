/** What a device rests between the steps of a scheduler, by a clock that the test moves. */
import { assert, assertEquals } from "@std/assert";
import type { StepSequence } from "../device/step_block.ts";
import type { StepResult } from "../device/step_result.ts";
import { KvBlockManager } from "./kv_blocks/kv_block_manager.ts";
import { Rests } from "./steps/rests.ts";
import { Scheduler } from "./scheduler.ts";
import type { SchedulerOptions, StepPlace } from "./scheduler_options.ts";
import { NothingMoves, sameToken, sequence } from "../../tests/fixtures/timed_device.ts";

const LANES = { decodeTokens: 12, prefillShare: 0.25 };

/** Whatever only waits for promises goes on. */
const settle = () => new Promise((resolve) => setTimeout(resolve));

/** A scheduler whose device ends a step on command. */
class Life {
  time = 0;
  /** The time of the steps, as computed and as reported to the pacer, in milliseconds. */
  computedMs = 0;
  reportedMs = 0;
  sampled = 0;
  readonly scheduler: Scheduler;
  private readonly underWay: (() => void)[] = [];

  constructor(options: Partial<SchedulerOptions>, rest: () => Promise<number>) {
    const step = (sequences: readonly StepSequence[], _?: StepPlace) => {
      const start = this.time;
      return new Promise<StepResult>((resolve) => {
        this.underWay.push(() => {
          this.computedMs += this.time - start;
          resolve(sameToken(sequences));
        });
      });
    };
    const device = { ...new NothingMoves(), step };
    this.scheduler = new Scheduler(device, new KvBlockManager(100, 4), {
      maxRunning: 8,
      maxWaiting: 8,
      stepTokens: 64,
      stepOutputs: 12,
      chunkMs: 50,
      now: () => this.time,
      rest: (stepMs) => (this.reportedMs += stepMs, rest()),
      ...options,
    });
  }

  ask(maxTokens: number, prompt = 3): void {
    this.scheduler.add(
      sequence(prompt, maxTokens, 10 + this.sampled, {
        listener: { accept: () => (this.sampled++, true), end: () => {} },
      }),
    );
  }

  /** The step that began first ends after so many milliseconds; false where none is under way. */
  async endStep(milliseconds: number): Promise<boolean> {
    await settle();
    const end = this.underWay.shift();
    this.time += milliseconds;
    end?.();
    await settle();
    return end !== undefined;
  }
}

for (const [name, options] of [["one lane", {}], ["two lanes", { lanes: LANES }]] as const) {
  Deno.test(`a device with ${name} rests for each step once, for as long as it took`, async () => {
    const life = new Life(options, () => Promise.resolve(0));
    life.ask(8);
    for (let i = 0; await life.endStep(i % 2 === 0 ? 5 : 90); i++) {
      if (i === 3) life.ask(4);
    }
    await life.scheduler.idle();
    // The last one is rested for when there is work again.
    life.ask(1);
    await settle();
    assertEquals(life.reportedMs, life.computedMs);
    assert(life.reportedMs > 100);
    await life.endStep(1);
    await life.scheduler.idle();
  });
}

Deno.test("samples are delivered before the device pauses", async () => {
  const waiting: (() => void)[] = [];
  const life = new Life({}, () => new Promise((resolve) => waiting.push(() => resolve(0))));
  life.ask(3);
  for (let steps = 0; steps < 3; steps++) {
    await settle();
    assertEquals(life.sampled, steps, "before the rest after a step");
    waiting.shift()!();
    await life.endStep(10);
  }
  assertEquals(life.sampled, 3);
  for (const end of waiting) end();
  await life.scheduler.idle();
});

Deno.test("what two lanes rest at the same time counts once", async () => {
  let time = 100;
  const ends: ((rested: number) => void)[] = [];
  const rests = new Rests(2, () => new Promise((resolve) => ends.push(resolve)), () => time);
  const both = [rests.before(0)];
  time += 30;
  both.push(rests.before(1));
  ends[0](50);
  ends[1](50);
  // From 100 to 150, and from 130 to 180.
  assertEquals(await Promise.all(both), [50, 30]);
  time = 500;
  const alone = rests.before(0);
  ends[2](20);
  assertEquals(await alone, 20);
});

Deno.test("what two lanes rest is summed up, though one begins to while another rests", async () => {
  const waiting: ((rested: number) => void)[] = [];
  const rest = () => new Promise<number>((resolve) => waiting.push(resolve));
  const life = new Life({ lanes: LANES }, rest);
  life.ask(1);
  await settle();
  for (const rested of [50, 80]) waiting.shift()!(rested);
  await settle();
  assertEquals(life.scheduler.counts.restedMs, 80);
  await life.endStep(10);
  while (waiting.length > 0) {
    waiting.shift()!(0);
    await settle();
  }
  await life.scheduler.idle();
});

Deno.test("a replica with two lanes takes whole steps of prompts, whatever decodes", async () => {
  const life = new Life({ lanes: LANES }, () => Promise.resolve(0));
  life.ask(10);
  await life.endStep(40);
  assertEquals(life.scheduler.promptBudget, 64);
  while (await life.endStep(40));
  await life.scheduler.idle();
});
