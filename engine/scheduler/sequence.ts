import type { StepSampling } from "../device/step_block.ts";
import type { Sample } from "../device/step_result.ts";
import { TokenCounts } from "../device/token_counts.ts";
import type { SamplingParameters } from "../sampling/parameters.ts";
import { ROOT_PREFIX } from "./block_manager.ts";
import type { SavedPages } from "./host_pages.ts";

/** Who is told what becomes of a sequence. */
export interface SequenceListener {
  /** A token was drawn; the answer is whether the listener wants more. */
  accept(sample: Sample): boolean;
  /** The sequence is complete, was cancelled, or failed with `error`: nothing comes any more. */
  end(error?: unknown): void;
}

/** What a sequence is made from. */
export interface SequenceOptions {
  /** At least one token. */
  readonly prompt: readonly number[];
  /** How many tokens are drawn at most. */
  readonly maxTokens: number;
  readonly sampling: SamplingParameters;
  /** Log-probabilities wanted with each token, 0 to 20. */
  readonly topLogprobs: number;
  /** Tokens after which nothing more is drawn. */
  readonly endTokens: ReadonlySet<number>;
  readonly listener: SequenceListener;
  /** A sequence with the same prompt, whose pages are taken over when it has computed them. */
  readonly leader?: Sequence;
}

/** A prompt and the tokens that follow it, on their way through the scheduler. */
export class Sequence {
  readonly prompt: readonly number[];
  readonly maxTokens: number;
  readonly listener: SequenceListener;
  readonly leader?: Sequence;
  /** The prompt, then what was drawn. */
  readonly tokens: number[];
  /** How many of the tokens have their K and V in its pages. */
  computed = 0;
  /** The KV pages that it holds, in the order of its tokens. */
  pages: number[] = [];
  /** How many of its pages are published, and what they stand for; see {@link BlockManager}. */
  published = 0;
  prefix = ROOT_PREFIX;
  /** Its pages in host memory, while it has given way to others. */
  saved?: SavedPages;
  /** When it arrived: what came earlier is served earlier. Set by the scheduler. */
  arrival = 0;
  /** When that was, and when it was first let in, in milliseconds of `performance.now()`. */
  arrivedAt = 0;
  admittedAt?: number;
  /** Nobody wants more of it; the scheduler lets go of it before the next step. */
  cancelled = false;
  /** Nothing more is drawn. */
  complete = false;
  private readonly endTokens: ReadonlySet<number>;
  private readonly step: StepSampling;
  private readonly counts?: TokenCounts;

  constructor(options: SequenceOptions) {
    const { prompt, sampling, topLogprobs } = options;
    this.prompt = prompt;
    this.maxTokens = options.maxTokens;
    this.listener = options.listener;
    this.leader = options.leader;
    this.endTokens = options.endTokens;
    this.tokens = [...prompt];
    const penalised = sampling.repetitionPenalty !== 1 || sampling.frequencyPenalty !== 0 ||
      sampling.presencePenalty !== 0;
    if (penalised) {
      this.counts = new TokenCounts();
      for (const token of prompt) this.counts.mention(token);
    }
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
      stream: 0,
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

  /** Tokens that are not computed yet: one while it decodes. */
  get left(): number {
    return this.tokens.length - this.computed;
  }

  /** Whether its next step is that of one drawn token. */
  get decodes(): boolean {
    return this.drawn > 0 && this.left === 1;
  }

  /** How its next token is to be drawn. */
  sampling(): StepSampling {
    this.step.counter = this.drawn;
    return this.step;
  }

  /** Takes in a drawn token. */
  append(token: number): void {
    this.tokens.push(token);
    this.counts?.increment(token);
    this.complete = this.endTokens.has(token) || this.drawn >= this.maxTokens;
  }
}

function randomSeed(): bigint {
  return crypto.getRandomValues(new BigUint64Array(1))[0];
}
