import type { M40Error } from "../errors.ts";
import { invalidModel, type TokenizerMetadata } from "./vocabulary.ts";

const KEY = "tokenizer.ggml.precompiled_charsmap";

/** The largest map that is read, in bytes; that of NFKC with case folding has 0.3 MB. */
const LARGEST_MAP = 1 << 22;

/** The longest prefix that is replaced, in bytes of UTF-8. */
const LONGEST_PREFIX = 64;

/**
 * The longest replacement, in bytes of UTF-8: Unicode's longest compatibility decomposition has 33. A
 * longer one would let a short text become a huge one.
 */
const LONGEST_REPLACEMENT = 128;

const LEAF = 0x80000000;

/**
 * SentencePiece's normalization rules: the longest prefix of the rest of a text that is a key of the
 * map is replaced by its value; a character that begins none stays.
 *
 * The format is the length of an index in 4 bytes, the index, and the replacements as UTF-8, each with
 * a zero byte behind it. The index is a double array as Darts-clone writes it, in units of 32 bits. Bits 0 to 7 are the
 * label, and bit 8 says whether a key ends here. Bits 10 to 30 are combined with the unit's index to give that of its
 * children (times 256 where bit 9 is set). The unit of a key's end has bit 31 set and says where its replacement
 * begins.
 *
 * All of it comes from a file, so it is walked as a whole before use. A walk over a text can then neither leave it nor
 * loop in it.
 */
export class Charsmap {
  readonly #units: Uint32Array;
  readonly #replacements: Uint8Array;
  /** The replacements that came up, by where they begin. */
  readonly #values = new Map<number, string>();
  /** What each ASCII character becomes; undefined where that depends on the ASCII character after it. */
  readonly #ascii: readonly (string | undefined)[];

  /** @throws {M40Error} `invalid_model` for bytes that are no such map. */
  constructor(bytes: Uint8Array) {
    if (bytes.length < 8 || bytes.length > LARGEST_MAP) {
      throw invalid(`it has ${bytes.length} bytes; wanted 8 to ${LARGEST_MAP}`);
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const length = view.getUint32(0, true);
    if (length === 0 || length % 4 !== 0 || length > bytes.length - 4) {
      throw invalid(`its index has ${length} bytes, of ${bytes.length - 4}`);
    }
    this.#units = Uint32Array.from(
      { length: length / 4 },
      (_, i) => view.getUint32(4 + 4 * i, true),
    );
    this.#replacements = bytes.slice(4 + length);
    checkIndex(this.#units, (at) => this.#checkReplacement(at));
    this.#ascii = Array.from({ length: 128 }, (_, byte) => this.#ofAscii(byte));
  }

  /** The map of a file, if it has one. */
  static read(metadata: TokenizerMetadata): Charsmap | undefined {
    if (!metadata.has(KEY)) return undefined;
    const bytes = metadata.numbers(KEY);
    if (!(bytes instanceof Uint8Array || bytes instanceof Int8Array)) {
      throw invalid("it is an array of wider numbers; wanted bytes");
    }
    if (bytes.length === 0) return undefined;
    return new Charsmap(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }

  /** The text with every prefix replaced, in time proportional to its length. */
  normalize(text: string): string {
    const parts: string[] = [];
    let plainFrom = 0;
    for (let at = 0; at < text.length;) {
      const unit = text.charCodeAt(at);
      // NaN, at the end, is no less than 0x80 but has no say either.
      const ascii = unit < 0x80 && !(text.charCodeAt(at + 1) >= 0x80)
        ? this.#ascii[unit]
        : undefined;
      if (ascii !== undefined && ascii.length === 1 && ascii.charCodeAt(0) === unit) {
        at++;
        continue;
      }
      const found = ascii !== undefined ? { end: at + 1, value: ascii } : this.#longest(text, at);
      if (found === undefined) {
        at += text.codePointAt(at)! > 0xffff ? 2 : 1;
        continue;
      }
      if (at > plainFrom) parts.push(text.substring(plainFrom, at));
      parts.push(found.value);
      at = plainFrom = found.end;
    }
    if (plainFrom === 0) return text;
    parts.push(text.substring(plainFrom));
    return parts.join("");
  }

  /** The longest key at a position of a text, where it ends, and its replacement. */
  #longest(text: string, start: number): { end: number; value: string } | undefined {
    const units = this.#units;
    let place = childrenOf(0, units[0]);
    let end = -1;
    let replacement = 0;
    for (let at = start; at < text.length;) {
      const codePoint = text.codePointAt(at)!;
      const count = utf8Length(codePoint);
      let unit = 0;
      for (let i = 0; i < count; i++) {
        const byte = utf8Byte(codePoint, i, count);
        place ^= byte;
        // Outside of the index there is undefined, whose bits are 0.
        unit = units[place];
        if (byte === 0 || labelOf(unit) !== byte) return this.#found(end, replacement);
        place = childrenOf(place, unit);
      }
      at += codePoint > 0xffff ? 2 : 1;
      if (endsKey(unit)) {
        end = at;
        replacement = units[place] & ~LEAF;
      }
    }
    return this.#found(end, replacement);
  }

  #found(end: number, replacement: number): { end: number; value: string } | undefined {
    if (end < 0) return undefined;
    const value = this.#values.getOrInsertComputed(replacement, (start) => {
      const bytes = this.#replacements.subarray(start, this.#replacements.indexOf(0, start));
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    });
    return { end, value };
  }

  #ofAscii(byte: number): string | undefined {
    const character = String.fromCharCode(byte);
    const place = childrenOf(0, this.#units[0]) ^ byte;
    const unit = this.#units[place];
    if (byte === 0 || labelOf(unit) !== byte) return character;
    const children = childrenOf(place, unit);
    for (let next = 1; next < 0x80; next++) {
      if (labelOf(this.#units[children ^ next]) === next) return undefined;
    }
    return this.#longest(character, 0)?.value ?? character;
  }

  #checkReplacement(at: number): void {
    const end = at < this.#replacements.length ? this.#replacements.indexOf(0, at) : -1;
    if (end < 0) {
      throw invalid(
        `a replacement begins at ${at} and has no end; there are ${this.#replacements.length} bytes of them`,
      );
    }
    if (end - at > LONGEST_REPLACEMENT) {
      throw invalid(`a replacement has ${end - at} bytes; wanted at most ${LONGEST_REPLACEMENT}`);
    }
  }
}

/** A unit's label, which no unit of a key's end has. */
function labelOf(unit: number): number {
  return unit & (LEAF | 0xff);
}

function endsKey(unit: number): boolean {
  return (unit & 0x100) !== 0;
}

/** What a label is combined with to give the index of a unit's child. */
function childrenOf(place: number, unit: number): number {
  return place ^ ((unit >>> 10) << ((unit & 0x200) >>> 6));
}

/**
 * Walks over the whole index. Units may have several parents; each is visited once, and its height
 * remembered. A circle is a prefix without an end, and so one that is too long.
 */
function checkIndex(units: Uint32Array, checkReplacement: (at: number) => void): void {
  const heights = new Int8Array(units.length).fill(-1);
  const visit = (place: number, depth: number): number => {
    if (heights[place] >= 0) return heights[place];
    if (depth > LONGEST_PREFIX) throw tooLong();
    const unit = units[place];
    const children = childrenOf(place, unit);
    if (endsKey(unit)) {
      if (children >= units.length || (units[children] & LEAF) === 0) {
        throw invalid(`a key ends at unit ${children}, which is not one for that`);
      }
      checkReplacement(units[children] & ~LEAF);
    }
    let height = 0;
    for (let label = 1; label < 0x100; label++) {
      const child = children ^ label;
      if (labelOf(units[child]) !== label) continue;
      height = Math.max(height, 1 + visit(child, depth + 1));
    }
    if (depth + height > LONGEST_PREFIX) throw tooLong();
    return heights[place] = height;
  };
  visit(0, 0);
}

function tooLong(): M40Error {
  return invalid(
    `its index goes round in a circle, or has a prefix of more than ${LONGEST_PREFIX} bytes`,
  );
}

function invalid(what: string): M40Error {
  return invalidModel(
    `The normalization rules (${KEY}) are damaged: ${what}. Convert the model again, or fetch the file again.`,
  );
}

function utf8Length(codePoint: number): number {
  return codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
}

/** Byte `i` of the `count` bytes of a code point in UTF-8; a lone surrogate counts as U+FFFD. */
function utf8Byte(codePoint: number, i: number, count: number): number {
  if (count === 1) return codePoint;
  if (codePoint >= 0xd800 && codePoint < 0xe000) codePoint = 0xfffd;
  const bits = codePoint >>> (6 * (count - 1 - i));
  return i > 0 ? 0x80 | (bits & 0x3f) : (0xf00 >>> count & 0xff) | bits;
}
