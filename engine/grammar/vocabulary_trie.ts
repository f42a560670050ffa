import type { Tokenizer } from "../tokenizer/mod.ts";
import { KIND_BITS } from "./byte_kinds.ts";
import { terminalBytes } from "./token_terminals.ts";
import { commonLength, inOrder } from "./vocabulary_order.ts";

/** What of a tokenizer the tokens that stand for text are read from. */
export type TokenBytes = Pick<
  Tokenizer,
  "vocabSize" | "tokenBytes" | "endTokens" | "suppressed" | "isControl"
>;

/** Tokens and nodes of a tree that are gone through between two yields of {@link vocabularyTries}. */
const PIECE = 1024;

/**
 * The tokens that stand for text, and control tokens as terminals, as a tree of their bytes. Nodes are numbered from
 * parents to children, so that a node's descendants are those from the next one to before {@link skips}. Node 0 is
 * the root.
 */
export interface VocabularyTrie {
  /** The byte that leads to a node. */
  readonly bytes: Uint8Array;
  /** The first node that is not below a node. */
  readonly skips: Int32Array;
  /** How many bytes lead to a node. */
  readonly depths: Int32Array;
  /** Tokens in the order of their nodes. */
  readonly tokens: Int32Array;
  /** Where the tokens of a node begin in {@link tokens}; they end where those of the next begin. */
  readonly firsts: Int32Array;
  /** The kinds of all bytes below a node, as a set of bits: see {@link KIND_BITS}. */
  readonly kinds: Uint8Array;
}

/** The tokens of a vocabulary, those of few bytes and those of more in trees of their own. */
export interface VocabularyTries {
  readonly short: VocabularyTrie;
  readonly long: VocabularyTrie;
}

/**
 * Makes the trees of a vocabulary. It takes a quarter of a second with 128k tokens: it yields after each
 * millisecond or less of that.
 *
 * @param shortBytes The most bytes of a short token.
 * @throws {M40Error} "unsupported" for a vocabulary of more than 2^21 tokens.
 */
export function* vocabularyTries(
  tokenizer: TokenBytes,
  shortBytes: number,
): Generator<undefined, VocabularyTries> {
  const { vocabSize } = tokenizer;
  const short: Uint8Array[] = new Array(vocabSize).fill(NO_BYTES);
  const long: Uint8Array[] = new Array(vocabSize).fill(NO_BYTES);
  for (let token = 0; token < vocabSize; token++) {
    if (token % PIECE === 0) yield;
    if (tokenizer.endTokens.has(token) || tokenizer.suppressed?.has(token)) continue;
    const bytes = terminalBytes(tokenizer, token);
    if (bytes.length <= shortBytes) short[token] = bytes;
    else long[token] = bytes;
  }
  return { short: yield* trieOf(short), long: yield* trieOf(long) };
}

/** The tree of some texts; the empty ones are not in it. */
function* trieOf(texts: readonly Uint8Array[]): Generator<undefined, VocabularyTrie> {
  const tokens = yield* inOrder(texts);
  let most = 1;
  for (const token of tokens) most += texts[token].length;
  yield;
  const bytes = new Uint8Array(most);
  const depths = new Int32Array(most);
  const skips = new Int32Array(most);
  const firsts = new Int32Array(most + 1);
  /** The nodes that lead to the last text. */
  const path = [0];
  let nodes = 1;
  let before = NO_BYTES;
  const leave = (depth: number) => {
    while (path.length > depth + 1) skips[path.pop()!] = nodes;
  };
  for (let i = 0; i < tokens.length; i++) {
    if (i % PIECE === 0) yield;
    const text = texts[tokens[i]];
    leave(commonLength(before, text));
    for (let depth = path.length - 1; depth < text.length; depth++) {
      path.push(nodes);
      bytes[nodes] = text[depth];
      depths[nodes] = depth + 1;
      firsts[nodes++] = i;
    }
    before = text;
  }
  leave(0);
  skips[0] = nodes;
  firsts[nodes] = tokens.length;
  const trie = { bytes: bytes.slice(0, nodes), skips: skips.slice(0, nodes) };
  yield;
  const ofNodes = { depths: depths.slice(0, nodes), firsts: firsts.slice(0, nodes + 1) };
  return { ...trie, ...ofNodes, tokens, kinds: yield* findKinds(trie) };
}

function* findKinds(
  { bytes, skips }: Pick<VocabularyTrie, "bytes" | "skips">,
): Generator<undefined, Uint8Array> {
  const kinds = new Uint8Array(bytes.length);
  for (let node = bytes.length - 1; node >= 0; node--) {
    if (node % PIECE === 0) yield;
    for (let child = node + 1; child < skips[node]; child = skips[child]) {
      kinds[node] |= KIND_BITS[bytes[child]] | kinds[child];
    }
  }
  return kinds;
}

const NO_BYTES: Uint8Array = new Uint8Array(0);
