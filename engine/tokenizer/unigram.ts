import { ByteFallback } from "./byte_fallback.ts";
import { Charsmap } from "./charsmap.ts";
import { hasInnerMark, SPACE_MARK, tokenBytesOf, wordEnd } from "./space_mark.ts";
import { NONE, ROOT, TokenTrie } from "./token_trie.ts";
import {
  invalidModel,
  isSpellable,
  TOKEN_TYPE,
  type TokenizerMetadata,
  type Vocabulary,
} from "./vocabulary.ts";
import type { TokenModel } from "./vocabulary_tokenizer.ts";
import { WordCache } from "./word_cache.ts";

/** How much worse an unknown character is than the worst token. */
const UNKNOWN_PENALTY = 10;

/** The longest piece, in code units; SentencePiece makes none of more than 16 characters by default. */
const LONGEST_PIECE = 512;

/** How many elements the arrays keep between texts; more is given back after a long one. */
const KEPT_CAPACITY = 1 << 14;

/**
 * SentencePiece's Unigram (`tokenizer.ggml.model` = "t5"): of all ways to write a word in tokens, the
 * one whose scores, logarithms of probabilities, add up to the most (Kudo 2018). A character that no
 * token is becomes its UTF-8 bytes, where the vocabulary has all of them, or the unknown token, one
 * for several such characters in a row.
 *
 * Normalization is SentencePiece's. The scores are added in double precision, as in llama.cpp and Hugging Face's
 * tokenizers. SentencePiece itself adds them in single precision, and may choose another of two equally good ways. A
 * text of n characters takes O(n * longest token).
 */
export class Unigram implements TokenModel {
  readonly addBosDefault = false;
  readonly addEosDefault = true;
  readonly addSpacePrefix: boolean;
  readonly #vocabulary: Vocabulary;
  /** What characters become, such as Unicode's NFKC. */
  readonly #charsmap?: Charsmap;
  readonly #removeExtraWhitespaces: boolean;
  readonly #scores: Float32Array;
  readonly #unknownScore: number;
  readonly #fallback: ByteFallback;
  readonly #trie = new TokenTrie();
  /** Whether words are independent: a space mark never follows another character within a token. */
  readonly #markOnlyLeads: boolean;
  readonly #cache = new WordCache();
  /** For each place in a word: the best score up to it, and the token that ends there. */
  #best = new Float64Array(0);
  #token = new Int32Array(0);
  /** Where that token begins. */
  #start = new Int32Array(0);

  /** @throws {M40Error} `invalid_model` when the vocabulary cannot spell every text. */
  constructor(vocabulary: Vocabulary, metadata: TokenizerMetadata) {
    const { texts, types, size, scores } = vocabulary;
    this.#vocabulary = vocabulary;
    this.#charsmap = Charsmap.read(metadata);
    this.addSpacePrefix = metadata.boolean("tokenizer.ggml.add_space_prefix", true);
    this.#removeExtraWhitespaces = metadata.boolean(
      "tokenizer.ggml.remove_extra_whitespaces",
      true,
    );
    this.#scores = checkedScores(scores);
    this.#fallback = new ByteFallback(vocabulary);
    let lowest = 0;
    let markOnlyLeads = true;
    for (let id = 0; id < size; id++) {
      const type = types[id];
      if (!isSpellable(type) || texts[id] === "") continue;
      if (texts[id].length > LONGEST_PIECE) {
        throw invalidModel(
          `Token ${id} (tokenizer.ggml.tokens) has ${
            texts[id].length
          } UTF-16 code units; wanted at most ${LONGEST_PIECE}.`,
        );
      }
      this.#trie.add(texts[id], id);
      markOnlyLeads &&= !hasInnerMark(texts[id]);
      if (type === TOKEN_TYPE.normal) lowest = Math.min(lowest, this.#scores[id]);
    }
    this.#markOnlyLeads = markOnlyLeads;
    this.#unknownScore = lowest - UNKNOWN_PENALTY;
  }

  encode(text: string, first: boolean, tokens: number[]): void {
    const marked = this.#marked(text, first);
    const from = tokens.length;
    for (let start = 0; start < marked.length;) {
      const end = this.#markOnlyLeads ? wordEnd(marked, start) : marked.length;
      this.#cache.encode(marked.substring(start, end), tokens, this.#spell);
      start = end;
    }
    if (this.#fallback.lacksBytes) joinUnknown(tokens, from, this.#vocabulary.unknown!);
  }

  /** The text normalized, with marks for its spaces. */
  #marked(text: string, first: boolean): string {
    const removes = this.#removeExtraWhitespaces;
    let normalized = this.#charsmap?.normalize(text) ?? text;
    if (removes) normalized = normalized.replace(/ {2,}/g, " ").replace(/^ /, "");
    let marked = normalized.replaceAll(" ", SPACE_MARK);
    if (first && this.addSpacePrefix && text !== "") marked = SPACE_MARK + marked;
    if (!removes) return marked;
    let end = marked.length;
    while (end > 0 && marked[end - 1] === SPACE_MARK) end--;
    return marked.substring(0, end);
  }

  /** Viterbi's algorithm over the positions of a word. */
  readonly #spell = (word: string, tokens: number[]): void => {
    const length = word.length;
    if (this.#best.length <= length) this.#allocate(Math.max(256, 2 * length));
    const [best, token, start] = [this.#best, this.#token, this.#start];
    best.fill(-Infinity, 0, length + 1);
    best[0] = 0;
    for (let at = 0; at < length;) {
      const next = at + (word.codePointAt(at)! > 0xffff ? 2 : 1);
      let known = false;
      let node = ROOT;
      for (let end = at; end < length;) {
        node = this.#trie.step(node, word.charCodeAt(end++));
        if (node === NONE) break;
        const id = this.#trie.tokenAt(node);
        if (id === NONE) continue;
        known ||= end === next;
        this.#offer(end, at, id, best[at] + this.#scoreOf(id));
      }
      if (!known) this.#offer(next, at, NONE, best[at] + this.#unknownScore);
      at = next;
    }
    const path: number[] = [];
    for (let end = length; end > 0; end = start[end]) path.push(end);
    for (let i = path.length - 1; i >= 0; i--) {
      const end = path[i];
      if (token[end] !== NONE) tokens.push(token[end]);
      else this.#fallback.spell(word.codePointAt(start[end])!, tokens);
    }
    if (this.#best.length > KEPT_CAPACITY) this.#allocate(0);
  };

  #offer(end: number, start: number, id: number, score: number): void {
    if (score <= this.#best[end]) return;
    this.#best[end] = score;
    this.#token[end] = id;
    this.#start[end] = start;
  }

  /** A user-defined token has no probability; none is better. */
  #scoreOf(id: number): number {
    return this.#vocabulary.types[id] === TOKEN_TYPE.userDefined ? 0 : this.#scores[id];
  }

  isSpelled(token: number): boolean {
    return this.#fallback.isSpelled(token);
  }

  tokenBytes(token: number): Uint8Array {
    return tokenBytesOf(this.#vocabulary, token);
  }

  #allocate(capacity: number): void {
    this.#best = new Float64Array(capacity);
    this.#token = new Int32Array(capacity);
    this.#start = new Int32Array(capacity);
  }
}

function checkedScores(scores: Float32Array | undefined): Float32Array {
  if (scores === undefined) {
    throw invalidModel(
      'tokenizer.ggml.scores is missing; a "t5" vocabulary (tokenizer.ggml.model) needs it to choose.',
    );
  }
  const bad = scores.findIndex((score) => !Number.isFinite(score));
  if (bad >= 0) {
    throw invalidModel(
      `tokenizer.ggml.scores of token ${bad} is ${scores[bad]}; wanted a finite number.`,
    );
  }
  return scores;
}

/** Leaves one of several unknown tokens in a row, from a place on. */
function joinUnknown(tokens: number[], from: number, unknown: number): void {
  let kept = from;
  for (let at = from; at < tokens.length; at++) {
    if (tokens[at] === unknown && at > from && tokens[at - 1] === unknown) continue;
    tokens[kept++] = tokens[at];
  }
  tokens.length = kept;
}
