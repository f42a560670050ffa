import type { Tokenizer } from "../tokenizer/tokenizer.ts";

/** What of a tokenizer the tokens that stand for text are read from. */
export type TokenBytes = Pick<Tokenizer, "vocabSize" | "tokenBytes" | "endTokens">;

/**
 * The tokens that stand for text, as a tree of their bytes. Nodes are numbered from parents to children, so
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
  readonly mostDepth: number;

  constructor(tokenizer: TokenBytes) {
    const { vocabSize, endTokens } = tokenizer;
    const texts: { token: number; bytes: Uint8Array; key: string }[] = [];
    for (let token = 0; token < vocabSize; token++) {
      const bytes = endTokens.has(token) ? NO_BYTES : tokenizer.tokenBytes(token);
      // Strings are compared much faster than arrays.
      if (bytes.length > 0) texts.push({ token, bytes, key: String.fromCharCode(...bytes) });
    }
    texts.sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : a.token - b.token);
    const bytes = [0];
    const depths = [0];
    const firsts = [0];
    const skips = [0];
    /** The nodes that lead to the last text. */
    const path = [0];
    let before: Uint8Array = NO_BYTES;
    const leave = (depth: number) => {
      while (path.length > depth + 1) skips[path.pop()!] = bytes.length;
    };
    for (const [i, { bytes: text }] of texts.entries()) {
      leave(commonLength(before, text));
      for (let depth = path.length - 1; depth < text.length; depth++) {
        path.push(bytes.length);
        bytes.push(text[depth]);
        depths.push(depth + 1);
        firsts.push(i);
      }
      before = text;
    }
    leave(0);
    skips[0] = bytes.length;
    firsts.push(texts.length);
    this.bytes = Uint8Array.from(bytes);
    this.skips = Int32Array.from(skips);
    this.depths = Int32Array.from(depths);
    this.firsts = Int32Array.from(firsts);
    this.tokens = Int32Array.from(texts, ({ token }) => token);
    this.mostDepth = depths.reduce((most, depth) => Math.max(most, depth), 0);
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

const NO_BYTES = new Uint8Array(0);

function commonLength(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}
