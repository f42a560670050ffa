import type { AllowedTokens } from "../sampling/mod.ts";
import type { Automaton, State } from "./automaton.ts";
import { LeastRecentlyUsed } from "./least_recently_used.ts";
import type { Frame } from "./frames.ts";
import type { TokenBytes, VocabularyTrie, VocabularyTries } from "./vocabulary_trie.ts";
import { VocabularyWalk } from "./vocabulary_walk.ts";

/** Memory of masks that are kept of an automaton. */
const KEPT_BYTES = 32 * 2 ** 20;
/** What one mask may take, in nodes and items that are looked at: a tenth of a second or so. */
const MOST_WORK = 2_000_000;
/** What is done of a mask in one part, in nodes of the vocabulary and in work: a few milliseconds at most. */
const PART_NODES = 32_768;
const PART_WORK = 10_000;

/**
 * Tokens of up to that many bytes are the short ones: what a position allows of them is the same wherever so many
 * characters may still be repeated. So it is computed once for all positions of a long repetition.
 */
export const SHORT_BYTES = 24;

/** A state of more places than these is looked at as a whole. */
const MOST_PLACES = 8;

/** The short tokens that a place in a rule allows, whatever comes behind the rule. */
interface FrameTokens {
  readonly mask: Uint32Array;
  /** Where the rule may end within tokens: nodes of their tree that have others below them. */
  readonly exits: readonly number[];
  /** How many nodes are below those, one counted for each of them that it is below. */
  readonly belowExits: number;
}

/** The same, while it is found out. */
interface StartedFrame extends Pick<FrameTokens, "mask"> {
  readonly exits: number[];
  readonly walk: VocabularyWalk;
  /** What it may take yet. */
  workLeft: number;
}

/** What is known of an automaton: it goes with it. */
interface KeptMasks {
  readonly states: LeastRecentlyUsed<State, AllowedTokens>;
  readonly frames: LeastRecentlyUsed<Frame, FrameTokens>;
  readonly started: WeakMap<Frame, StartedFrame>;
  readonly making: WeakMap<State, StartedMask>;
}

/** A state's tokens, while they are found out. */
interface StartedMask {
  readonly parts: Generator<undefined, AllowedTokens>;
  /** What it may take yet. */
  workLeft: number;
}

/**
 * The tokens that states allow. What a position in a rule allows is computed once, whichever rules it is in. Of a state
 * that is met the first time, only tokens in which a rule ends are examined.
 */
export class TokenMasks {
  private readonly words: number;
  private readonly endTokens: ReadonlySet<number>;
  /** All tokens but those that end an answer. */
  readonly unending: AllowedTokens;
  /** All tokens that a grammar can speak of: what {@link of} gives for a state that allows every one of them. */
  readonly everything: AllowedTokens;
  private readonly kept = new WeakMap<Automaton, KeptMasks>();
  private readonly mostKept: number;

  /**
   * @param tries The tokenizer's, with tokens of up to {@link SHORT_BYTES} as short ones.
   * @param vocabSize Tokens that the model knows: the bits of a mask.
   */
  constructor(
    tokenizer: Pick<TokenBytes, "endTokens">,
    private readonly tries: VocabularyTries,
    vocabSize: number,
  ) {
    this.words = Math.ceil(vocabSize / 32);
    this.endTokens = new Set([...tokenizer.endTokens].filter((token) => token < vocabSize));
    const all = new Uint32Array(this.words).fill(0xffffffff);
    for (const token of this.endTokens) all[token >> 5] &= ~(1 << (token & 31));
    this.unending = { mask: all, onlyEnd: false };
    const known = new Uint32Array(this.words);
    for (const tokens of [tries.short.tokens, tries.long.tokens, this.endTokens]) {
      for (const token of tokens) if (token < vocabSize) known[token >> 5] |= 1 << (token & 31);
    }
    this.everything = { mask: known, onlyEnd: false };
    this.mostKept = Math.max(16, Math.floor(KEPT_BYTES / 2 / (4 * this.words)));
  }

  /**
   * The tokens that a state allows.
   *
   * @throws {M40Error} "invalid_request" where the grammar is too ambiguous to say it.
   */
  of(automaton: Automaton, state: State): AllowedTokens {
    const { states } = this.keptOf(automaton);
    for (;;) {
      const known = states.get(state);
      if (known !== undefined) return known;
      this.proceed(automaton, state);
    }
  }

  /**
   * Finds out a part of what a state allows, a few milliseconds of it at most; the answer is whether it is known.
   *
   * @throws {M40Error} as {@link of} does.
   */
  proceed(automaton: Automaton, state: State): boolean {
    const { states, making } = this.keptOf(automaton);
    if (states.get(state) !== undefined) return true;
    const started = making.getOrInsertComputed(state, () => ({
      parts: this.make(automaton, state),
      workLeft: MOST_WORK,
    }));
    automaton.allowWork(started.workLeft);
    try {
      const { done, value } = started.parts.next();
      started.workLeft = automaton.workLeft;
      if (!done) return false;
      making.delete(state);
      states.put(state, value);
      return true;
    } catch (error) {
      making.delete(state);
      throw error;
    }
  }

  /** Whether a state's tokens are known. */
  knows(automaton: Automaton, state: State): boolean {
    return this.keptOf(automaton).states.get(state) !== undefined;
  }

  /** The memory of what is known of an automaton, in bytes. */
  bytesOf(automaton: Automaton): number {
    const { states, frames } = this.keptOf(automaton);
    return 4 * this.words * (states.size + frames.size);
  }

  private keptOf(automaton: Automaton): KeptMasks {
    return this.kept.getOrInsertComputed(automaton, () => ({
      states: new LeastRecentlyUsed(this.mostKept),
      frames: new LeastRecentlyUsed(this.mostKept),
      started: new WeakMap(),
      making: new WeakMap(),
    }));
  }

  /** Whether a state is looked at as a whole, and can only be found out at once. */
  isWide({ items }: State): boolean {
    return items.length > MOST_PLACES;
  }

  /**
   * Finds out some of what a place in a rule allows, so that states with it take less time. The answer is whether
   * nothing of it is left.
   *
   * @param mostNodes How much is done: that many of the vocabulary's hundreds of thousands of nodes.
   * @throws {M40Error} as {@link of} does.
   */
  prepare(automaton: Automaton, frame: Frame, mostNodes: number): boolean {
    const near = automaton.nearest(frame, SHORT_BYTES);
    const kept = this.keptOf(automaton);
    if (kept.frames.get(near) !== undefined) return true;
    const started = kept.started.getOrInsertComputed(near, () => this.begin(automaton, near));
    automaton.allowWork(started.workLeft);
    const isOver = started.walk.proceed(mostNodes, PART_WORK);
    started.workLeft = automaton.workLeft;
    if (isOver) this.finish(kept, near, started);
    return isOver;
  }

  private *ofFrame(automaton: Automaton, frame: Frame): Generator<undefined, FrameTokens> {
    const near = automaton.nearest(frame, SHORT_BYTES);
    const kept = this.keptOf(automaton);
    const known = kept.frames.get(near);
    if (known !== undefined) return known;
    const started = kept.started.get(near) ?? this.begin(automaton, near);
    // Half of it may be found out by now, or all by others meanwhile.
    kept.started.set(near, started);
    while (!started.walk.proceed(PART_NODES, PART_WORK)) yield;
    return kept.frames.get(near) ?? this.finish(kept, near, started);
  }

  private begin(automaton: Automaton, frame: Frame): StartedFrame {
    const mask = new Uint32Array(this.words);
    const exits: number[] = [];
    const walk = new VocabularyWalk(
      this.tries.short,
      automaton,
      automaton.alone(frame),
      mask,
      0,
      exits,
    );
    return { mask, exits, walk, workLeft: MOST_WORK };
  }

  private finish(
    { frames, started }: KeptMasks,
    frame: Frame,
    { mask, exits }: StartedFrame,
  ): FrameTokens {
    started.delete(frame);
    const { skips } = this.tries.short;
    const belowExits = exits.reduce((sum, node) => sum + skips[node] - node, 0);
    return frames.put(frame, { mask, exits, belowExits });
  }

  private *make(automaton: Automaton, state: State): Generator<undefined, AllowedTokens> {
    const mask = new Uint32Array(this.words);
    if (this.isWide(state) || !(yield* this.addByPlaces(automaton, state, mask))) {
      yield* this.walk(this.tries.short, automaton, state, mask);
    }
    yield* this.walk(this.tries.long, automaton, state, mask);
    const onlyEnd = state.items.length === 0;
    if (state.canEnd) { for (const token of this.endTokens) mask[token >> 5] |= 1 << (token & 31); }
    const { everything } = this;
    return mask.every((word, i) => word === everything.mask[i])
      ? everything
      : { mask, onlyEnd, sole: soleOf(mask, onlyEnd) };
  }

  /**
   * Allows the short tokens that a state's places allow; false, and some of them, where it is less work to look
   * at all tokens for the state as a whole.
   */
  private *addByPlaces(
    automaton: Automaton,
    { items }: State,
    mask: Uint32Array,
  ): Generator<undefined, boolean> {
    let left = this.tries.short.skips[0];
    for (const { frame, stack } of items) {
      const own = yield* this.ofFrame(automaton, frame);
      for (let i = 0; i < mask.length; i++) mask[i] |= own.mask[i];
      const behind = own.exits.length > 0 ? automaton.behind(stack) : undefined;
      if (behind === undefined) continue;
      left -= own.belowExits;
      if (left < 0) return false;
      let nodes = 0;
      for (const node of own.exits) {
        yield* this.walk(this.tries.short, automaton, behind, mask, node);
        nodes += this.tries.short.skips[node] - node;
        if (nodes < PART_NODES) continue;
        nodes = 0;
        yield;
      }
    }
    return true;
  }

  /** Allows the tokens below a node of a tree that a state allows. */
  private *walk(
    trie: VocabularyTrie,
    automaton: Automaton,
    from: State,
    mask: Uint32Array,
    start?: number,
  ): Generator<undefined, void> {
    const walk = new VocabularyWalk(trie, automaton, from, mask, start);
    while (!walk.proceed(PART_NODES, PART_WORK)) yield;
  }
}

/** The token of a mask that has no other; the first one, where any does. */
function soleOf(mask: Uint32Array, any: boolean): number | undefined {
  let found: number | undefined;
  for (let word = 0; word < mask.length; word++) {
    const bits = mask[word];
    if (bits === 0) continue;
    if (found !== undefined || (!any && (bits & (bits - 1)) !== 0)) return undefined;
    found = 32 * word + 31 - Math.clz32(bits & -bits);
    if (any) return found;
  }
  return found;
}
