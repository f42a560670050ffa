import type { Match } from "../scheduler/page_manager.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { Sequence } from "../scheduler/sequence.ts";

/** Sequences that wait together for a replica: one, or those with the same prompt, of which the first leads the others. */
export class Waiting {
  readonly sequences: Sequence[];
  /** Their place in the queue. */
  readonly arrival: number;
  /** What was found of their prompt, by replica. A scheduler keeps the one that it gets. */
  private readonly matches = new Map<Scheduler, Match>();

  /** @param kind Where given, only cards of this kind go on with what others have begun: they compute the same bits. */
  constructor(sequences: readonly Sequence[], private readonly kind?: string) {
    this.sequences = [...sequences];
    this.arrival = sequences[0].arrival;
  }

  /** Whether a replica can compute them. */
  suits({ kind, scheduler }: { readonly kind: string; readonly scheduler: Scheduler }): boolean {
    if (this.kind !== undefined && kind !== this.kind) return false;
    return this.sequences.every((one) => scheduler.fits(one));
  }

  /** What is known of their prompt on a replica. */
  match(scheduler: Scheduler): Match {
    let match = this.matches.get(scheduler);
    if (match === undefined) this.matches.set(scheduler, match = { prefixes: [], length: 0 });
    return match;
  }

  /** One of them waits no longer; if it led the others, the next of them does. */
  drop(sequence: Sequence): void {
    const place = this.sequences.indexOf(sequence);
    if (place < 0) return;
    this.sequences.splice(place, 1);
    if (place > 0) return;
    const [heir, ...others] = this.sequences;
    if (heir === undefined) return;
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
