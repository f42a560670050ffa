import { M40Error } from "../errors.ts";
import type { Limits } from "./descriptions.ts";
import type { OutputKind, WantedOutput } from "./step_result.ts";
import {
  NONE,
  OUTPUT,
  OutputKind as Kinds,
  SAMPLING,
  STEP_HEADER,
  TOKEN_BIAS,
  TOKEN_COUNT,
} from "./structs.ts";
import { GREEDY, MAX_TOKEN_BIASES, SAMPLING_NUMBERS, type StepSampling } from "./step_sampling.ts";

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

/** More tokens than these are forbidden by a mask rather than by biases of -infinity. */
export const MOST_FORBIDDEN = 64;

/** Where the fields of a header and of a sampling record are, in words. */
const HEADER = STEP_HEADER.words;
const FIELD = SAMPLING.words;

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

/** Where the next element of each of a block's arrays goes, in words; lists and masks are also counted. */
interface Places {
  tokens: number;
  positions: number;
  sequences: number;
  kvBlockTable: number;
  /** KV blocks of a sequence and group in the table. */
  readonly kvBlockStride: number;
  states: number;
  outputs: number;
  sampling: number;
  counts: number;
  nCounts: number;
  biases: number;
  nBiases: number;
  masks: number;
  nMasks: number;
}

/** The lists of an output: how long they are, and whether it has a mask. */
function listsOf({ tokenCounts, tokenBiases, forbidden, mask, only }: StepSampling) {
  // The sample is given; the log-probabilities are the model's own.
  if (only !== undefined) return { counts: 0, biases: 0, forbidden: 0, masked: true };
  const nForbidden = forbidden?.size ?? 0;
  const few = nForbidden <= MOST_FORBIDDEN;
  return {
    counts: tokenCounts?.size ?? 0,
    biases: (tokenBiases?.size ?? 0) + (few ? nForbidden : 0),
    forbidden: few ? nForbidden : 0,
    masked: mask !== undefined || !few,
  };
}

/** The input block of a step, written again for every step in memory that grows to what steps need. */
export class StepBlock {
  /** The block; the first {@link length} bytes count. */
  bytes = new Uint8Array(4096);
  /** Bytes that the last {@link write} filled. */
  length = 0;
  /** Whether all outputs of the last {@link write} are samples. */
  hasSamplesAlone = true;
  private readonly maskWords: number;
  private words = new Uint32Array(this.bytes.buffer);
  private floats = new Float32Array(this.bytes.buffer);

  constructor(private readonly limits: Limits) {
    this.maskWords = Math.ceil(limits.n_vocab / 32);
  }

  /**
   * Writes the batch. By hand, because it is done for every token of every sequence.
   *
   * @param prefillShare The share of the device that rows of prompts may take, above 0 to 1.
   * @returns What the outputs are, in the order of the sequences and of their outputs.
   * @throws {M40Error} "internal" where the batch is larger than the program's limits.
   */
  write(sequences: readonly StepSequence[], prefillShare = 1): WantedOutput[] {
    const at = this.layOut(sequences);
    const { words } = this;
    words[HEADER.prefill_share] = Math.max(1, Math.round(1000 * prefillShare));
    const wanted: WantedOutput[] = [];
    this.hasSamplesAlone = true;
    let row = 0;
    for (let index = 0; index < sequences.length; index++) {
      const { tokens, position, kvBlocks, states, outputs } = sequences[index];
      for (const ofGroup of kvBlocks) {
        const end = at.kvBlockTable + at.kvBlockStride;
        for (let i = 0; i < ofGroup.length; i++) words[at.kvBlockTable + i] = ofGroup[i];
        words.fill(NONE, at.kvBlockTable + ofGroup.length, end);
        at.kvBlockTable = end;
      }
      if (states !== undefined) {
        words[at.states++] = states.from;
        words[at.states++] = states.to;
      }
      for (const output of outputs) {
        const { kind = "sample", sampling = GREEDY } = output;
        words[at.outputs++] = row + output.row;
        words[at.outputs++] = Kinds[kind];
        if (kind !== "sample") this.hasSamplesAlone = false;
        this.writeSampling(sampling, at);
        const { topLogprobs, mirostat } = sampling;
        wanted.push({ kind, topLogprobs, surprise: mirostat !== 0 });
      }
      for (let i = 0; i < tokens.length; i++) {
        words[at.tokens++] = tokens[i];
        words[at.positions++] = position + i;
        words[at.sequences++] = index;
      }
      row += tokens.length;
    }
    return wanted;
  }

  /** Writes the header of a block with room for the batch; returns where everything goes. */
  private layOut(sequences: readonly StepSequence[]): Places {
    const { limits } = this;
    const groups = sequences[0]?.kvBlocks.length ?? 0;
    const hasStates = sequences[0]?.states !== undefined;
    let [nTokens, nDecode, nOutputs, kvBlockStride] = [0, 0, 0, 0];
    let [nCounts, nBiases, nMasks] = [0, 0, 0];
    for (const { tokens, kvBlocks, states, outputs, decode } of sequences) {
      if (decode) nDecode += tokens.length;
      nTokens += tokens.length;
      if (kvBlocks.length !== groups) {
        throw new M40Error("internal", "sequences with KV blocks of different numbers of groups");
      }
      if ((states !== undefined) !== hasStates) {
        throw new M40Error("internal", "sequences with states and without in one step");
      }
      for (const { length } of kvBlocks) kvBlockStride = Math.max(kvBlockStride, length);
      nOutputs += outputs.length;
      for (const { sampling } of outputs) {
        if (sampling === undefined) continue;
        const { counts, biases, masked } = listsOf(sampling);
        nCounts += counts;
        nBiases += biases;
        if (masked) nMasks++;
        const { mask } = sampling;
        if (mask !== undefined && mask.length !== this.maskWords) {
          throw new M40Error(
            "internal",
            `got a token mask of ${mask.length} words, wanted ${this.maskWords}`,
          );
        }
      }
    }
    within("tokens", nTokens, limits.n_tokens);
    within("sequences", sequences.length, limits.n_sequences);
    within("outputs", nOutputs, limits.n_outputs);
    within("KV blocks of one sequence", kvBlockStride, limits.n_sequence_kv_blocks);
    const tokens = STEP_HEADER.bytes / 4;
    const positions = tokens + nTokens;
    const ofTokens = positions + nTokens;
    const kvBlockTable = ofTokens + nTokens;
    const states = kvBlockTable + sequences.length * groups * kvBlockStride;
    const outputs = states + (hasStates ? 2 * sequences.length : 0);
    const sampling = outputs + nOutputs * OUTPUT.bytes / 4;
    const counts = sampling + nOutputs * SAMPLING.bytes / 4;
    const biases = counts + nCounts * TOKEN_COUNT.bytes / 4;
    const masks = biases + nBiases * TOKEN_BIAS.bytes / 4;
    const length = 4 * (masks + nMasks * this.maskWords);
    within("bytes", length, Number(limits.step_bytes));
    if (length > this.bytes.length) {
      this.bytes = new Uint8Array(2 ** Math.ceil(Math.log2(length)));
      this.words = new Uint32Array(this.bytes.buffer);
      this.floats = new Float32Array(this.bytes.buffer);
    }
    this.length = length;
    const { words } = this;
    words[HEADER.n_tokens] = nTokens;
    words[HEADER.n_sequences] = sequences.length;
    words[HEADER.n_outputs] = nOutputs;
    words[HEADER.n_decode] = nDecode;
    words[HEADER.kv_block_stride] = kvBlockStride;
    words[HEADER.tokens] = 4 * tokens;
    words[HEADER.positions] = 4 * positions;
    words[HEADER.sequences] = 4 * ofTokens;
    words[HEADER.kv_block_table] = 4 * kvBlockTable;
    words[HEADER.outputs] = 4 * outputs;
    words[HEADER.sampling] = 4 * sampling;
    words[HEADER.token_counts] = 4 * counts;
    words[HEADER.n_token_counts] = nCounts;
    words[HEADER.token_biases] = 4 * biases;
    words[HEADER.n_token_biases] = nBiases;
    words[HEADER.masks] = 4 * masks;
    words[HEADER.n_masks] = nMasks;
    words[HEADER.states] = 4 * states;
    return {
      ...{ tokens, positions, sequences: ofTokens, kvBlockTable, kvBlockStride, states, outputs },
      ...{ sampling, counts, nCounts: 0, biases, nBiases: 0, masks, nMasks: 0 },
    };
  }

  /** Writes the next output's record, and the lists that it refers to. */
  private writeSampling(sampling: StepSampling, at: Places): void {
    const { words, floats } = this;
    const record = at.sampling;
    at.sampling += SAMPLING.bytes / 4;
    for (const { name, word, isFloat } of SAMPLING_NUMBERS) {
      (isFloat ? floats : words)[record + word] = sampling[name];
    }
    words[record + FIELD.n_top_logprobs] = sampling.topLogprobs;
    words[record + FIELD.seed_low] = Number(sampling.seed & 0xFFFFFFFFn);
    words[record + FIELD.seed_high] = Number(sampling.seed >> 32n);
    const lists = listsOf(sampling);
    words[record + FIELD.first_token_count] = at.nCounts;
    words[record + FIELD.n_token_counts] = lists.counts;
    words[record + FIELD.first_token_bias] = at.nBiases;
    words[record + FIELD.n_token_biases] = lists.biases;
    words[record + FIELD.mask] = lists.masked ? at.nMasks++ : NONE;
    if (lists.counts > 0) words.set(sampling.tokenCounts!.words, at.counts + 2 * at.nCounts);
    at.nCounts += lists.counts;
    if (lists.biases > 0) {
      const forbidden = lists.forbidden > 0 ? sampling.forbidden : undefined;
      this.writeBiases(sampling.tokenBiases, forbidden, at.biases + 2 * at.nBiases);
    }
    at.nBiases += lists.biases;
    if (!lists.masked) return;
    this.writeMask(sampling, at.masks);
    at.masks += this.maskWords;
  }

  private writeBiases(
    biases: StepSampling["tokenBiases"] = new Map(),
    forbidden: StepSampling["forbidden"] = new Set(),
    place: number,
  ): void {
    for (const [token, bias] of biases) {
      this.words[place++] = token;
      this.floats[place++] = bias;
    }
    for (const token of forbidden) {
      this.words[place++] = token;
      this.floats[place++] = -Infinity;
    }
  }

  private writeMask({ mask, forbidden = new Set(), only }: StepSampling, place: number): void {
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
}

function within(what: string, got: number, most: number): void {
  if (got > most) {
    throw new M40Error("internal", `a step of ${got} ${what}; the program takes at most ${most}`);
  }
}
