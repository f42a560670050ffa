import type { M40Error } from "../../errors.ts";
import type { Match, Scheduler, Sequence } from "../../scheduler/mod.ts";

/** A replica as the queue before all of them sees it. */
export interface QueueMember {
  /** Its device's name; who is there again after a loss has the same. */
  readonly name: string;
  readonly scheduler: Scheduler;
  /** Cards of one kind compute the same bits. */
  readonly kind: string;
  /** Sequences that run at the same time. */
  readonly maxRunning: number;
  /** How it was lost, where it was and no step has told yet. */
  readonly loss: M40Error | undefined;
}

/** Sequences that wait together for a replica: one, or those with the same prompt, of which the first leads the others. */
export class Waiting {
  readonly sequences: Sequence[];
  /** Their place in the queue. */
  readonly arrival: number;
  /** What was found of their prompt, by replica. A scheduler keeps the one that it gets. */
  private readonly matches = new Map<Scheduler, Match>();

  /** @param lost Where they were on a replica that was lost: what it was, and whether they had begun there. */
  constructor(
    sequences: readonly Sequence[],
    private readonly lost?: Pick<QueueMember, "name" | "kind"> & { readonly hasBegun: boolean },
  ) {
    this.sequences = [...sequences];
    this.arrival = sequences[0].arrival;
  }

  /**
   * Whether a replica can compute them. What has begun goes on with the same bits, so on a card of the same kind; and what
   * was on a card that was lost is not given to it again, though it be back: it may not last.
   */
  suits({ name, kind, scheduler }: QueueMember): boolean {
    if (this.lost?.name === name || this.lost?.hasBegun && this.lost.kind !== kind) return false;
    return this.sequences.every((one) => scheduler.room.fits(one));
  }

  /** What is known of their prompt on a replica. */
  match(scheduler: Scheduler): Match {
    let match = this.matches.get(scheduler);
    if (match === undefined) this.matches.set(scheduler, match = { prefixes: [], length: 0 });
    return match;
  }

  /** One of them waits no longer; if it led the others, the next of them does, and one that is alone leads nobody. */
  drop(sequence: Sequence): void {
    const place = this.sequences.indexOf(sequence);
    if (place < 0) return;
    this.sequences.splice(place, 1);
    const [heir, ...others] = this.sequences;
    if (heir === undefined) return;
    if (place > 0) {
      if (others.length === 0) heir.leads = false;
      return;
    }
    heir.leader = undefined;
    for (const other of others) other.leader = heir;
    heir.leads = others.length > 0;
  }
}

/** Sequences that come together, those with the same leader in one group. */
export function waitingGroups(sequences: readonly Sequence[]): Waiting[] {
  const groups = Map.groupBy(sequences, (one) => one.leader ?? one);
  return [...groups.values()].map((group) => new Waiting(group));
}
