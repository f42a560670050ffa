import { M40Error } from "../errors.ts";
import type { AllowedTokens, Steering } from "../sampling/mod.ts";
import type { Automaton, State } from "./automaton.ts";
import type { ContentTrack } from "./content_track.ts";
import type { CompiledConstraint } from "./constraint.ts";
import { Drafting, type DraftTrust } from "./drafting.ts";
import type { LikelyTexts } from "./likely_texts.ts";
import type { TokenMasks } from "./masks.ts";
import type { Preparation } from "./preparation.ts";

/** Where an output is after some of its tokens. */
type Progress =
  /** Before its content: nothing is demanded of it but that it goes on. */
  | { readonly kind: "before"; readonly place: unknown }
  /** In its content; with the place where reasoning may still begin again. */
  | {
    readonly kind: "content";
    readonly automaton: Automaton;
    readonly state: State;
    readonly place?: unknown;
  }
  /** Where no token leads that was allowed. */
  | { readonly kind: "nowhere" };

/** What a steering by a grammar is made from. */
export interface GrammarSteeringOptions {
  readonly constraint: CompiledConstraint;
  readonly masks: TokenMasks;
  /** How texts that will likely come are usually written. */
  readonly likelyTexts: LikelyTexts;
  /** The trust in drafts of all answers. */
  readonly draftTrust: DraftTrust;
  /** What is done for an automaton while the device computes. */
  readonly preparationOf: (automaton: Automaton) => Preparation;
  /** The bytes that a token is in a grammar; empty for one that no grammar speaks of. */
  readonly tokenBytes: (token: number) => Uint8Array;
  /** Counts the memory of the constraint until an answer is over. */
  readonly hold: (over: Promise<unknown>) => void;
  /** Absent: all of the output is content. */
  readonly track?: ContentTrack;
}

/** Allows the tokens that a grammar allows, from where the content begins. */
export class GrammarSteering implements Steering {
  private readonly tokens: number[] = [];
  /** After each number of {@link tokens}. */
  private readonly progress: Progress[];
  private readonly drafting: Drafting;
  /** What the state that was asked for last allows: each is asked for several times in a step. */
  private last?: { readonly state: State; readonly allowed: AllowedTokens };

  constructor(private readonly options: GrammarSteeringOptions) {
    const { constraint: { automaton }, track, draftTrust } = options;
    this.drafting = new Drafting(draftTrust);
    const content: Progress = {
      kind: "content",
      automaton,
      state: automaton.start,
      place: track?.start,
    };
    const isStarted = track === undefined || track.isContent(track.start);
    this.progress = [isStarted ? content : { kind: "before", place: track.start }];
  }

  next(): undefined {
    return undefined;
  }

  allowed(generated: readonly number[], drafted = 0): AllowedTokens | undefined {
    const { constraint, masks, track } = this.options;
    const progress = this.after(generated);
    switch (progress.kind) {
      case "before":
        return constraint.free ? undefined : masks.unending;
      case "content": {
        const { automaton, state } = progress;
        if (this.last?.state !== state) {
          this.last = { state, allowed: masks.of(automaton, state) };
        }
        const { allowed } = this.last;
        if (allowed === masks.everything) return undefined;
        const openers = generated.length === 0 ? track?.openers(track.start) : undefined;
        return openers === undefined || openers.length === 0
          ? allowed
          : withTokens(allowed, openers);
      }
      case "nowhere":
        if (drafted > 0) return undefined;
        // Nothing more would be held to the grammar.
        throw new M40Error(
          "internal",
          "a token was sampled that the answer's grammar does not allow",
        );
    }
  }

  proceed(generated: readonly number[]): boolean {
    const progress = this.after(generated);
    return progress.kind !== "content" ||
      this.options.masks.proceed(progress.automaton, progress.state);
  }

  draft(generated: readonly number[], most: number): readonly number[] {
    const progress = this.after(generated);
    if (progress.kind !== "content") return [];
    const { automaton, state } = progress;
    return this.drafting.of(
      generated,
      most,
      () => this.options.likelyTexts.after(automaton, state),
    );
  }

  prepare(generated: readonly number[]): boolean {
    const { constraint, preparationOf } = this.options;
    const progress = this.after(generated);
    switch (progress.kind) {
      case "before":
        return preparationOf(constraint.behindSpace).proceed(constraint.behindSpace.start);
      case "content":
        return preparationOf(progress.automaton).proceed(progress.state);
      case "nowhere":
        return false;
    }
  }

  begun(over: Promise<unknown>): void {
    this.options.hold(over);
  }

  private after(generated: readonly number[]): Progress {
    const { tokens, progress } = this;
    let same = 0;
    while (same < tokens.length && tokens[same] === generated[same]) same++;
    tokens.length = same;
    progress.length = same + 1;
    for (let index = same; index < generated.length; index++) {
      progress.push(this.step(progress[index], generated, index));
      tokens.push(generated[index]);
    }
    return progress[generated.length];
  }

  private step(before: Progress, generated: readonly number[], index: number): Progress {
    const { track } = this.options;
    if (before.kind === "nowhere") return before;
    const token = generated[index];
    if (before.kind === "content") {
      if (index === 0 && track?.openers(track.start).includes(token)) {
        return { kind: "before", place: track.after(track.start, generated, 0) };
      }
      return this.stepContent(before, generated, index);
    }
    const place = track!.after(before.place, generated, index);
    if (!track!.isContent(place)) return { kind: "before", place };
    const automaton = this.options.constraint.behindSpace;
    const state = automaton.after(automaton.start, track!.rest(generated, index));
    if (state !== undefined) return { kind: "content", automaton, state, place };
    throw new M40Error(
      "nothing_allowed",
      "the token that ended the reasoning has started an answer that its constraint does not allow. Ask again, " +
        "or without reasoning.",
    );
  }

  private stepContent(
    { automaton, state: from, place }: Extract<Progress, { kind: "content" }>,
    generated: readonly number[],
    index: number,
  ): Progress {
    const { constraint, masks, track, tokenBytes } = this.options;
    const bytes = tokenBytes(generated[index]);
    const state = bytes.length > 0 ? automaton.after(from, bytes) : undefined;
    if (!constraint.free) {
      return state === undefined ? { kind: "nowhere" } : { kind: "content", automaton, state };
    }
    const next = track?.after(place, generated, index);
    // Where everything is allowed, reasoning may begin, and tokens come that no grammar speaks of.
    if (masks.of(automaton, from) === masks.everything) {
      if (track !== undefined && !track.isContent(next)) return { kind: "before", place: next };
      return { kind: "content", automaton, state: state ?? from, place: next };
    }
    if (state === undefined) return { kind: "nowhere" };
    return { kind: "content", automaton, state, place: next };
  }
}

function withTokens({ mask }: AllowedTokens, tokens: readonly number[]): AllowedTokens {
  const more = mask.slice();
  for (const token of tokens) more[token >> 5] |= 1 << (token & 31);
  return { mask: more, onlyEnd: false };
}
