import { M40Error } from "../errors.ts";

/** Bytes of a text that it is sorted by first: by two into buckets, in those by four as one number. */
const BUCKET_BYTES = 2;
const KEY_BYTES = 4;
/** What a number is multiplied with to make room for a token's id. */
const ID_ROOM = 2 ** 21;
/** Tokens that are gone through between two yields. */
const PIECE = 1024;

/**
 * The tokens that have a text, in the order of their texts' bytes. It yields after a millisecond or less.
 *
 * @throws {M40Error} "unsupported" for more than 2^21 tokens.
 */
export function* inOrder(texts: readonly Uint8Array[]): Generator<undefined, Int32Array> {
  if (texts.length > ID_ROOM) {
    throw new M40Error(
      "unsupported",
      `the vocabulary has ${texts.length} tokens; an answer can be held to a form with up to ${ID_ROOM}`,
    );
  }
  const ends = new Int32Array(1 << 8 * BUCKET_BYTES);
  for (let token = 0; token < texts.length; token++) {
    if (token % PIECE === 0) yield;
    if (texts[token].length > 0) ends[numberOf(texts[token], 0, BUCKET_BYTES)]++;
  }
  let count = 0;
  for (let bucket = 0; bucket < ends.length; bucket++) {
    const size = ends[bucket];
    ends[bucket] = count;
    count += size;
  }
  const tokens = new Int32Array(count);
  for (let token = 0; token < texts.length; token++) {
    if (token % PIECE === 0) yield;
    const text = texts[token];
    if (text.length > 0) tokens[ends[numberOf(text, 0, BUCKET_BYTES)]++] = token;
  }
  let piece = 0;
  for (let bucket = 0, begin = 0; bucket < ends.length; begin = ends[bucket++]) {
    const size = ends[bucket] - begin;
    if (size > 1) sortBucket(tokens.subarray(begin, ends[bucket]), texts);
    piece += 1 + 16 * size;
    if (piece < 16 * PIECE) continue;
    piece = 0;
    yield;
  }
  return tokens;
}

/** Sorts tokens whose texts start alike. Numbers are sorted much faster than texts. */
function sortBucket(tokens: Int32Array, texts: readonly Uint8Array[]): void {
  const keys = Float64Array.from(
    tokens,
    (token) => numberOf(texts[token], BUCKET_BYTES, KEY_BYTES) * ID_ROOM + token,
  ).sort();
  tokens.set(Int32Array.from(keys, (key) => key % ID_ROOM));
  for (let begin = 0; begin < keys.length;) {
    const first = Math.floor(keys[begin] / ID_ROOM);
    let end = begin + 1;
    while (end < keys.length && Math.floor(keys[end] / ID_ROOM) === first) end++;
    if (end - begin > 1) tokens.subarray(begin, end).sort((a, b) => compare(texts[a], texts[b]));
    begin = end;
  }
}

/** The first bytes of a text as one number; what a short text lacks is 0. */
function numberOf(text: Uint8Array, begin: number, bytes: number): number {
  let number = 0;
  for (let i = begin; i < begin + bytes; i++) number = number * 256 + (text[i] ?? 0);
  return number;
}

function compare(a: Uint8Array, b: Uint8Array): number {
  const common = commonLength(a, b);
  if (common === a.length || common === b.length) return a.length - b.length;
  return a[common] - b[common];
}

/** The length of two texts' common prefix, in bytes. */
export function commonLength(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}
