import type { Automaton, Item, State } from "./automaton.ts";
import type { Frame } from "./frames.ts";
import type { LikelyTexts } from "./likely_texts.ts";
import type { TokenMasks } from "./masks.ts";

/** How far ahead of an answer states are prepared, in bytes, and how many of them. */
const MOST_BYTES = 4;
const MOST_STATES = 16;
/**
 * Positions in rules that are examined for one constraint; the first of them together with what is ahead, others after
 * that.
 */
const MOST_PLACES = 4096;
const FIRST_PLACES = 512;
/** A position that so many bytes may follow goes through much of the vocabulary: that takes milliseconds. */
const WIDE_BYTES = 48;
/** One that so many may follow, as in a string, is in most answers: it is prepared together with what is ahead. */
const WIDEST_BYTES = 96;
/** Wide places that are prepared for one constraint; their masks have to fit into what is kept. */
const MOST_WIDE = 256;
/** Nodes of the vocabulary's tree that are gone through in one part of the work: a tenth of a millisecond or less. */
const PART_NODES = 4096;

/** The states ahead of one that are not prepared yet, nearest first, and all that were found. */
interface Ahead {
  readonly left: { readonly state: State; readonly bytes: number }[];
  readonly seen: Set<State>;
}

/**
 * Computes what the next steps need, a little at a time while the device computes. For each answer that is what its
 * possible next states allow, and which texts likely follow. For the grammar it is the positions that are costly in
 * every answer.
 */
export class Preparation {
  private readonly ahead = new WeakMap<State, Ahead>();
  private readonly places: Frame[];
  private readonly seen: Set<Frame>;
  /** How many of {@link places} were looked at. */
  private looked = 0;
  /** Places to be prepared, those first that most bytes may follow. */
  private readonly wide: { readonly frame: Frame; readonly bytes: number }[] = [];
  private wideCount = 0;
  private isPlacesTurn = false;
  private isTooMuch = false;

  constructor(
    private readonly automaton: Automaton,
    private readonly masks: TokenMasks,
    private readonly likelyTexts: LikelyTexts,
  ) {
    const starts = automaton.start.items.map(({ frame }) => frame);
    this.seen = new Set([...starts, ...automaton.ruleStarts]);
    this.places = [...this.seen];
  }

  /**
   * Does a part of it, a tenth of a millisecond or so. The answer is whether something is left to do.
   *
   * @param state Where an answer is.
   */
  proceed(state: State): boolean {
    if (this.isTooMuch || !this.automaton.hasRoom) return false;
    try {
      const ahead = this.ahead.getOrInsertComputed(state, () => ({
        left: [{ state, bytes: 0 }],
        seen: new Set([state]),
      }));
      const isUrgent = this.hasPlaces &&
        (this.looked < FIRST_PLACES || this.wide[0]?.bytes >= WIDEST_BYTES);
      this.isPlacesTurn = isUrgent && !this.isPlacesTurn;
      if (ahead.left.length > 0 && !this.isPlacesTurn) this.proceedAhead(ahead);
      else if (this.hasPlaces) this.proceedPlaces();
      return ahead.left.length > 0 || this.hasPlaces;
    } catch {
      // An answer that reaches such a position gets the error; few ever do.
      this.isTooMuch = true;
      return false;
    }
  }

  private proceedAhead({ left, seen }: Ahead): void {
    const { automaton, masks, likelyTexts } = this;
    const [{ state, bytes }] = left;
    if (!masks.knows(automaton, state) && !masks.isWide(state)) {
      const isKnown = ({ frame }: Item) => masks.prepare(automaton, frame, PART_NODES);
      if (!state.items.every(isKnown)) return;
      if (!masks.proceed(automaton, state)) return;
    }
    left.shift();
    const add = (next: State, bytes: number) => {
      if (seen.has(next)) return;
      seen.add(next);
      left.push({ state: next, bytes });
    };
    const drafted = likelyTexts.statesAfter(automaton, state);
    // What is drafted needs the states on its way, and only those.
    if (bytes === 0) { for (const next of drafted) add(next, MOST_BYTES); }
    if (bytes === MOST_BYTES) return;
    for (const next of automaton.statesBehind(state)) {
      if (seen.size >= MOST_STATES) return;
      add(next, bytes + 1);
    }
  }

  private get hasPlaces(): boolean {
    return this.looked < this.places.length || this.wide.length > 0;
  }

  private proceedPlaces(): void {
    const { automaton, masks, places, wide } = this;
    if (wide.length > 0 && (wide[0].bytes >= WIDEST_BYTES || this.looked === places.length)) {
      if (masks.prepare(automaton, wide[0].frame, PART_NODES)) wide.shift();
      return;
    }
    const frame = places[this.looked++];
    const { frames, bytes } = automaton.behindPlace(frame);
    if (bytes >= WIDE_BYTES && this.wideCount++ < MOST_WIDE) {
      const index = wide.findIndex((other) => other.bytes < bytes);
      wide.splice(index < 0 ? wide.length : index, 0, { frame, bytes });
    }
    for (const next of frames) {
      if (this.seen.size >= MOST_PLACES) return;
      if (this.seen.has(next)) continue;
      this.seen.add(next);
      places.push(next);
    }
  }
}
