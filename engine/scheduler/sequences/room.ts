import { M40Error } from "../../errors.ts";
import { kvBlocksIn } from "../kv_blocks/kv_block_layout.ts";
import type { KvBlockManager, Match } from "../kv_blocks/kv_block_manager.ts";
import type { Roster } from "./roster.ts";
import type { Sequence } from "./sequence.ts";

/** Where sequences are queued: a scheduler, or the queue before several. */
export interface SequenceQueue {
  /**
   * Queues sequences, all or none.
   *
   * @throws {M40Error} "queue_full" where too many wait; "context_length_exceeded" where one could never
   * fit, "invalid_request" where so many could not; "device" where the device was lost.
   */
  add(...sequences: Sequence[]): void;
  /** Ends a sequence in any state and notifies its listener at once. */
  cancel(sequence: Sequence): void;
}

/** How many sequences there may be, and are. */
export interface QueueLimits {
  readonly maxRunning: number;
  readonly maxWaiting: number;
  readonly running: number;
  readonly waiting: number;
}

/** @throws {M40Error} As {@link SequenceQueue.add} does where so many more are too many. */
export function assertQueueRoom(
  count: number,
  { maxRunning, maxWaiting, running, waiting }: QueueLimits,
): void {
  if (count > maxWaiting + maxRunning) {
    throw new M40Error(
      "invalid_request",
      `${count} sequences at once; ${maxRunning} can run and ${maxWaiting} wait. ` +
        "Ask for fewer (n, prompts).",
    );
  }
  const places = Math.max(0, maxRunning - running);
  if (count > maxWaiting + places - waiting) {
    // Those that the next step admits do not wait.
    const queued = Math.max(0, waiting - places);
    throw new M40Error(
      "queue_full",
      `${queued} sequences wait already, and ${maxWaiting} may at most` +
        `${count === 1 ? "" : `; this request has ${count}`}; try again later`,
    );
  }
}

/** What a scheduler has to do. */
export interface SchedulerLoad {
  /** Running sequences, and those that are not admitted yet. */
  readonly sequences: number;
  /** Their tokens that no step has begun to compute, those that are sampled one a step left out. */
  readonly promptTokens: number;
}

/** What a scheduler could do with a sequence that came now. */
export interface SchedulerOffer extends SchedulerLoad {
  /** Whether it and those that come with it could run now: slots, KV blocks and states are free. */
  readonly hasRoom: boolean;
  /** Its tokens that need not be computed, because their K and V are in the KV cache. */
  readonly cachedTokens: number;
}

/** How full a {@link Roster} is, for the choice among several. It changes nothing. */
export class Room {
  constructor(
    private readonly roster: Roster,
    private readonly kvBlockManager: KvBlockManager,
    private readonly maxRunning: number,
    private readonly stepTokens: number,
  ) {}

  /** Whether there are as many KV blocks as a sequence may need. */
  fits(sequence: Sequence): boolean {
    return this.kvBlocksNeeded(sequence) <= this.kvBlockManager.kvBlocks;
  }

  /** @throws {M40Error} "context_length_exceeded" for a sequence that does not fit. */
  assertFits(sequence: Sequence): void {
    const needed = this.kvBlocksNeeded(sequence);
    if (needed <= this.kvBlockManager.kvBlocks) return;
    throw new M40Error(
      "context_length_exceeded",
      `${sequence.prompt.length + sequence.maxTokens} tokens, prompt and output together, need ` +
        `${needed} KV blocks; ` +
        `there are ${this.kvBlockManager.kvBlocks}. Ask for fewer tokens (${sequence.limitName}), or shorten the prompt.`,
    );
  }

  load(): SchedulerLoad {
    const { running, waiting } = this.roster;
    let promptTokens = 0;
    for (const one of running) if (!one.samplesNext) promptTokens += one.left;
    for (const one of waiting) promptTokens += this.uncomputed(one);
    return { sequences: running.length + waiting.length, promptTokens };
  }

  /**
   * @param count How many come together, all with the same prompt.
   * @param match An earlier match of it, which is updated where it could run.
   */
  offer(sequence: Sequence, count: number, match: Match): SchedulerOffer {
    const load = this.load();
    if (!this.hasPlaces(count)) return { ...load, hasRoom: false, cachedTokens: 0 };
    const shared = this.find(sequence, match);
    return {
      ...load,
      hasRoom: this.hasKvBlocks(sequence, count, shared),
      cachedTokens: (shared[0]?.length ?? 0) * this.kvBlockManager.kvBlockTokens,
    };
  }

  /** The cached KV blocks of its prefix. */
  private find(sequence: Sequence, match: Match): readonly number[][] {
    const { kvBlockManager, roster } = this;
    if (sequence.computesAll) return kvBlockManager.layout.groups.map(() => []);
    return kvBlockManager.kvBlocksOf(
      kvBlockManager.match(sequence.tokens, match, roster.accepted(sequence)),
    );
  }

  private kvBlocksNeeded({ prompt, maxTokens }: Sequence): number {
    return this.kvBlockManager.layout.most(prompt.length + maxTokens, this.stepTokens);
  }

  private hasPlaces(count: number): boolean {
    const { roster: { running, waiting, preempted }, kvBlockManager: { slots } } = this;
    const there = running.length + waiting.length;
    // A lone request is admitted; sequences with the same prompt may be more than can run.
    if (there > 0 && there + count > this.maxRunning) return false;
    // Preempted sequences come first.
    return preempted === 0 && (slots === undefined || slots.free > waiting.length);
  }

  private hasKvBlocks(sequence: Sequence, count: number, shared: readonly number[][]): boolean {
    const { roster: { running, waiting, spare }, kvBlockManager } = this;
    const { layout } = kvBlockManager;
    const own = layout.neededBeside(shared, sequence.tokens.length, this.stepTokens);
    const free = kvBlockManager.freeKvBlocksExcept(kvBlocksIn(shared));
    if (running.length + waiting.length === 0) return own <= free;
    const others = waiting.reduce((sum, one) => sum + this.kvBlocksOf(one), 0);
    const followers = (count - 1) * layout.groups.length;
    return own + followers + others + spare <= free;
  }

  /** How many KV blocks a waiting sequence takes once it is admitted. */
  private kvBlocksOf({ leader, match, tokens }: Sequence): number {
    const { layout } = this.kvBlockManager;
    if (leader !== undefined) return layout.groups.length;
    const shared = this.kvBlockManager.kvBlocksOf(match ?? { prefixes: [], length: 0 });
    return layout.neededBeside(shared, tokens.length, this.stepTokens);
  }

  /** Tokens of one that waits which have to be computed. */
  private uncomputed({ leader, saved, match, tokens, computed }: Sequence): number {
    if (saved !== undefined) return tokens.length - computed;
    if (leader !== undefined) return 1;
    return tokens.length - (match?.length ?? 0) * this.kvBlockManager.kvBlockTokens;
  }
}
