import type { Sample, StepSampling } from "../device/mod.ts";
import { DryPenalties } from "./dry.ts";
import type { SamplingParameters } from "./parameters.ts";
import { RepeatWindow } from "./repeat_window.ts";
import type { Steering } from "./steering.ts";

/** What the sampling of a sequence is made from. */
export interface SequenceSamplingOptions {
  /** At least one token. */
  readonly prompt: readonly number[];
  readonly sampling: SamplingParameters;
  /** Log-probabilities wanted with each token, 0 to 20. */
  readonly topLogprobs: number;
  /** Tokens that end the answer. */
  readonly endTokens: ReadonlySet<number>;
  /** Those of them that end it also where the model's own end is ignored; absent: none. */
  readonly stopTokens?: ReadonlySet<number>;
  /** Tokens that are never sampled; absent: none. */
  readonly suppressed?: ReadonlySet<number>;
  /** The text of a token, in UTF-8, for DRY's breakers; absent: no token has any text. */
  readonly tokenBytes?: (token: number) => Uint8Array;
  readonly steering?: Steering;
}

/**
 * How a sequence's next tokens are to be sampled: its parameters, and what of its past they look at. All of it follows from
 * the tokens, so that drafts of the next ones can be sampled for as well.
 */
export class SequenceSampling {
  /** The prompt, then what was sampled. */
  readonly tokens: number[];
  private readonly generated: number[] = [];
  private readonly promptLength: number;
  private readonly step: StepSampling;
  private readonly endTokens: ReadonlySet<number>;
  /** Tokens that are never sampled, and those with the ones that end the answer; absent: none. */
  private readonly suppressed?: ReadonlySet<number>;
  private readonly unending: ReadonlySet<number>;
  /** Tokens before which the answer may not end. */
  private readonly minTokens: number;
  private readonly logitBias?: ReadonlyMap<number, number>;
  private readonly window?: RepeatWindow;
  private readonly dry?: DryPenalties;
  private readonly steering?: Steering;
  /** The surprise that mirostat wants, in bits, and how fast its cut follows what there is; absent: no mirostat. */
  private readonly mirostat?: { readonly tau: number; readonly eta: number };

  /** Whether what is sampled for a draft is what would be sampled without it: mirostat's cut follows from each sample. */
  readonly canDraft: boolean;

  constructor(options: SequenceSamplingOptions) {
    const { prompt, sampling, topLogprobs, stopTokens, tokenBytes = () => NO_BYTES } = options;
    const endTokens = sampling.ignoreEos && stopTokens
      ? options.endTokens.difference(stopTokens)
      : options.endTokens;
    this.tokens = [...prompt];
    this.promptLength = prompt.length;
    this.endTokens = endTokens;
    this.minTokens = sampling.ignoreEos ? Infinity : sampling.minTokens;
    this.steering = options.steering;
    const { suppressed } = options;
    this.suppressed = suppressed?.size ? suppressed : undefined;
    // What most sequences never look at is not made for each of them.
    this.unending = this.suppressed === undefined || this.minTokens === 0
      ? endTokens
      : this.suppressed.union(endTokens);
    if (sampling.logitBias.size > 0) this.logitBias = sampling.logitBias;
    const penalised = sampling.repetitionPenalty !== 1 || sampling.frequencyPenalty !== 0 ||
      sampling.presencePenalty !== 0;
    if (penalised && sampling.repeatLastN !== 0) {
      const length = sampling.repeatLastN < 0 ? Infinity : sampling.repeatLastN;
      this.window = new RepeatWindow(this.tokens, prompt.length, length);
    }
    if (sampling.dryMultiplier > 0 && sampling.dryPenaltyLastN !== 0) {
      this.dry = new DryPenalties(this.tokens, sampling, tokenBytes);
    }
    if (sampling.mirostat !== 0 && sampling.temperature > 0) {
      this.mirostat = { tau: sampling.mirostatTau, eta: sampling.mirostatEta };
    }
    this.canDraft = this.mirostat === undefined;
    this.step = {
      ...sampling,
      mirostat: 0,
      // Where the cut starts, as the method's authors have it.
      mirostatMu: 2 * sampling.mirostatTau,
      topLogprobs,
      seed: sampling.seed === undefined
        ? crypto.getRandomValues(new BigUint64Array(1))[0]
        : BigInt.asUintN(64, BigInt(sampling.seed)),
      stream: sampling.stream,
      counter: 0,
      tokenCounts: this.window?.counts,
    };
  }

  /** How the next token is to be sampled, or the one after so many drafts; valid until the next call. */
  next(drafts: readonly number[] = []): StepSampling {
    const { step } = this;
    const sampled = this.generated.length + drafts.length;
    const tokens = drafts.length === 0 ? this.tokens : [...this.tokens, ...drafts];
    const generated = drafts.length === 0 ? this.generated : [...this.generated, ...drafts];
    const only = this.steering?.next(generated);
    const allowed = only === undefined
      ? this.steering?.allowed?.(generated, drafts.length)
      : undefined;
    const mayEnd = sampled >= this.minTokens || this.endTokens.size === 0 || allowed?.onlyEnd;
    const changes = {
      counter: sampled,
      tokenBiases: this.dry === undefined ? this.logitBias : this.biases(this.dry, tokens),
      mask: allowed?.mask,
      forbidden: mayEnd ? this.suppressed : this.unending,
      only,
      // What is forced says nothing of how surprising the model's own tokens are.
      mirostat: this.mirostat === undefined || only !== undefined ? 0 : 2,
    };
    if (drafts.length === 0) return Object.assign(step, changes);
    return { ...step, ...changes, tokenCounts: this.countsAfter(drafts) };
  }

  /** Whether all later tokens are sampled alike but for the number of each: no earlier sample and no steering matters. */
  get isFixed(): boolean {
    const mayEnd = this.minTokens === Infinity || this.generated.length >= this.minTokens ||
      this.endTokens.size === 0;
    return mayEnd && this.steering === undefined && this.window === undefined &&
      this.dry === undefined && this.mirostat === undefined;
  }

  /**
   * The next token, where no other may come, whatever the model says. With mirostat none is known before it
   * is sampled, as its cut follows from each sample.
   */
  certain(): number | undefined {
    if (this.mirostat !== undefined || this.steering === undefined) return undefined;
    const { generated, steering } = this;
    const only = steering.next(generated);
    if (only !== undefined) return only;
    // What takes long is found out in turn with others, before the next step.
    if (!this.proceed()) return undefined;
    const allowed = steering.allowed?.(generated);
    if (allowed?.sole === undefined) return undefined;
    const mayEnd = allowed.onlyEnd || generated.length >= this.minTokens;
    return mayEnd || !this.endTokens.has(allowed.sole) ? allowed.sole : undefined;
  }

  /** Does a part of what {@link next} needs; the answer is whether that takes little time now. */
  proceed(): boolean {
    const { generated, steering } = this;
    return steering?.proceed === undefined || steering.next(generated) !== undefined ||
      steering.proceed(generated);
  }

  /** At most so many tokens that will likely come next, as far as what steers it can say. */
  draft(most: number): readonly number[] {
    return this.steering?.draft?.(this.generated, most) ?? [];
  }

  /** Does a part of the work to come, as far as what steers it has some; the answer is whether more of it is left. */
  prepare(): boolean {
    return this.steering?.prepare?.(this.generated) ?? false;
  }

  /** The sequence is queued; `over` resolves when it has ended. */
  begun(over: Promise<unknown>): void {
    this.steering?.begun?.(over);
  }

  /** Takes in the next token. */
  append({ token, surprise }: Sample): void {
    if (this.mirostat !== undefined && surprise !== undefined) {
      const { tau, eta } = this.mirostat;
      this.step.mirostatMu = Math.fround(this.step.mirostatMu - eta * (surprise - tau));
    }
    this.tokens.push(token);
    this.generated.push(token);
    this.window?.advance();
    this.dry?.advance();
  }

  /** The request's biases and what repetitions cost. */
  private biases(
    dry: DryPenalties,
    tokens: readonly number[],
  ): ReadonlyMap<number, number> | undefined {
    const penalties = dry.penalties(tokens);
    if (penalties.size === 0) return this.logitBias;
    const biases = new Map(this.logitBias);
    for (const [token, penalty] of penalties) {
      biases.set(token, (biases.get(token) ?? 0) - penalty);
    }
    return biases;
  }

  private countsAfter(drafts: readonly number[]): StepSampling["tokenCounts"] {
    if (this.window === undefined) return undefined;
    const tokens = [...this.tokens];
    const window = this.window.copy(tokens);
    for (const draft of drafts) {
      tokens.push(draft);
      window.advance();
    }
    return window.counts;
  }
}

const NO_BYTES = new Uint8Array(0);
