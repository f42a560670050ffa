import type { Sample } from "../device/program.ts";
import type { StepSampling } from "../device/step_block.ts";
import type { SamplingParameters } from "../sampling/parameters.ts";

/** Who is told what becomes of a sequence. */
export interface SequenceListener {
  /** A token was drawn; the answer is whether to go on. */
  accept(sample: Sample): boolean;
  /** The sequence has left the scheduler: it is complete, was cancelled, or failed with `error`. */
  end(error?: unknown): void;
}

/** A prompt and the tokens that follow it, on their way through the scheduler. */
export class Sequence {
  /** The prompt, then what was drawn. */
  readonly tokens: number[];
  /** How many of the tokens have their K and V in the cache. */
  computed = 0;
  /** The KV pages that it holds. */
  pages: number[] = [];
  /** Set from outside; the scheduler lets go of the sequence before its next step. */
  cancelled = false;
  private readonly step: StepSampling;
  private readonly counts?: Map<number, number>;

  /**
   * @param prompt At least one token.
   * @param maxTokens How many tokens are drawn at most.
   * @param topLogprobs Log-probabilities wanted with each, 0 to 20.
   */
  constructor(
    readonly prompt: readonly number[],
    readonly maxTokens: number,
    sampling: SamplingParameters,
    topLogprobs: number,
    readonly listener: SequenceListener,
  ) {
    this.tokens = [...prompt];
    const penalised = sampling.repetitionPenalty !== 1 || sampling.frequencyPenalty !== 0 ||
      sampling.presencePenalty !== 0;
    if (penalised) this.counts = new Map(prompt.map((token) => [token, 0]));
    this.step = {
      temperature: sampling.temperature,
      topK: sampling.topK,
      topP: sampling.topP,
      minP: sampling.minP,
      repetitionPenalty: sampling.repetitionPenalty,
      frequencyPenalty: sampling.frequencyPenalty,
      presencePenalty: sampling.presencePenalty,
      topLogprobs,
      seed: sampling.seed === undefined ? randomSeed() : BigInt.asUintN(64, BigInt(sampling.seed)),
      counter: 0,
      tokenCounts: this.counts,
      tokenBiases: sampling.logitBias.size > 0 ? sampling.logitBias : undefined,
    };
  }

  /** Tokens drawn so far. */
  get drawn(): number {
    return this.tokens.length - this.prompt.length;
  }

  /** Tokens that the sequence can grow to. */
  get maxLength(): number {
    return this.prompt.length + this.maxTokens;
  }

  /** How its next token is to be drawn. */
  sampling(): StepSampling {
    this.step.counter = this.drawn;
    return this.step;
  }

  /** Takes a drawn token in; the answer is whether the sequence goes on. */
  append(sample: Sample): boolean {
    this.tokens.push(sample.token);
    if (this.counts) this.counts.set(sample.token, (this.counts.get(sample.token) ?? 0) + 1);
    return this.listener.accept(sample) && this.drawn < this.maxTokens;
  }
}

function randomSeed(): bigint {
  return crypto.getRandomValues(new BigUint64Array(1))[0];
}
