import type { Automaton } from "./automaton.ts";
import type { Frame } from "./frames.ts";
import type { TokenMasks } from "./masks.ts";

/** Places in rules that are prepared for one constraint; their masks have to fit into what is kept. */
const MOST_PLACES = 256;
/** How long one part of the work may take, in milliseconds, but for the last place. */
const SLICE_MS = 1;

/**
 * Finds out what the places of a grammar's rules allow, those near its beginning first, a little at a time
 * while the device computes: a state that is met then takes only what depends on the rules around it.
 */
export class Preparation {
  private left: Frame[];
  private readonly seen: Set<Frame>;

  constructor(private readonly automaton: Automaton, private readonly masks: TokenMasks) {
    this.left = automaton.start.items.map(({ frame }) => frame);
    this.seen = new Set(this.left);
  }

  /** Whether nothing is left to do. */
  get isDone(): boolean {
    return this.left.length === 0;
  }

  /** Does some of it. */
  proceed(): void {
    const { automaton, masks, left, seen } = this;
    const begun = performance.now();
    try {
      while (left.length > 0 && performance.now() - begun < SLICE_MS) {
        const frame = left.shift()!;
        masks.prepare(automaton, frame);
        for (const next of automaton.framesBehind(frame)) {
          if (seen.size >= MOST_PLACES || seen.has(next)) continue;
          seen.add(next);
          left.push(next);
        }
      }
    } catch {
      // Who comes to such a place is told why it is too much; nobody may ever.
      this.left = [];
    }
  }
}
