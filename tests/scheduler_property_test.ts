import { assert, assertEquals } from "@std/assert";
import type { StepSequence } from "../engine/device/step_block.ts";
import type { StepOutput, StepResult } from "../engine/device/step_result.ts";
import { SAMPLING_DEFAULTS } from "../engine/sampling/parameters.ts";
import { BlockManager } from "../engine/scheduler/block_manager.ts";
import { HostPages } from "../engine/scheduler/host_pages.ts";
import { Scheduler } from "../engine/scheduler/scheduler.ts";
import { Sequence } from "../engine/scheduler/sequence.ts";

// A device that computes nothing but keeps what is written to its pages: each slot holds a token and
// the hash of all tokens before it. What it draws follows from that hash alone, so that a sequence that
// reads a wrong page, or one written by another, draws something else than it would alone.

const END = 0;
const VOCABULARY = 11;

/** xorshift32: the same cases for the same seed. */
class Random {
  constructor(private state: number) {
    this.state = (state | 1) >>> 0;
  }
  below(n: number): number {
    let x = this.state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.state = x >>> 0;
    return this.state % n;
  }
}

function mix(hash: number, token: number): number {
  let h = Math.imul(hash ^ token, 0x9e3779b1);
  h ^= h >>> 15;
  h = Math.imul(h, 0x85ebca6b);
  return (h ^ (h >>> 13)) >>> 0;
}

function drawnAfter(hash: number, endOdds: number): number {
  return hash % endOdds === 0 ? END : 1 + (hash >>> 8) % (VOCABULARY - 1);
}

/** What a sequence draws when it is served alone. */
function alone(prompt: readonly number[], maxTokens: number, endOdds: number): number[] {
  let hash = prompt.reduce(mix, 1);
  const drawn: number[] = [];
  while (drawn.length < maxTokens) {
    const token = drawnAfter(hash, endOdds);
    drawn.push(token);
    if (token === END) break;
    hash = mix(hash, token);
  }
  return drawn;
}

class FakeDevice {
  private readonly hashes: Uint32Array;
  steps = 0;
  /** Called in the middle of every step. */
  during = () => {};

  constructor(
    pages: number,
    private readonly pageTokens: number,
    private readonly endOdds: number,
    private readonly limits: { running: number; stepTokens: number },
  ) {
    this.hashes = new Uint32Array(pages * pageTokens);
  }

  step(sequences: readonly StepSequence[]): Promise<StepResult> {
    this.steps++;
    queueMicrotask(this.during);
    assert(sequences.length <= this.limits.running, "more sequences than may run");
    const tokens = sequences.reduce((sum, one) => sum + one.tokens.length, 0);
    assert(tokens <= this.limits.stepTokens, "more tokens than a step may have");
    const written = new Set<number>();
    const outputs: StepOutput[] = [];
    let prompts = false;
    for (const sequence of sequences) {
      if (sequence.decode) assert(!prompts && sequence.tokens.length === 1, "decoding comes first");
      else prompts = true;
      const { pages, position } = sequence;
      const slot = (at: number) =>
        pages[Math.floor(at / this.pageTokens)] * this.pageTokens + at % this.pageTokens;
      let hash = position === 0 ? 1 : this.hashes[slot(position - 1)];
      for (let i = 0; i < sequence.tokens.length; i++) {
        hash = mix(hash, sequence.tokens[i]);
        const at = slot(position + i);
        assert(!written.has(at), "two sequences write to one slot");
        written.add(at);
        this.hashes[at] = hash;
      }
      assert(pages.length * this.pageTokens >= position + sequence.tokens.length);
      for (const _ of sequence.outputs) {
        const sample = { token: drawnAfter(hash, this.endOdds), logprob: 0, top: [] };
        outputs.push({ status: "ok", sample });
      }
    }
    return Promise.resolve({ outputs });
  }

  async copyPages(from: Uint32Array, to: Uint32Array): Promise<void> {
    from.forEach((page, i) => this.page(to[i]).set(this.page(page)));
  }

  async savePages(pages: Uint32Array, memory: Uint8Array): Promise<void> {
    pages.forEach((page, i) =>
      memory.set(new Uint8Array(this.page(page).slice().buffer), i * this.pageTokens * 4)
    );
    // What is saved may be written over at once.
    for (const page of pages) this.page(page).fill(0xDEADBEEF);
  }

  async restorePages(pages: Uint32Array, memory: Uint8Array): Promise<void> {
    const size = this.pageTokens * 4;
    pages.forEach((page, i) =>
      this.page(page).set(new Uint32Array(memory.slice(i * size, (i + 1) * size).buffer))
    );
  }

  private page(page: number): Uint32Array {
    return this.hashes.subarray(page * this.pageTokens, (page + 1) * this.pageTokens);
  }
}

/** One random life of a scheduler; returns its steps and what happened. */
async function run(seed: number) {
  const random = new Random(seed);
  const pageTokens = 1 << random.below(4);
  const pages = 6 + random.below(40);
  const maxRunning = 1 + random.below(8);
  const stepTokens = maxRunning + 1 + random.below(24);
  const endOdds = 5 + random.below(60);
  const device = new FakeDevice(pages, pageTokens, endOdds, { running: maxRunning, stepTokens });
  const blocks = new BlockManager(pages, pageTokens);
  const pageBytes = pageTokens * 4;
  const hostMemory = new Uint8Array(random.below(3) * random.below(30) * pageBytes);
  // Saving a page that others share as well would spoil it in this device: so nothing is shared with it.
  const host = hostMemory.length > 0
    ? new HostPages(new Sharing(device, blocks), hostMemory, pageBytes)
    : undefined;
  const scheduler = new Scheduler(device, blocks, device, {
    maxRunning,
    maxWaiting: 1000,
    stepTokens,
    chunkMs: 10,
  }, host);

  const prefixes = Array.from(
    { length: 3 },
    () => Array.from({ length: random.below(20) }, () => 1 + random.below(VOCABULARY - 1)),
  );
  const ended: Promise<void>[] = [];
  /** Arrivals and cancellations that happen in the middle of some step. */
  const later: (() => void)[] = [];
  const counts = { sequences: 0, cancelled: 0 };
  const most = pages * pageTokens;
  const newSequence = (leader?: Sequence): Sequence => {
    const own = Array.from(
      { length: 1 + random.below(12) },
      () => 1 + random.below(VOCABULARY - 1),
    );
    const prompt = leader?.prompt ?? [...prefixes[random.below(3)], ...own].slice(-most + 1);
    const maxTokens = 1 + random.below(Math.min(40, most - prompt.length));
    const expected = alone(prompt, maxTokens, endOdds);
    const got: number[] = [];
    // Some stop early by themselves, as at a stop string; some are cancelled from outside.
    const stopAfter = random.below(5) === 0 ? 1 + random.below(maxTokens) : Infinity;
    let done!: () => void;
    let over = false;
    let cancelled = false;
    ended.push(new Promise((resolve) => done = resolve));
    counts.sequences++;
    const sequence: Sequence = new Sequence({
      prompt,
      maxTokens,
      sampling: SAMPLING_DEFAULTS,
      topLogprobs: 0,
      endTokens: new Set([END]),
      leader,
      listener: {
        accept(sample) {
          assert(!over, "a token after the end");
          got.push(sample.token);
          assertEquals(got, expected.slice(0, got.length));
          return got.length < stopAfter;
        },
        end(error) {
          assert(!over, "ended twice");
          over = true;
          if (error !== undefined) throw error;
          if (!cancelled) {
            assertEquals(got, expected.slice(0, Math.min(stopAfter, expected.length)));
          }
          done();
        },
      },
    });
    if (random.below(6) === 0) {
      later.push(() => {
        if (over) return;
        cancelled = true;
        counts.cancelled++;
        scheduler.cancel(sequence);
      });
    }
    return sequence;
  };
  const arrive = () => {
    const leader = newSequence();
    const followers = random.below(5) === 0
      ? Array.from({ length: 1 + random.below(3) }, () => newSequence(leader))
      : [];
    scheduler.add(leader, ...followers);
  };
  for (let i = 10 + random.below(40); i > 0; i--) {
    if (random.below(2) === 0) arrive();
    else later.push(arrive);
  }
  device.during = () => {
    if (later.length > 0 && random.below(4) === 0) later.splice(random.below(later.length), 1)[0]();
  };
  while (later.length > 0) {
    arrive();
    await scheduler.idle();
  }
  await Promise.all(ended);
  await scheduler.idle();
  assertEquals(blocks.freePages, pages, "pages were lost");
  assertEquals(host?.usage.saved ?? 0, 0, "saved pages were forgotten");
  assertEquals(scheduler.status(), { running: 0, waiting: 0, preempted: 0, failed: undefined });
  assertEquals(scheduler.counts.steps, device.steps);
  return { ...counts, ...scheduler.counts };
}

/** Saves pages without spoiling those that somebody else holds too. */
class Sharing {
  constructor(private readonly device: FakeDevice, private readonly blocks: BlockManager) {}
  async savePages(pages: Uint32Array<ArrayBuffer>, memory: Uint8Array<ArrayBuffer>): Promise<void> {
    const shared = pages.filter((page) => !this.blocks.isWritable(page));
    const copy = new Uint8Array(memory.length);
    this.device.savePages(pages, memory);
    copy.set(memory);
    // Put back what others still need.
    const size = memory.length / pages.length;
    pages.forEach((page, i) => {
      if (shared.includes(page)) {
        this.device.restorePages(Uint32Array.of(page), copy.subarray(i * size, (i + 1) * size));
      }
    });
  }
  async restorePages(
    pages: Uint32Array<ArrayBuffer>,
    memory: Uint8Array<ArrayBuffer>,
  ): Promise<void> {
    this.device.restorePages(pages, memory);
  }
}

Deno.test("whatever comes and goes, each sequence draws what it would alone, and no page is lost", async () => {
  const runs = Number(Deno.env.get("M40_SCHEDULER_RUNS") ?? 12_000);
  const first = Number(Deno.env.get("M40_SCHEDULER_SEED") ?? 1);
  const sums = { steps: 0, preemptions: 0, recomputations: 0, cachedTokens: 0, cancelled: 0 };
  for (let seed = first; seed < first + runs; seed++) {
    try {
      const result = await run(seed * 7919);
      for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += result[key];
    } catch (error) {
      throw new Error(`seed ${seed}: M40_SCHEDULER_SEED=${seed} M40_SCHEDULER_RUNS=1`, {
        cause: error,
      });
    }
  }
  console.log(JSON.stringify({ runs, ...sums }));
  for (const [what, count] of Object.entries(sums)) assert(count > 0, `no ${what} happened`);
});
