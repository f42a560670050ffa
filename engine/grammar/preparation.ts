import type { Automaton, Item, State } from "./automaton.ts";
import type { Frame } from "./frames.ts";
import type { LikelyTexts } from "./likely_texts.ts";
import type { TokenMasks } from "./masks.ts";

/** Places in rules that are prepared for one constraint; their masks have to fit into what is kept. */
const MOST_PLACES = 256;
/** How far ahead of an answer states are prepared, in bytes, and how many of them. */
const MOST_BYTES = 4;
const MOST_STATES = 16;
/** Nodes of the vocabulary's tree that are looked at in one part of the work: a tenth of a millisecond or so. */
const PART_NODES = 4096;

/** The states ahead of one, nearest first, that are not prepared yet. */
interface Ahead {
  readonly left: { readonly state: State; readonly bytes: number }[];
  readonly seen: Set<State>;
}

/**
 * Finds out what the next steps need, a little at a time while the device computes: what the states allow that an
 * answer may come to next, and the texts that likely follow them; then what the places of the grammar's rules allow,
 * those near its beginning first, so that a state that is met takes only what depends on the rules around it.
 */
export class Preparation {
  private left: Frame[];
  private readonly seen: Set<Frame>;
  private readonly ahead = new WeakMap<State, Ahead>();
  private isTooMuch = false;

  constructor(
    private readonly automaton: Automaton,
    private readonly masks: TokenMasks,
    private readonly likelyTexts: LikelyTexts,
  ) {
    this.left = automaton.start.items.map(({ frame }) => frame);
    this.seen = new Set(this.left);
  }

  /**
   * Does a part of it, a tenth of a millisecond or so. The answer is whether something is left to do.
   *
   * @param state Where an answer is.
   */
  proceed(state: State): boolean {
    if (this.isTooMuch) return false;
    try {
      const ahead = this.ahead.getOrInsertComputed(state, () => ({
        left: [{ state, bytes: 0 }],
        seen: new Set([state]),
      }));
      if (ahead.left.length > 0) this.proceedAhead(ahead);
      else if (this.left.length > 0) this.proceedPlaces();
      return ahead.left.length + this.left.length > 0;
    } catch {
      // Who comes to such a place is told why it is too much; nobody may ever.
      this.isTooMuch = true;
      return false;
    }
  }

  private proceedAhead({ left, seen }: Ahead): void {
    const { automaton, masks } = this;
    const [{ state, bytes }] = left;
    if (!masks.knows(state) && !masks.isWide(state)) {
      const isKnown = ({ frame }: Item) => masks.prepare(automaton, frame, PART_NODES);
      if (!state.items.every(isKnown)) return;
      masks.of(automaton, state);
    }
    this.likelyTexts.after(automaton, state);
    left.shift();
    if (bytes === MOST_BYTES) return;
    for (const next of automaton.statesBehind(state)) {
      if (seen.size >= MOST_STATES) return;
      if (seen.has(next)) continue;
      seen.add(next);
      left.push({ state: next, bytes: bytes + 1 });
    }
  }

  private proceedPlaces(): void {
    const { automaton, masks, left, seen } = this;
    const [frame] = left;
    if (!masks.prepare(automaton, frame, PART_NODES)) return;
    left.shift();
    for (const next of automaton.framesBehind(frame)) {
      if (seen.size >= MOST_PLACES) return;
      if (seen.has(next)) continue;
      seen.add(next);
      left.push(next);
    }
  }
}
