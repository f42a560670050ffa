import { M40Error } from "../errors.ts";
import type { Limits } from "./context.ts";
import type { TokenCounts } from "./token_counts.ts";
import { NONE, SAMPLING, STEP_HEADER, TOKEN_BIAS, TOKEN_COUNT } from "./structs.ts";

/** How one token is drawn; see m40_sampling for what each does. */
export interface StepSampling {
  /** 0 takes the likeliest. */
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  repetitionPenalty: number;
  frequencyPenalty: number;
  presencePenalty: number;
  /** How many of the likeliest tokens' log-probabilities are wanted, 0 to 20. */
  topLogprobs: number;
  /** The sequence's random stream: 64 bits. */
  seed: bigint;
  /** Which number of that stream: the count of tokens drawn before. */
  counter: number;
  /** Tokens of the prompt and the output, and how often the output has each. */
  tokenCounts?: TokenCounts;
  /** Added to the logits of these tokens. */
  tokenBiases?: ReadonlyMap<number, number>;
  /** Bit t of word t >> 5 set: token t is allowed. Absent: all are. */
  mask?: Uint32Array;
}

/** One sequence's part of a step. */
export interface StepSequence {
  /** Token ids to be computed now. */
  readonly tokens: ArrayLike<number>;
  /** Position of the first of them in the sequence. */
  readonly position: number;
  /** The sequence's KV pages, in order, up to its last token here at least. */
  readonly pages: ArrayLike<number>;
  /** For which of `tokens` (rising indices) a token is drawn or logits are wanted. */
  readonly outputs: readonly { readonly row: number; readonly sampling?: StepSampling }[];
  /** Whether its one token was drawn before, rather than being part of a prompt; such sequences come first. */
  readonly decode?: boolean;
}

/** The likeliest token, and nothing else asked. */
export const GREEDY: StepSampling = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  topLogprobs: 0,
  seed: 0n,
  counter: 0,
};

/** The most tokens that one output may have biases for. */
export const MAX_TOKEN_BIASES = 1024;

/** Where the fields of a sampling record stand, in words. */
const FIELD = Object.fromEntries(
  Object.entries(SAMPLING.fields).map(([name, { offset }]) => [name, offset / 4]),
) as Record<keyof typeof SAMPLING.fields, number>;

/**
 * Bytes of the largest input block within limits.
 *
 * @param sequenceTokens Tokens of one sequence at most: it has no more different ones to count.
 */
export function stepBytes(
  limits: Omit<Limits, "step_bytes" | "reserved">,
  sequenceTokens = limits.n_vocab,
): number {
  const mask = Math.ceil(limits.n_vocab / 32) * 4;
  const history = Math.min(limits.n_vocab, sequenceTokens) * TOKEN_COUNT.bytes;
  const biases = Math.min(limits.n_vocab, MAX_TOKEN_BIASES) * TOKEN_BIAS.bytes;
  return STEP_HEADER.bytes + limits.n_tokens * 12 +
    limits.n_sequences * limits.n_sequence_pages * 4 +
    limits.n_outputs * (4 + SAMPLING.bytes) +
    limits.n_sequences * (mask + history + biases);
}

/** The input block of a step, written anew for every step in memory that grows to what steps need. */
export class StepBlock {
  /** The block; the first {@link length} bytes count. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Bytes that the last {@link write} filled. */
  length = 0;
  private view: DataView;
  private words: Uint32Array;
  private floats: Float32Array;

  constructor(private readonly limits: Limits) {
    this.bytes = new Uint8Array(4096);
    this.view = new DataView(this.bytes.buffer);
    this.words = new Uint32Array(this.bytes.buffer);
    this.floats = new Float32Array(this.bytes.buffer);
  }

  /**
   * Writes the batch.
   *
   * @returns For each output the number of top log-probabilities that it asks for.
   * @throws {M40Error} "internal" where the batch is larger than the program's limits.
   */
  write(sequences: readonly StepSequence[]): number[] {
    const size = this.measure(sequences);
    this.reserve(size.bytes);
    const { words } = this;
    const at = {
      tokens: STEP_HEADER.bytes / 4,
      positions: 0,
      sequences: 0,
      pageTable: 0,
      outputs: 0,
      sampling: 0,
      counts: 0,
      biases: 0,
      masks: 0,
    };
    at.positions = at.tokens + size.tokens;
    at.sequences = at.positions + size.tokens;
    at.pageTable = at.sequences + size.tokens;
    at.outputs = at.pageTable + sequences.length * size.pages;
    at.sampling = at.outputs + size.outputs;
    at.counts = at.sampling + size.outputs * SAMPLING.bytes / 4;
    at.biases = at.counts + 2 * size.counts;
    at.masks = at.biases + 2 * size.biases;
    STEP_HEADER.write(this.view, 0, {
      n_tokens: size.tokens,
      n_sequences: sequences.length,
      n_outputs: size.outputs,
      n_decode: size.decode,
      page_stride: size.pages,
      tokens: at.tokens * 4,
      positions: at.positions * 4,
      sequences: at.sequences * 4,
      page_table: at.pageTable * 4,
      outputs: at.outputs * 4,
      sampling: at.sampling * 4,
      token_counts: at.counts * 4,
      n_token_counts: size.counts,
      token_biases: at.biases * 4,
      n_token_biases: size.biases,
      masks: at.masks * 4,
      n_masks: size.masks,
    });

    const topLogprobs: number[] = [];
    let row = 0;
    let counts = 0;
    let biases = 0;
    let masks = 0;
    sequences.forEach((sequence, index) => {
      for (let i = 0; i < sequence.tokens.length; i++) {
        words[at.tokens + row + i] = sequence.tokens[i];
        words[at.positions + row + i] = sequence.position + i;
        words[at.sequences + row + i] = index;
      }
      const { pages } = sequence;
      const table = at.pageTable + index * size.pages;
      for (let i = 0; i < pages.length; i++) words[table + i] = pages[i];
      words.fill(NONE, table + pages.length, table + size.pages);
      for (const output of sequence.outputs) {
        const sampling = output.sampling ?? GREEDY;
        const firstCount = counts;
        const firstBias = biases;
        if (sampling.tokenCounts) {
          words.set(sampling.tokenCounts.words, at.counts + 2 * counts);
          counts += sampling.tokenCounts.size;
        }
        for (const [token, bias] of sampling.tokenBiases ?? []) {
          words[at.biases + 2 * biases] = token;
          this.floats[at.biases + 2 * biases + 1] = bias;
          biases++;
        }
        if (sampling.mask) words.set(sampling.mask, at.masks + masks * size.maskWords);
        const n = topLogprobs.length;
        words[at.outputs + n] = row + output.row;
        const record = at.sampling + n * SAMPLING.bytes / 4;
        this.writeSampling(record, sampling);
        words[record + FIELD.mask] = sampling.mask ? masks++ : NONE;
        words[record + FIELD.first_token_count] = firstCount;
        words[record + FIELD.n_token_counts] = counts - firstCount;
        words[record + FIELD.first_token_bias] = firstBias;
        words[record + FIELD.n_token_biases] = biases - firstBias;
        topLogprobs.push(sampling.topLogprobs);
      }
      row += sequence.tokens.length;
    });
    this.length = size.bytes;
    return topLogprobs;
  }

  /** Writes the parameters; by hand, because it is done for every token of every sequence. */
  private writeSampling(record: number, sampling: StepSampling): void {
    const { words, floats } = this;
    floats[record + FIELD.temperature] = sampling.temperature;
    floats[record + FIELD.top_p] = sampling.topP;
    floats[record + FIELD.min_p] = sampling.minP;
    floats[record + FIELD.repetition_penalty] = sampling.repetitionPenalty;
    floats[record + FIELD.frequency_penalty] = sampling.frequencyPenalty;
    floats[record + FIELD.presence_penalty] = sampling.presencePenalty;
    words[record + FIELD.top_k] = sampling.topK;
    words[record + FIELD.n_top_logprobs] = sampling.topLogprobs;
    // The low word, then the high one.
    this.view.setBigUint64((record + FIELD.seed_low) * 4, sampling.seed, true);
    words[record + FIELD.counter] = sampling.counter;
  }

  private measure(sequences: readonly StepSequence[]) {
    const maskWords = Math.ceil(this.limits.n_vocab / 32);
    const size = { tokens: 0, pages: 0, outputs: 0, decode: 0, counts: 0, biases: 0, masks: 0 };
    for (const sequence of sequences) {
      if (sequence.decode) size.decode++;
      size.tokens += sequence.tokens.length;
      size.pages = Math.max(size.pages, sequence.pages.length);
      size.outputs += sequence.outputs.length;
      for (const { sampling } of sequence.outputs) {
        size.counts += sampling?.tokenCounts?.size ?? 0;
        size.biases += sampling?.tokenBiases?.size ?? 0;
        if (sampling?.mask) {
          if (sampling.mask.length !== maskWords) {
            throw new M40Error(
              "internal",
              `got a token mask of ${sampling.mask.length} words, wanted ${maskWords}`,
            );
          }
          size.masks++;
        }
      }
    }
    this.within("tokens", size.tokens, this.limits.n_tokens);
    this.within("sequences", sequences.length, this.limits.n_sequences);
    this.within("outputs", size.outputs, this.limits.n_outputs);
    this.within("pages of one sequence", size.pages, this.limits.n_sequence_pages);
    const bytes = STEP_HEADER.bytes + 4 *
        (3 * size.tokens + sequences.length * size.pages + size.outputs + 2 * size.counts +
          2 * size.biases + size.masks * maskWords) +
      size.outputs * SAMPLING.bytes;
    this.within("bytes", bytes, Number(this.limits.step_bytes));
    return { ...size, maskWords, bytes };
  }

  private within(what: string, got: number, most: number): void {
    if (got > most) {
      throw new M40Error("internal", `a step of ${got} ${what}; the program takes at most ${most}`);
    }
  }

  private reserve(bytes: number): void {
    if (bytes <= this.bytes.length) return;
    let capacity = this.bytes.length;
    while (capacity < bytes) capacity *= 2;
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
    this.words = new Uint32Array(this.bytes.buffer);
    this.floats = new Float32Array(this.bytes.buffer);
  }
}
