import type { Sequence } from "../sequences/sequence.ts";
import { within } from "../../within.ts";

/**
 * How long sequences prepare, in milliseconds, before they yield; the second where a result comes at an
 * unknown time.
 */
const TURN_MS = 1;
const SHORT_TURN_MS = 0.25;
/** When a result is to come so soon, in milliseconds, nothing more is begun. */
const QUIET_MS = 0.5;
/** How much later than expected a result has to be, in milliseconds, so that it is not waited for. */
const LATE_MS = 0.5;

/** A sequence with work that needs no device. */
type Prepared = Pick<Sequence, "runs"> & { readonly sampler: Pick<Sequence["sampler"], "prepare"> };

/**
 * Lets sequences prepare their next tokens on the CPU while the device computes, each a part in turn, until
 * all is done or the step ends. Shortly before any step's result is expected, it starts no part, so that the
 * result need not wait. If the result is late, it goes on.
 *
 * @param step The step's result.
 * @param ends When the results of all running steps are expected, by `now`; Infinity where unknown.
 * @param now The time in milliseconds.
 */
export async function prepareAhead(
  sequences: readonly Prepared[],
  step: Promise<unknown>,
  ends: () => readonly number[],
  now: () => number,
): Promise<void> {
  let isOver = false;
  const over = step.then(() => {}, () => {}).then(() => void (isOver = true));
  const left = [...sequences];
  let others: OthersTurn | undefined;
  let turnBegin = now();
  try {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      let next = nextOf(ends(), now());
      while (now() + QUIET_MS > next.end) {
        await within(next.end + LATE_MS - now(), over);
        if (isOver) return;
        turnBegin = now();
        next = nextOf(ends(), turnBegin);
      }
      if (!one.runs || !prepares(one)) continue;
      left.push(one);
      if (now() < turnBegin + (next.isSure ? TURN_MS : SHORT_TURN_MS)) continue;
      others ??= new OthersTurn();
      await others.come();
      if (isOver) return;
      turnBegin = now();
    }
  } finally {
    others?.close();
  }
}

/** When the next result is expected, those that are late left out; and whether a result may come before, being one of them. */
function nextOf(ends: readonly number[], now: number): { end: number; isSure: boolean } {
  let next = Infinity;
  let isSure = true;
  for (const end of ends) {
    if (end === Infinity || end + LATE_MS <= now) isSure = false;
    else next = Math.min(next, end);
  }
  return { end: next, isSure };
}

/** Whether more is left. What it throws, it throws again where the work is needed, and the sequence ends there. */
function prepares({ sampler }: Prepared): boolean {
  try {
    return sampler.prepare();
  } catch {
    return false;
  }
}

/**
 * Yields the thread to other work, such as handling a step's result. A timer of 0 ms takes two milliseconds,
 * and an immediate callback delays results.
 */
class OthersTurn {
  private readonly channel = new MessageChannel();
  private next?: () => void;

  constructor() {
    this.channel.port1.onmessage = () => this.next?.();
  }

  /** Resolves when others have had their turn. */
  come(): Promise<void> {
    return new Promise((resolve) => {
      this.next = resolve;
      this.channel.port2.postMessage(undefined);
    });
  }

  /** No more turns come. */
  close(): void {
    this.channel.port1.close();
    this.channel.port2.close();
  }
}
