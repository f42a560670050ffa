import type { Steering } from "../sampling/mod.ts";

/** Where an output is in its format, as it follows from the tokens alone. */
export interface ReasoningTrack<Phase> {
  /** Where an output begins. */
  readonly start: Phase;
  /** Where it is in its content. */
  readonly content: Phase;
  /** Where it is after `tokens[place]`, if it was in `phase` before. */
  after(phase: Phase, tokens: readonly number[], place: number): Phase;
  /** Whether what comes next is reasoning. */
  isReasoning(phase: Phase): boolean;
  /** The tokens that end the reasoning of a phase, as the model would write them after these. */
  end(phase: Phase, tokens: readonly number[]): readonly number[];
}

/** Where an output is, and what its reasoning has taken. */
interface State<Phase> {
  readonly phase: Phase;
  /** Tokens of reasoning so far. */
  readonly spent: number;
  /** The tokens that come next, whatever the model would say; absent: any. */
  readonly forced?: readonly number[];
}

/**
 * Ends reasoning that has had its tokens. Its answer follows from the tokens alone, in any order of calls. States are
 * kept for the last tokens, and made again from where those of the next call differ.
 */
export class ReasoningBudget<Phase> implements Steering {
  private readonly tokens: number[] = [];
  /** After each number of {@link tokens}. */
  private readonly states: State<Phase>[];

  constructor(private readonly track: ReasoningTrack<Phase>, private readonly budget: number) {
    this.states = [this.state(track.start, 0, [], 0)];
  }

  next(generated: readonly number[]): number | undefined {
    let same = 0;
    while (same < this.tokens.length && this.tokens[same] === generated[same]) same++;
    this.tokens.length = same;
    this.states.length = same + 1;
    for (let place = same; place < generated.length; place++) {
      this.states.push(this.after(this.states[place], generated, place));
      this.tokens.push(generated[place]);
    }
    return this.states[generated.length].forced?.[0];
  }

  private after(
    { phase, spent, forced }: State<Phase>,
    tokens: readonly number[],
    place: number,
  ): State<Phase> {
    const { track } = this;
    if (forced !== undefined && tokens[place] === forced[0]) {
      return forced.length > 1
        ? { phase, spent, forced: forced.slice(1) }
        : { phase: track.content, spent };
    }
    const next = track.after(phase, tokens, place);
    const counts = track.isReasoning(phase) && track.isReasoning(next);
    return this.state(next, spent + (counts ? 1 : 0), tokens, place + 1);
  }

  private state(
    phase: Phase,
    spent: number,
    tokens: readonly number[],
    count: number,
  ): State<Phase> {
    if (!this.track.isReasoning(phase) || spent < this.budget) return { phase, spent };
    const forced = this.track.end(phase, tokens.slice(0, count));
    return forced.length > 0 ? { phase, spent, forced } : { phase, spent };
  }
}
