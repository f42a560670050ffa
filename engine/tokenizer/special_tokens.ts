import type { SpaceRule } from "./space_rule.ts";
import { invalidModel, TOKEN_TYPE, type Vocabulary } from "./vocabulary.ts";

interface SpecialToken {
  readonly id: number;
  readonly text: string;
  /** Whether it is looked for only where special tokens are parsed. */
  readonly onDemand: boolean;
  /** Whether white space before it, and after it, belongs to it. */
  readonly stripsBefore: boolean;
  readonly stripsAfter: boolean;
}

/** Special tokens of one length in UTF-8 bytes. */
interface LengthGroup {
  readonly byText: Map<string, SpecialToken>;
  /** By first code unit: the lengths of the tokens in code units, which may differ where the bytes do not. */
  readonly lengths: Map<number, Set<number>>;
}

/** The texts of special tokens as a tree of code units. */
interface Node {
  readonly next: Map<number, Node>;
  /** The token that ends here. */
  token?: SpecialToken;
  /** Whether one does that is looked for on demand only. */
  isOnDemand: boolean;
}

/** A token found in a text, from `start` up to `end` (in code units). */
interface Match {
  readonly token: SpecialToken;
  start: number;
  end: number;
}

/** The longest special token, in code units: each unit is a node of a tree. Real ones have up to some hundred. */
const LONGEST_SPECIAL = 4096;

const encoder = new TextEncoder();

/**
 * Finds the tokens in a text that are never spelled by merging: user-defined tokens always, control
 * tokens and the unknown token on demand.
 *
 * As in llama.cpp, the longest token (in UTF-8 bytes) is looked for first, through the whole text, then the next in
 * what is left. A longer token wins over a shorter one that starts earlier, and of equally long ones that with the
 * lower id. Vocabularies with thousands of special tokens exist, so all tokens of a length are looked for together.
 */
export class SpecialTokens {
  /** The longest first. */
  readonly #groups: LengthGroup[];
  readonly #root: Node = newNode();
  /** By code unit: 1 where a token begins with it that is looked for always, 2 for one on demand. */
  readonly #firstUnits = new Uint8Array(0x10000);

  /**
   * @param spaces Which tokens take white space along.
   * @throws {M40Error} `invalid_model` for a token that is too long to be one.
   */
  constructor(vocabulary: Vocabulary, spaces: SpaceRule) {
    const { texts, types, size } = vocabulary;
    const groups = new Map<number, LengthGroup>();
    for (let id = 0; id < size; id++) {
      const type = types[id];
      const text = texts[id];
      if (
        type !== TOKEN_TYPE.control && type !== TOKEN_TYPE.userDefined &&
        type !== TOKEN_TYPE.unknown
      ) continue;
      if (text === "") continue;
      checkLength(id, text);
      const bytes = encoder.encode(text).length;
      const group = groups.getOrInsert(bytes, { byText: new Map(), lengths: new Map() });
      const unit = text.charCodeAt(0);
      const onDemand = type !== TOKEN_TYPE.userDefined;
      const token = {
        id,
        text,
        onDemand,
        stripsBefore: spaces.before(text),
        stripsAfter: spaces.after(text),
      };
      addToken(this.#root, token);
      this.#firstUnits[unit] |= onDemand ? 2 : 1;
      group.lengths.getOrInsert(unit, new Set()).add(text.length);
      group.byText.getOrInsert(text, token);
    }
    this.#groups = [...groups].sort(([a], [b]) => b - a).map(([, group]) => group);
  }

  /**
   * The text in parts: strings that hold no special token, and the ids of those between them.
   *
   * @param mark What {@link protect} was called with, if it was.
   */
  split(text: string, parseSpecial: boolean, mark?: string): (string | number)[] {
    const apart = parseSpecial ? this.#findApart(text, mark) : undefined;
    const parts: (string | number)[] = [];
    let from = 0;
    for (const { token, start, end } of apart ?? this.#find(text, parseSpecial, mark)) {
      if (start > from) parts.push(text.substring(from, start));
      parts.push(token.id);
      from = end;
    }
    if (from < text.length) parts.push(text.substring(from));
    return parts;
  }

  /**
   * The special tokens in a text, where those are surely the ones that one finds from left to right, as in most: none of
   * them stands within another one, takes white space along or is protected; else undefined.
   */
  #findApart(text: string, mark?: string): Match[] | undefined {
    const found: Match[] = [];
    let end = 0;
    for (let start = 0; start < text.length; start++) {
      if (this.#firstUnits[text.charCodeAt(start)] === 0) continue;
      const token = longestToken(this.#root, text, start);
      if (token === undefined) continue;
      if (start < end || token.stripsBefore || token.stripsAfter) return undefined;
      end = start + token.text.length;
      if (mark && isProtected(token, text, end, mark)) return undefined;
      found.push({ token, start, end });
    }
    return found;
  }

  /**
   * A text with a mark after the first character of each token in it that is looked for on demand; two
   * after one that is a single character.
   */
  protect(text: string, mark: string): string {
    const parts: string[] = [];
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const shortest = shortestOnDemand(this.#root, text, at);
      if (shortest === 0) continue;
      const end = at + codePointLength(text, at);
      parts.push(text.substring(from, end), at + shortest === end ? mark + mark : mark);
      from = end;
    }
    return from === 0 ? text : parts.join("") + text.substring(from);
  }

  /** The special tokens in a text, in its order. */
  #find(text: string, parseSpecial: boolean, mark?: string): Match[] {
    let starts: number[] = [];
    let longest: Int32Array | undefined;
    const looked = parseSpecial ? 3 : 1;
    for (let at = 0; at < text.length; at++) {
      if ((this.#firstUnits[text.charCodeAt(at)] & looked) === 0) continue;
      const token = longestToken(this.#root, text, at);
      if (token === undefined) continue;
      starts.push(at);
      longest ??= new Int32Array(text.length);
      longest[at] = token.text.length;
    }
    if (longest === undefined) return [];
    const taken = new Uint8Array(text.length);
    const found: Match[] = [];
    for (const group of this.#groups) {
      const candidates = findCandidates(text, starts, longest, group, parseSpecial)
        .filter(({ token, end }) => !mark || !isProtected(token, text, end, mark));
      candidates.sort((a, b) => a.token.id - b.token.id || a.start - b.start);
      let took = false;
      for (const match of candidates) {
        if (taken.subarray(match.start, match.end).includes(1)) continue;
        takeSpaces(match, text, taken, mark);
        taken.fill(1, match.start, match.end);
        found.push(match);
        took = true;
      }
      if (took) starts = starts.filter((at) => taken[at] === 0);
    }
    return found.sort((a, b) => a.start - b.start);
  }
}

function checkLength(id: number, text: string): void {
  if (text.length <= LONGEST_SPECIAL) return;
  throw invalidModel(
    `Token ${id} is a special token (tokenizer.ggml.token_type) of ${text.length} characters; ` +
      `wanted ${LONGEST_SPECIAL} at most.`,
  );
}

function newNode(): Node {
  return { next: new Map(), isOnDemand: false };
}

function addToken(root: Node, token: SpecialToken): void {
  const { text, onDemand } = token;
  let node = root;
  for (let i = 0; i < text.length; i++) {
    node = node.next.getOrInsertComputed(text.charCodeAt(i), newNode);
  }
  node.token ??= token;
  node.isOnDemand ||= onDemand;
}

/** The length in code units of the shortest token on demand that stands at a place; 0 where there is none. */
function shortestOnDemand(root: Node, text: string, at: number): number {
  let node = root.next.get(text.charCodeAt(at));
  for (let length = 1; node !== undefined; length++) {
    if (node.isOnDemand) return length;
    node = node.next.get(text.charCodeAt(at + length));
  }
  return 0;
}

/** Whether a token of one character, which has no inside, is protected by two marks behind it. */
function isProtected(token: SpecialToken, text: string, end: number, mark: string): boolean {
  return token.onDemand && text.startsWith(mark + mark, end);
}

/** Extends a match over the white space that belongs to its token, and the marks in it. */
function takeSpaces(match: Match, text: string, taken: Uint8Array, mark?: string): void {
  const { token } = match;
  const isTaken = (at: number) =>
    taken[at] === 0 &&
    (isSpace(text.charCodeAt(at)) || (mark !== undefined && mark.includes(text[at])));
  if (token.stripsBefore) { while (match.start > 0 && isTaken(match.start - 1)) match.start--; }
  if (token.stripsAfter) { while (match.end < text.length && isTaken(match.end)) match.end++; }
}

function codePointLength(text: string, at: number): number {
  return text.codePointAt(at)! > 0xffff ? 2 : 1;
}

/** The longest token that stands at a place. */
function longestToken(root: Node, text: string, at: number): SpecialToken | undefined {
  let longest: SpecialToken | undefined;
  let node = root.next.get(text.charCodeAt(at));
  for (let length = 1; node !== undefined; length++) {
    if (node.token !== undefined) longest = node.token;
    node = node.next.get(text.charCodeAt(at + length));
  }
  return longest;
}

/** Every place where a token of the group stands, overlapping or not. */
function findCandidates(
  text: string,
  starts: number[],
  longest: Int32Array,
  group: LengthGroup,
  parseSpecial: boolean,
): Match[] {
  const candidates: Match[] = [];
  for (const start of starts) {
    const lengths = group.lengths.get(text.charCodeAt(start));
    if (lengths === undefined) continue;
    for (const length of lengths) {
      if (length > longest[start]) continue;
      const end = start + length;
      const token = group.byText.get(text.substring(start, end));
      if (token !== undefined && (parseSpecial || !token.onDemand)) {
        candidates.push({ token, start, end });
      }
    }
  }
  return candidates;
}

/** White space as C has it: space, \t, \n, \v, \f, \r. */
function isSpace(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
}
