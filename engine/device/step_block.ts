import { M40Error } from "../errors.ts";
import type { Limits } from "./descriptions.ts";
import type { OutputKind } from "./step_result.ts";
import {
  NONE,
  OUTPUT,
  OutputKind as Kinds,
  SAMPLING,
  STEP_HEADER,
  TOKEN_BIAS,
  TOKEN_COUNT,
} from "./structs.ts";
import {
  GREEDY,
  listsOf,
  MAX_TOKEN_BIASES,
  MOST_FORBIDDEN,
  SAMPLING_NUMBERS,
  type StepSampling,
} from "./step_sampling.ts";

/** One sequence's part of a step. */
export interface StepSequence {
  /** Token ids to be computed now. */
  readonly tokens: ArrayLike<number>;
  /** Position of the first of them in the sequence. */
  readonly position: number;
  /**
   * The sequence's KV blocks of each group of the cache, in order, up to its last token here at least; `NONE`
   * for those that no token here attends to. Empty where there is no cache.
   */
  readonly kvBlocks: readonly ArrayLike<number>[];
  /**
   * The slots that its states are read from, `NONE` where it begins, and written to, which may be the same. No
   * other sequence of the step may read or write the latter. Absent where the program has no states.
   */
  readonly states?: { readonly from: number; readonly to: number };
  /** For which of `tokens` (rising indices) something is wanted, and what: "sample" where that is absent. */
  readonly outputs: readonly {
    readonly row: number;
    readonly kind?: OutputKind;
    /** Of a sample; the likeliest token where it is absent. */
    readonly sampling?: StepSampling;
  }[];
  /**
   * Whether its tokens, one or more, are decode rows rather than part of a prompt. Their results have the bits that
   * they would have in steps of their own. Such sequences come first.
   */
  readonly decode?: boolean;
}

/** An output, as {@link StepBlock.write} found it. */
export interface WantedOutput {
  readonly kind: OutputKind;
  /** Of a sample: how many of the likeliest tokens' log-probabilities it asks for. */
  readonly topLogprobs: number;
  /** Of a sample: whether it asks for the token's surprise. */
  readonly surprise: boolean;
}

const NOTHING: ReadonlySet<number> = new Set();

/** Where the fields of a sampling record stand, in words. */
const FIELD = Object.fromEntries(
  Object.entries(SAMPLING.fields).map(([name, { offset }]) => [name, offset / 4]),
) as Record<keyof typeof SAMPLING.fields, number>;

/**
 * Bytes of the largest input block within limits.
 *
 * @param sequenceTokens Tokens of one sequence at most: it has no more different ones to count.
 * @param groups Of the KV cache.
 * @param hasStates Whether sequences have slots of states.
 */
export function stepBytes(
  limits: Omit<Limits, "step_bytes" | "lane">,
  sequenceTokens = limits.n_vocab,
  groups = 1,
  hasStates = true,
): number {
  const mask = Math.ceil(limits.n_vocab / 32) * 4;
  const history = Math.min(limits.n_vocab, sequenceTokens) * TOKEN_COUNT.bytes;
  const biases = (Math.min(limits.n_vocab, 2 * MAX_TOKEN_BIASES) + MOST_FORBIDDEN) *
    TOKEN_BIAS.bytes;
  return STEP_HEADER.bytes + limits.n_tokens * 12 +
    limits.n_sequences * (groups * limits.n_sequence_kv_blocks * 4 + (hasStates ? 8 : 0)) +
    limits.n_outputs * (OUTPUT.bytes + SAMPLING.bytes + mask + history + biases);
}

/** How much of everything a step has; `kvBlocks` of the sequence and group with most of them. */
interface StepSize {
  readonly tokens: number;
  readonly sequences: number;
  /** Of the KV cache. */
  readonly groups: number;
  readonly kvBlocks: number;
  readonly outputs: number;
  /** Tokens that are computed as decoded ones. */
  readonly decode: number;
  readonly counts: number;
  readonly biases: number;
  readonly masks: number;
  /** Sequences' slots of states: all, or none. */
  readonly states: number;
}

/** Where the arrays of the block start, in words; `end` is after the last. */
interface Places {
  readonly tokens: number;
  readonly positions: number;
  readonly sequences: number;
  readonly kvBlockTable: number;
  readonly states: number;
  readonly outputs: number;
  readonly sampling: number;
  readonly counts: number;
  readonly biases: number;
  readonly masks: number;
  readonly end: number;
}

/** How many tokens, outputs and so on have been written. */
interface Written {
  tokens: number;
  outputs: number;
  counts: number;
  biases: number;
  masks: number;
}

/** The input block of a step, written again for every step in memory that grows to what steps need. */
export class StepBlock {
  /** The block; the first {@link length} bytes count. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Bytes that the last {@link write} filled. */
  length = 0;
  private readonly maskWords: number;
  private view: DataView;
  private words: Uint32Array;
  private floats: Float32Array;

  constructor(private readonly limits: Limits) {
    this.maskWords = Math.ceil(limits.n_vocab / 32);
    this.bytes = new Uint8Array(4096);
    this.view = new DataView(this.bytes.buffer);
    this.words = new Uint32Array(this.bytes.buffer);
    this.floats = new Float32Array(this.bytes.buffer);
  }

  /**
   * Writes the batch.
   *
   * @param prefillShare The share of the device that rows of prompts may take, above 0 to 1.
   * @returns What the outputs are, in the order of the sequences and of their outputs.
   * @throws {M40Error} "internal" where the batch is larger than the program's limits.
   */
  write(sequences: readonly StepSequence[], prefillShare = 1): WantedOutput[] {
    const size = this.measure(sequences);
    const at = this.places(size);
    this.within("bytes", 4 * at.end, Number(this.limits.step_bytes));
    this.reserve(4 * at.end);
    this.writeHeader(size, at, Math.max(1, Math.round(1000 * prefillShare)));
    const written = { tokens: 0, outputs: 0, counts: 0, biases: 0, masks: 0 };
    const wanted: WantedOutput[] = [];
    sequences.forEach((sequence, index) => {
      sequence.kvBlocks.forEach((kvBlocks, group) => {
        const row = index * size.groups + group;
        this.writeKvBlocks(kvBlocks, at.kvBlockTable + row * size.kvBlocks, size.kvBlocks);
      });
      if (sequence.states) this.writeStates(sequence.states, at.states + 2 * index);
      for (const { row, kind = "sample", sampling = GREEDY } of sequence.outputs) {
        const output = at.outputs + 2 * written.outputs;
        this.words[output] = written.tokens + row;
        this.words[output + 1] = Kinds[kind];
        this.writeSampling(sampling, at, written);
        written.outputs++;
        const { topLogprobs, mirostat } = sampling;
        wanted.push({ kind, topLogprobs, surprise: mirostat !== 0 });
      }
      this.writeTokens(sequence, index, at, written.tokens);
      written.tokens += sequence.tokens.length;
    });
    this.length = 4 * at.end;
    return wanted;
  }

  private writeHeader(size: StepSize, at: Places, prefillShare: number): void {
    STEP_HEADER.write(this.view, 0, {
      n_tokens: size.tokens,
      n_sequences: size.sequences,
      n_outputs: size.outputs,
      n_decode: size.decode,
      kv_block_stride: size.kvBlocks,
      tokens: at.tokens * 4,
      positions: at.positions * 4,
      sequences: at.sequences * 4,
      kv_block_table: at.kvBlockTable * 4,
      outputs: at.outputs * 4,
      sampling: at.sampling * 4,
      token_counts: at.counts * 4,
      n_token_counts: size.counts,
      token_biases: at.biases * 4,
      n_token_biases: size.biases,
      masks: at.masks * 4,
      n_masks: size.masks,
      states: at.states * 4,
      prefill_share: prefillShare,
    });
  }

  private writeTokens(sequence: StepSequence, index: number, at: Places, first: number): void {
    const { words } = this;
    for (let i = 0; i < sequence.tokens.length; i++) {
      words[at.tokens + first + i] = sequence.tokens[i];
      words[at.positions + first + i] = sequence.position + i;
      words[at.sequences + first + i] = index;
    }
  }

  private writeKvBlocks(kvBlocks: ArrayLike<number>, row: number, stride: number): void {
    const { words } = this;
    for (let i = 0; i < kvBlocks.length; i++) words[row + i] = kvBlocks[i];
    words.fill(NONE, row + kvBlocks.length, row + stride);
  }

  private writeStates({ from, to }: { from: number; to: number }, place: number): void {
    this.words[place] = from;
    this.words[place + 1] = to;
  }

  /** Writes the next output's record, and the lists that it refers to. */
  private writeSampling(sampling: StepSampling, at: Places, written: Written): void {
    const { words, floats } = this;
    const record = at.sampling + written.outputs * SAMPLING.bytes / 4;
    for (const { name, word, isFloat } of SAMPLING_NUMBERS) {
      (isFloat ? floats : words)[record + word] = sampling[name];
    }
    words[record + FIELD.n_top_logprobs] = sampling.topLogprobs;
    // The low word, then the high one.
    this.view.setBigUint64((record + FIELD.seed_low) * 4, sampling.seed, true);
    const lists = listsOf(sampling);
    words[record + FIELD.first_token_count] = written.counts;
    words[record + FIELD.n_token_counts] = lists.counts;
    if (lists.counts > 0) words.set(sampling.tokenCounts!.words, at.counts + 2 * written.counts);
    written.counts += lists.counts;
    words[record + FIELD.first_token_bias] = written.biases;
    words[record + FIELD.n_token_biases] = lists.biases;
    if (lists.biases > 0) {
      this.writeBiases(sampling, lists.forbidden, at.biases + 2 * written.biases);
    }
    written.biases += lists.biases;
    words[record + FIELD.mask] = lists.masked ? written.masks : NONE;
    if (lists.masked) this.writeMask(sampling, at.masks + this.maskWords * written.masks++);
  }

  private writeBiases(sampling: StepSampling, nForbidden: number, place: number): void {
    for (const [token, bias] of sampling.tokenBiases ?? []) {
      this.words[place++] = token;
      this.floats[place++] = bias;
    }
    if (nForbidden === 0) return;
    for (const token of sampling.forbidden!) {
      this.words[place++] = token;
      this.floats[place++] = -Infinity;
    }
  }

  private writeMask({ mask, forbidden = NOTHING, only }: StepSampling, place: number): void {
    const words = this.words.subarray(place, place + this.maskWords);
    if (only !== undefined) {
      words.fill(0);
      words[only >>> 5] |= 1 << only;
      return;
    }
    if (mask) words.set(mask);
    else words.fill(0xFFFFFFFF);
    for (const token of forbidden) words[token >>> 5] &= ~(1 << token);
  }

  private places(size: StepSize): Places {
    const tokens = STEP_HEADER.bytes / 4;
    const positions = tokens + size.tokens;
    const sequences = positions + size.tokens;
    const kvBlockTable = sequences + size.tokens;
    const states = kvBlockTable + size.sequences * size.groups * size.kvBlocks;
    const outputs = states + 2 * size.states;
    const sampling = outputs + size.outputs * OUTPUT.bytes / 4;
    const counts = sampling + size.outputs * SAMPLING.bytes / 4;
    const biases = counts + size.counts * TOKEN_COUNT.bytes / 4;
    const masks = biases + size.biases * TOKEN_BIAS.bytes / 4;
    const end = masks + size.masks * this.maskWords;
    return {
      tokens,
      positions,
      sequences,
      kvBlockTable,
      states,
      outputs,
      sampling,
      counts,
      biases,
      masks,
      end,
    };
  }

  private measure(sequences: readonly StepSequence[]): StepSize {
    const size = {
      tokens: 0,
      sequences: sequences.length,
      groups: sequences[0]?.kvBlocks.length ?? 0,
      kvBlocks: 0,
      outputs: 0,
      decode: 0,
      counts: 0,
      biases: 0,
      masks: 0,
      states: sequences[0]?.states === undefined ? 0 : sequences.length,
    };
    for (const { tokens, kvBlocks, states, outputs, decode } of sequences) {
      if (decode) size.decode += tokens.length;
      size.tokens += tokens.length;
      if (kvBlocks.length !== size.groups) {
        throw new M40Error("internal", "sequences with KV blocks of different numbers of groups");
      }
      if ((states !== undefined) !== (size.states > 0)) {
        throw new M40Error("internal", "sequences with states and without in one step");
      }
      for (const { length } of kvBlocks) size.kvBlocks = Math.max(size.kvBlocks, length);
      size.outputs += outputs.length;
      for (const { sampling } of outputs) {
        if (sampling === undefined) continue;
        const { counts, biases, masked } = listsOf(sampling);
        size.counts += counts;
        size.biases += biases;
        if (sampling.mask) this.checkMask(sampling.mask);
        if (masked) size.masks++;
      }
    }
    this.within("tokens", size.tokens, this.limits.n_tokens);
    this.within("sequences", size.sequences, this.limits.n_sequences);
    this.within("outputs", size.outputs, this.limits.n_outputs);
    this.within("KV blocks of one sequence", size.kvBlocks, this.limits.n_sequence_kv_blocks);
    return size;
  }

  private checkMask(mask: Uint32Array): void {
    if (mask.length === this.maskWords) return;
    throw new M40Error(
      "internal",
      `got a token mask of ${mask.length} words, wanted ${this.maskWords}`,
    );
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
