import type { M40Error } from "../../errors.ts";
import type { Match, Scheduler, Sequence } from "../../scheduler/mod.ts";

/** A replica as the queue before all of them sees it. */
export interface QueueMember {
  /** Its device's name; a replica that was loaded again keeps it. */
  readonly name: string;
  readonly scheduler: Scheduler;
  /** Cards of one kind compute the same bits. */
  readonly kind: string;
  /** Sequences that run at the same time. */
  readonly maxRunning: number;
  /** The error of its loss, before a step has reported it. */
  readonly loss: M40Error | undefined;
}

/** Sequences that wait together for a replica: one, or those with the same prompt, of which the first leads the others. */
export class Waiting {
  readonly sequences: Sequence[];
  /** Their position in the queue. */
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
   * Whether a replica can compute them. Sequences that have begun need a card of the same kind, for the same bits. A
   * sequence of a lost card does not return to that card, even if it is ready again: it may not last.
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

  /** One of them waits no longer. If it led the others, the next one leads them; a lone one has no followers. */
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
