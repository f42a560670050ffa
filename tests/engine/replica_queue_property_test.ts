import { assert, assertEquals } from "@std/assert";
import { isDeviceLoss, M40Error } from "../../engine/errors.ts";
import { ReplicaQueue } from "../../engine/parallel/replicas/replica_queue.ts";
import type { QueueMember, Waiting } from "../../engine/parallel/replicas/waiting.ts";
import { SAMPLING_DEFAULTS } from "../../engine/sampling/parameters.ts";
import { HostKvBlocks } from "../../engine/scheduler/kv_blocks/host_kv_blocks.ts";
import { KvBlockManager } from "../../engine/scheduler/kv_blocks/kv_block_manager.ts";
import { Scheduler } from "../../engine/scheduler/scheduler.ts";
import { Sequence } from "../../engine/scheduler/sequences/sequence.ts";
import { SlotManager } from "../../engine/scheduler/kv_blocks/slot_manager.ts";
import { alone, END, hiddenAlone, VOCABULARY } from "../fixtures/fake_answers.ts";
import { FakeDevice, type FakeDeviceOptions } from "../fixtures/fake_device.ts";
import { Random } from "../fixtures/random.ts";

// Random lives of the queue before several replicas: requests come, are cancelled and end; replicas are lost during
// steps and come back.

/** What happened; each must happen in some life. */
const EVENTS = {
  sequences: 0,
  samples: 0,
  hidden: 0,
  cancelled: 0,
  cancelledWaiting: 0,
  losses: 0,
  returns: 0,
  allLost: 0,
  moved: 0,
  movedBegun: 0,
  ended: 0,
  cachedTokens: 0,
  /** Later sequences that began while an earlier one waited. */
  overtaken: 0,
  refused: 0,
  others: 0,
};

interface Client {
  readonly sequence: Sequence;
  readonly expected: readonly number[];
  readonly got: number[];
  readonly ends: unknown[];
  cancelled: boolean;
}

class Life {
  readonly events = { ...EVENTS };
  private readonly random: Random;
  private readonly shape: FakeDeviceOptions;
  private readonly queue: ReplicaQueue;
  private readonly clients: Client[] = [];
  private readonly managers: KvBlockManager[] = [];
  private readonly prefixes: number[][];
  /** Of each seed what tokens were sampled from: the bits must be the same on all replicas of a kind. */
  private readonly bits = new Map<string, unknown>();
  private members = 0;
  private left: number;
  private readonly lossOdds: number;

  constructor(seed: number) {
    const random = this.random = new Random(seed);
    const maxRunning = 1 + random.below(5);
    this.shape = {
      kvBlocks: 12 + random.below(40),
      kvBlockTokens: 1 << random.below(4),
      endOdds: 8 + random.below(60),
      maxRunning,
      stepTokens: maxRunning + 1 + random.below(24),
      stepOutputs: maxRunning,
      slots: random.once(3) ? 3 + random.below(2 * maxRunning) : undefined,
    };
    this.left = 30 + random.below(60);
    this.lossOdds = random.once(3) ? Infinity : 40 + random.below(200);
    this.prefixes = Array.from(
      { length: 3 },
      () => Array.from({ length: random.below(24) }, () => 1 + random.below(VOCABULARY - 1)),
    );
    this.queue = new ReplicaQueue(random.below(30), undefined, () => 0);
    this.watchQueue();
    for (let i = 2 + random.below(3); i > 0; i--) this.addReplica();
  }

  private addReplica(): void {
    const { random, shape, queue } = this;
    const { slots, kvBlockTokens, maxRunning, stepTokens, stepOutputs } = shape;
    // One may be of another kind, and have fewer KV blocks.
    const other = random.once(5);
    if (other) this.events.others++;
    const kvBlocks = other ? 12 + random.below(shape.kvBlocks - 11) : shape.kvBlocks;
    const device = new FakeDevice({ ...shape, kvBlocks });
    const kind = other ? "other" : "usual";
    const name = this.names.pop() ?? `card ${this.members++}`;
    const sampledFrom = this.bits.get(kind) ?? device["sampledFrom"];
    this.bits.set(kind, sampledFrom);
    Object.assign(device, { sampledFrom });
    device.delay = () => random.below(12);
    device.during = () => this.during();
    let lost = false;
    device.fault = () => {
      if (!lost && this.lossOdds !== Infinity && random.once(this.lossOdds)) lost = true;
      if (lost) throw new M40Error("device", "lost");
    };
    const kvBlockManager = new KvBlockManager(
      kvBlocks,
      kvBlockTokens,
      undefined,
      slots === undefined ? undefined : new SlotManager(slots),
    );
    this.managers.push(kvBlockManager);
    const bytes = random.below(3) * random.below(10) * device.kvBlockBytes;
    const scheduler = new Scheduler(device, kvBlockManager, {
      name,
      maxRunning,
      maxWaiting: 0,
      stepTokens,
      stepOutputs,
      chunkMs: 10,
      host: bytes > 0 ? new HostKvBlocks(new Uint8Array(bytes), device.kvBlockBytes) : undefined,
      onChange: () => queue.notice(),
      onLoss: (loss) => {
        this.events.losses++;
        const before = new Set(loss.sequences);
        this.there.delete(member);
        queue.lose(member, loss);
        for (const one of before) this.checkMove(one, member);
        if (queue.failed !== undefined) this.events.allLost++;
        else if (!random.once(3)) {
          this.later.push(() => {
            this.names.push(name);
            this.comeBack();
          });
        }
      },
    });
    const member: QueueMember = { name, scheduler, kind, maxRunning, loss: undefined };
    this.there.add(member);
    queue.join(member);
  }

  /** A replica of a kind was lost: what it had to do waits for another, but where there is none or it has lost one before. */
  private checkMove(sequence: Sequence, { name, kind }: QueueMember): void {
    const begun = sequence.sampled > 0 || sequence.hiddenTaken > 0;
    const others = [...this.there].filter((one) =>
      one.name !== name && (!begun || one.kind === kind)
    );
    const waits = this.queue.sequences().includes(sequence);
    const has = this.movedOnce.has(sequence);
    assertEquals(waits, !has && others.some(({ scheduler }) => scheduler.room.fits(sequence)));
    if (!waits) return;
    this.movedOnce.add(sequence);
    this.lostOn.set(sequence, name);
    this.events.moved++;
    if (begun) this.events.movedBegun++;
  }

  /** Looks at the queue after every decision. */
  private watchQueue(): void {
    const queue = this.queue as unknown as {
      pump(): void;
      waiting: Waiting[];
      give(waits: Waiting, member: QueueMember): void;
    };
    const { pump, give } = queue;
    queue.pump = () => {
      pump.call(queue);
      for (const waits of queue.waiting) {
        if (waits.sequences.some(({ stepsUnderWay }) => stepsUnderWay > 0)) continue;
        const suitable = [...this.there].filter((one) => waits.suits(one));
        const idle = suitable.filter(({ scheduler }) => scheduler.sequences().length === 0);
        // It may wait for another one that has its prefix.
        const hasBegun = suitable.some(({ scheduler }) => waits.match(scheduler).length > 0);
        if (idle.length > 0 && (!hasBegun || idle.length === suitable.length)) {
          this.problems.push("a sequence waits while a replica is idle");
        }
      }
    };
    queue.give = (waits, member) => {
      for (const one of waits.sequences) {
        if (this.lostOn.get(one) === member.name) this.problems.push("where it was lost");
      }
      for (const other of queue.waiting) {
        if (other.arrival >= waits.arrival || !other.suits(member)) continue;
        // An earlier sequence waits for another replica, or for a step that is not over.
        if (other.sequences.some(({ stepsUnderWay }) => stepsUnderWay > 0)) continue;
        const [first] = other.sequences;
        const { length } = other.sequences;
        const suitable = [...this.there].filter((one) => other.suits(one));
        const offers = suitable.map(({ scheduler }) =>
          scheduler.room.offer(first, length, other.match(scheduler))
        );
        const { hasRoom, promptTokens } = offers[suitable.indexOf(member)];
        const begins = hasRoom && promptTokens < member.scheduler.promptBudget;
        const waitsForOther = suitable.some((one) =>
          one !== member && other.match(one.scheduler).length > 0
        );
        if (begins && !waitsForOther) this.problems.push(`overtaken on ${member.name}`);
        if (offers.every(({ hasRoom }) => !hasRoom)) {
          this.problems.push(`overtaken on ${member.name} while it waits for room`);
        }
        this.events.overtaken++;
      }
      give.call(queue, waits, member);
    };
  }

  private readonly later: (() => void)[] = [];
  private readonly names: string[] = [];
  private readonly there = new Set<QueueMember>();
  private readonly movedOnce = new Set<Sequence>();
  private readonly lostOn = new Map<Sequence, string>();
  private readonly problems: unknown[] = [];

  private comeBack(): void {
    if (this.queue.failed !== undefined) return;
    this.events.returns++;
    this.addReplica();
  }

  /** During every step. */
  private during(): void {
    const { random } = this;
    try {
      if (random.once(3)) this.arrive();
      if (random.once(8)) this.later.shift()?.();
      if (random.once(12) && this.clients.length > 0) this.cancel();
    } catch (error) {
      this.problems.push(error);
    }
  }

  private arrive(): void {
    if (this.left <= 0) return;
    this.left--;
    const { random, shape, events } = this;
    const prefix = this.prefixes[random.below(3)];
    const prompt = [
      ...prefix.slice(0, random.below(prefix.length + 1)),
      ...Array.from({ length: 1 + random.below(12) }, () => 1 + random.below(VOCABULARY - 1)),
    ];
    const isHidden = shape.slots === undefined && random.once(10);
    const count = isHidden || !random.once(4) ? 1 : 2 + random.below(3);
    const made: Client[] = [];
    for (let i = 0; i < count; i++) {
      made.push(this.client(prompt, 1 + random.below(30), isHidden, made[0]?.sequence));
    }
    try {
      this.queue.add(...made.map(({ sequence }) => sequence));
    } catch (error) {
      assert(error instanceof M40Error);
      assert(
        ["queue_full", "invalid_request", "context_length_exceeded", "device"].includes(error.code),
        error.message,
      );
      events.refused++;
      return;
    }
    this.clients.push(...made);
    events.sequences += count;
    if (count > 1) events.samples++;
    if (isHidden) events.hidden++;
  }

  private client(
    prompt: readonly number[],
    maxTokens: number,
    isHidden: boolean,
    leader?: Sequence,
  ): Client {
    const got: number[] = [];
    const ends: unknown[] = [];
    const seed = BigInt(this.events.sequences + this.clients.length + this.events.refused * 1000);
    const sequence = new Sequence({
      prompt,
      maxTokens: isHidden ? 0 : maxTokens,
      sampling: { ...SAMPLING_DEFAULTS, temperature: 0, seed },
      topLogprobs: 0,
      endTokens: new Set([END]),
      leader,
      ...(isHidden
        ? { hidden: { of: "all" as const, take: ([a, b]: Float32Array) => got.push(a, b) } }
        : {}),
      listener: {
        accept: ({ token }) => {
          got.push(token);
          return true;
        },
        end: (error) => ends.push(error),
      },
    });
    const expected = isHidden
      ? hiddenAlone(prompt).flatMap((values) => [...values])
      : alone(prompt, maxTokens, this.shape.endOdds);
    return { sequence, expected, got, ends, cancelled: false };
  }

  private cancel(): void {
    const client = this.clients[this.random.below(this.clients.length)];
    if (client.ends.length > 0) return;
    client.cancelled = true;
    this.events.cancelled++;
    if (this.queue.sequences().includes(client.sequence)) this.events.cancelledWaiting++;
    this.queue.cancel(client.sequence);
    assertEquals(client.ends.length, 1, "it is notified at once");
  }

  async live(): Promise<void> {
    while (this.left > 0) {
      this.arrive();
      if (this.random.once(3)) await this.queue.idle();
      this.later.shift()?.();
      if (this.queue.failed !== undefined) break;
    }
    await this.queue.idle();
    // The sequences of a lost replica may be notified a moment later.
    for (let i = 0; i < 100; i++) await undefined;
    this.check();
  }

  private check(): void {
    assertEquals(this.problems, []);
    for (const { sequence, expected, got, ends, cancelled } of this.clients) {
      assertEquals(ends.length, 1, "each ends once");
      assertEquals(sequence.state, "finished");
      const [error] = ends;
      assertEquals(got, expected.slice(0, got.length), "it got what it would get alone");
      if (error !== undefined) {
        assert(isDeviceLoss(error) && /^card \d+: lost$/.test(error.message), String(error));
        this.events.ended++;
      } else if (!cancelled) assertEquals(got, [...expected]);
      this.events.cachedTokens += sequence.cached;
    }
    for (const manager of this.managers) {
      assertEquals(manager.freeKvBlocks, manager.kvBlocks, "no KV block is held");
      if (manager.slots) assertEquals(manager.slots.free, manager.slots.slots);
    }
  }
}

Deno.test("whatever comes, goes and is lost, each sequence ends once with what it would sample alone, and nothing is held", async () => {
  const runs = Number(Deno.env.get("M40_REPLICA_RUNS") ?? 150);
  const first = Number(Deno.env.get("M40_REPLICA_SEED") ?? 1);
  const sums = { ...EVENTS };
  for (let seed = first; seed < first + runs; seed++) {
    const life = new Life(seed * 7919);
    try {
      await life.live();
    } catch (error) {
      throw new Error(`seed ${seed}: M40_REPLICA_SEED=${seed} M40_REPLICA_RUNS=1`, {
        cause: error,
      });
    }
    for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += life.events[key];
  }
  console.log(JSON.stringify({ runs, ...sums }));
  for (const [what, count] of Object.entries(sums)) assert(count > 0, `no ${what} happened`);
});
