import { M40Error } from "../errors.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { terminalBytes } from "./token_terminals.ts";

/** What of a tokenizer the tokens that stand for text are read from. */
export type TokenBytes = Pick<
  Tokenizer,
  "vocabSize" | "tokenBytes" | "endTokens" | "isControl"
>;

/**
 * The tokens that stand for text, and control tokens as terminals, as a tree of their bytes. Nodes are numbered from parents to children, so
 * that a node's descendants are those from the next one to before {@link skips}. Node 0 is the root.
 */
export class VocabularyTrie {
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
  /** Whether all that lie below a node are letters, digits, spaces and the like: what any text may have. */
  readonly plain: Uint8Array;

  /** @param length The fewest and the most bytes of the tokens that are in it. */
  constructor(tokenizer: TokenBytes, [least, longest]: readonly [number, number] = [1, Infinity]) {
    const texts = Array.from({ length: tokenizer.vocabSize }, (_, token) => {
      const bytes = tokenizer.endTokens.has(token) ? NO_BYTES : terminalBytes(tokenizer, token);
      return bytes.length >= least && bytes.length <= longest ? bytes : NO_BYTES;
    });
    this.tokens = inOrder(texts);
    const most = 1 + texts.reduce((sum, { length }) => sum + length, 0);
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
    for (const [i, token] of this.tokens.entries()) {
      const text = texts[token];
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
    firsts[nodes] = this.tokens.length;
    this.bytes = bytes.slice(0, nodes);
    this.skips = skips.slice(0, nodes);
    this.depths = depths.slice(0, nodes);
    this.firsts = firsts.slice(0, nodes + 1);
    this.plain = this.findPlain();
  }

  private findPlain(): Uint8Array {
    const { bytes, skips } = this;
    const plain = new Uint8Array(bytes.length).fill(1);
    for (let node = bytes.length - 1; node >= 0; node--) {
      for (let child = node + 1; child < skips[node]; child = skips[child]) {
        if (!isPlain(bytes[child]) || plain[child] === 0) plain[node] = 0;
      }
    }
    return plain;
  }
}

/** Letters, digits, spaces: bytes by which most tokens go on. */
export const PLAIN_BYTES: readonly number[] = Array.from({ length: 128 }, (_, byte) => byte)
  .filter((byte) => /^[A-Za-z0-9 _]$/.test(String.fromCharCode(byte)));

const isPlainByte = new Uint8Array(256);
for (const byte of PLAIN_BYTES) isPlainByte[byte] = 1;

function isPlain(byte: number): boolean {
  return isPlainByte[byte] !== 0;
}

const NO_BYTES: Uint8Array = new Uint8Array(0);
/** Bytes of a text that it is sorted by first, and what they are multiplied with to make room for a token's id. */
const FIRST_BYTES = 4;
const ID_ROOM = 2 ** 21;

/** The tokens that have a text, in the order of their texts' bytes. */
function inOrder(texts: readonly Uint8Array[]): Int32Array {
  if (texts.length > ID_ROOM) {
    throw new M40Error(
      "unsupported",
      `the vocabulary has ${texts.length} tokens; an answer can be held to a form with up to ${ID_ROOM}`,
    );
  }
  // Numbers are sorted much faster than texts: by the first bytes, and by the rest where those are the same.
  const keys = new Float64Array(texts.length);
  let count = 0;
  for (const [token, text] of texts.entries()) {
    if (text.length > 0) keys[count++] = firstBytes(text) * ID_ROOM + token;
  }
  const sorted = keys.subarray(0, count).sort();
  const tokens = Int32Array.from(sorted, (key) => key % ID_ROOM);
  for (let begin = 0; begin < count;) {
    const first = Math.floor(sorted[begin] / ID_ROOM);
    let end = begin + 1;
    while (end < count && Math.floor(sorted[end] / ID_ROOM) === first) end++;
    if (end - begin > 1) tokens.subarray(begin, end).sort((a, b) => compare(texts[a], texts[b]));
    begin = end;
  }
  return tokens;
}

/** As one number; what a short text lacks is 0. */
function firstBytes(text: Uint8Array): number {
  let number = 0;
  for (let i = 0; i < FIRST_BYTES; i++) number = number * 256 + (text[i] ?? 0);
  return number;
}

function compare(a: Uint8Array, b: Uint8Array): number {
  const common = commonLength(a, b);
  if (common === a.length || common === b.length) return a.length - b.length;
  return a[common] - b[common];
}

function commonLength(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}
