import type { M40Error } from "../../errors.ts";
import {
  assertQueueRoom,
  type SchedulerLoss,
  type Sequence,
  type SequenceQueue,
} from "../../scheduler/mod.ts";
import { chooseReplica } from "./choice.ts";
import { type QueueMember, Waiting, waitingGroups } from "./waiting.ts";

/**
 * The queue before several replicas. A sequence waits here until a replica can compute it with its next step, so that
 * it never waits behind others while another replica is free. {@link chooseReplica} chooses the replica. First come,
 * first served: while a sequence waits for a replica, or for room on any, no later one begins there.
 *
 * Sequences of a lost replica return to the front of the queue, once: one that takes part in the loss of two replicas
 * ends with the second.
 */
export class ReplicaQueue implements SequenceQueue {
  private readonly members = new Set<QueueMember>();
  /** In the order of their arrival. */
  private waiting: Waiting[] = [];
  private readonly owners = new WeakMap<Sequence, QueueMember>();
  /** Those that have lost a replica. */
  private readonly moved = new WeakSet<Sequence>();
  private arrivals = 0;
  private failure?: M40Error;
  private pumps = false;
  private idlers: (() => void)[] = [];

  /**
   * @param maxWaiting Sequences that may wait.
   * @param onListenerError Receives what a listener threw at its end.
   */
  constructor(
    private readonly maxWaiting: number,
    private readonly onListenerError: (error: unknown) => void = () => {},
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** The error of the last replica's loss, once none is left. */
  get failed(): M40Error | undefined {
    return this.failure;
  }

  /** Those that wait to be given to a replica, in the order of their arrival. */
  sequences(): readonly Sequence[] {
    return this.waiting.flatMap(({ sequences }) => sequences);
  }

  /** A replica is ready. */
  join(member: QueueMember): void {
    this.members.add(member);
    this.notice();
  }

  add(...sequences: Sequence[]): void {
    if (this.failure) throw this.failure;
    const members = [...this.members];
    for (const sequence of sequences) assertFitsSomewhere(sequence, members);
    let [running, waiting, maxRunning] = [0, this.waitingCount, 0];
    for (const member of members) {
      const { scheduler } = member;
      maxRunning += member.maxRunning;
      const status = scheduler.status();
      running += status.running;
      waiting += status.waiting;
    }
    const { maxWaiting } = this;
    assertQueueRoom(sequences.length, { maxRunning, maxWaiting, running, waiting });
    const now = this.now();
    for (const sequence of sequences) {
      sequence.arrival = this.arrivals++;
      sequence.arrivedAt = now;
    }
    this.waiting.push(...waitingGroups(sequences));
    this.notice();
  }

  cancel(sequence: Sequence): void {
    const owner = this.owners.get(sequence);
    if (owner !== undefined) return owner.scheduler.cancel(sequence);
    this.end(sequence);
    this.waiting.find((one) => one.sequences.includes(sequence))?.drop(sequence);
    this.notice();
  }

  /** Something has changed that may let a sequence begin. Simultaneous changes are handled together. */
  notice(): void {
    if (this.pumps) return;
    this.pumps = true;
    queueMicrotask(() => {
      this.pumps = false;
      this.pump();
    });
  }

  /** A replica is lost, and no more here: what others can compute waits for them. */
  lose(member: QueueMember, { error, sequences, migrate }: SchedulerLoss): void {
    this.members.delete(member);
    if (this.members.size === 0) this.failure = error;
    for (const sequence of sequences) {
      const { name, kind } = member;
      const hasBegun = sequence.sampled > 0 || sequence.hiddenTaken > 0;
      const waits = new Waiting([sequence], { name, kind, hasBegun });
      if (this.moved.has(sequence) || !this.hasMemberFor(waits)) continue;
      this.moved.add(sequence);
      this.owners.delete(sequence);
      migrate(sequence);
      this.waiting.push(waits);
    }
    this.waiting.sort((a, b) => a.arrival - b.arrival);
    for (const waits of this.waiting) {
      if (!this.hasMemberFor(waits)) {
        for (const one of [...waits.sequences]) this.end(one, error);
      }
    }
    this.notice();
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    do {
      if (this.waitingCount > 0) {
        await new Promise<void>((resolve) => this.idlers.push(resolve));
      }
      await Promise.all([...this.members].map(({ scheduler }) => scheduler.idle()));
    } while (this.waitingCount > 0 || [...this.members].some(isBusy));
  }

  private get waitingCount(): number {
    return this.waiting.reduce((sum, { sequences }) => sum + sequences.length, 0);
  }

  /** Gives waiting sequences to replicas that can begin with them. */
  private pump(): void {
    this.dropOver();
    if (this.waiting.length > 0) this.findLosses();
    const awaited = new Map<QueueMember, number>();
    for (const waits of [...this.waiting]) {
      if (awaited.size === this.members.size) break;
      // A step of a replica that was lost is not over yet.
      if (waits.sequences.some(({ stepsUnderWay }) => stepsUnderWay > 0)) continue;
      const members = [...this.members].filter((one) => waits.suits(one));
      const [first] = waits.sequences;
      const offers = members.map((member) => {
        const { scheduler } = member;
        const offer = scheduler.room.offer(first, waits.sequences.length, waits.match(scheduler));
        return {
          ...offer,
          promptTokens: offer.promptTokens + (awaited.get(member) ?? 0),
          promptBudget: scheduler.promptBudget,
          isAwaited: awaited.has(member),
        };
      });
      const choice = chooseReplica(first.tokens.length, offers);
      if (choice?.begins) {
        this.give(waits, members[choice.index]);
        continue;
      }
      // A sequence without room on any replica waits for all of them.
      for (const i of choice === undefined ? offers.keys() : [choice.index]) {
        const own = first.tokens.length - offers[i].cachedTokens;
        awaited.set(members[i], (awaited.get(members[i]) ?? 0) + own);
      }
    }
    this.wakeIdlers();
  }

  private give(waits: Waiting, member: QueueMember): void {
    const { sequences } = waits;
    this.waiting.splice(this.waiting.indexOf(waits), 1);
    for (const sequence of sequences) {
      this.owners.set(sequence, member);
      // Found already; it is updated when the sequence is admitted.
      if (!sequence.computesAll) sequence.match = waits.match(member.scheduler);
    }
    member.scheduler.take(sequences);
  }

  /** Looks for replicas that are lost: a process may end while nothing is asked of it. */
  findLosses(): void {
    for (const { loss, scheduler } of [...this.members]) {
      if (loss !== undefined) scheduler.fail(loss);
    }
  }

  private hasMemberFor(waits: Waiting): boolean {
    return [...this.members].some((member) => waits.suits(member));
  }

  /** Forgets those that nothing comes of any more. */
  private dropOver(): void {
    for (const waits of this.waiting) {
      for (const one of [...waits.sequences]) if (one.state === "finished") waits.drop(one);
    }
    this.waiting = this.waiting.filter(({ sequences }) => sequences.length > 0);
  }

  private end(sequence: Sequence, error?: unknown): void {
    if (sequence.state !== "finished") sequence.become("finished");
    try {
      sequence.notifyEnd(error);
    } catch (thrown) {
      this.onListenerError(thrown);
    }
  }

  private wakeIdlers(): void {
    if (this.waiting.length > 0) return;
    for (const wake of this.idlers.splice(0)) wake();
  }
}

function isBusy({ scheduler }: QueueMember): boolean {
  return scheduler.sequences().length > 0;
}

/** Fails with a replica's reason where none of them has KV blocks for a sequence. */
function assertFitsSomewhere(sequence: Sequence, members: readonly QueueMember[]): void {
  let reason: unknown;
  for (const { scheduler } of members) {
    try {
      return scheduler.room.assertFits(sequence);
    } catch (error) {
      reason = error;
    }
  }
  throw reason;
}
