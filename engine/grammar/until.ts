import { invalidGrammar } from "./errors.ts";

/** A state of an automaton that reads anything up to some texts. */
export interface UntilState {
  /** Bytes from `first` to `last` lead to the state `to`; other bytes are not allowed. */
  readonly edges: readonly { readonly first: number; readonly last: number; readonly to: number }[];
  /** Whether one of the texts may begin here, and is the first one then. */
  readonly mayEnd: boolean;
}

/** The bytes that may come next within a character of UTF-8, and what is left of it behind each. */
interface CharacterState {
  readonly edges: readonly (readonly [first: number, last: number, to: number])[];
}

/** UTF-8 without overlong forms and surrogates; state 0 is between characters. */
const UTF8: readonly CharacterState[] = [
  {
    edges: [
      [0x00, 0x7f, 0],
      [0xc2, 0xdf, 1],
      [0xe0, 0xe0, 3],
      [0xe1, 0xec, 2],
      [0xed, 0xed, 4],
      [0xee, 0xef, 2],
      [0xf0, 0xf0, 6],
      [0xf1, 0xf3, 5],
      [0xf4, 0xf4, 7],
    ],
  },
  { edges: [[0x80, 0xbf, 0]] },
  { edges: [[0x80, 0xbf, 1]] },
  { edges: [[0xa0, 0xbf, 1]] },
  { edges: [[0x80, 0x9f, 1]] },
  { edges: [[0x80, 0xbf, 2]] },
  { edges: [[0x90, 0xbf, 2]] },
  { edges: [[0x80, 0x8f, 2]] },
];

/** Any bytes at all; what is no character, or breaks one off, counts as one by itself. */
const BYTES: readonly CharacterState[] = UTF8.map(({ edges }) => ({
  edges: Array.from({ length: 256 }, (_, byte) => {
    const [, , to = 0] = edges.find(([first, last]) => first <= byte && byte <= last) ??
      UTF8[0].edges.find(([first, last]) => first <= byte && byte <= last) ?? [];
    return [byte, byte, to] as const;
  }),
}));

/**
 * The states of an automaton that reads what none of some texts stands in; state 0 is where it begins.
 *
 * @param ends The texts, none of them empty.
 * @param only Whether characters of UTF-8 are read, or any bytes. The texts begin behind whole characters.
 */
export function untilStates(
  ends: readonly Uint8Array[],
  only: "text" | "anything",
): UntilState[] {
  if (ends.length === 0 || ends.some(({ length }) => length === 0)) {
    throw invalidGrammar("until: wanted texts of at least one byte");
  }
  const search = new Search(ends);
  const characters = only === "text" ? UTF8 : BYTES;
  const numbers = new Map<number, number>();
  const pairs: { at: number; character: number }[] = [];
  const numberOf = (at: number, character: number) =>
    numbers.getOrInsertComputed(
      at * characters.length + character,
      () => pairs.push({ at, character }) - 1,
    );
  numberOf(0, 0);
  const states: UntilState[] = [];
  for (let i = 0; i < pairs.length; i++) {
    const { at, character } = pairs[i];
    const edges: { first: number; last: number; to: number }[] = [];
    for (const [first, last, then] of characters[character].edges) {
      for (let byte = first; byte <= last; byte++) {
        const next = search.next(at, byte);
        if (search.isFound(next)) continue;
        const to = numberOf(next, then);
        const before = edges.at(-1);
        if (before?.to === to && before.last === byte - 1) before.last = byte;
        else edges.push({ first: byte, last: byte, to });
      }
    }
    states.push({ edges, mayEnd: character === 0 && search.mayBegin(at) });
  }
  return states;
}

/** Looks for several texts at once (Aho-Corasick): a state is the longest prefix of one that was just read. */
class Search {
  private readonly children: Map<number, number>[] = [new Map()];
  private readonly fallback: number[] = [0];
  private readonly found: boolean[] = [false];

  constructor(private readonly texts: readonly Uint8Array[]) {
    for (const text of texts) {
      let at = 0;
      for (const byte of text) {
        at = this.children[at].getOrInsertComputed(byte, () => {
          this.fallback.push(0);
          this.found.push(false);
          return this.children.push(new Map()) - 1;
        });
      }
      this.found[at] = true;
    }
    // By depth, so that what a state falls back to is complete.
    const queue = [...this.children[0].values()];
    for (const at of queue) {
      this.found[at] ||= this.found[this.fallback[at]];
      for (const [byte, child] of this.children[at]) {
        this.fallback[child] = this.next(this.fallback[at], byte);
        queue.push(child);
      }
    }
  }

  next(at: number, byte: number): number {
    for (let from = at;; from = this.fallback[from]) {
      const child = this.children[from].get(byte);
      if (child !== undefined) return child;
      if (from === 0) return 0;
    }
  }

  isFound(at: number): boolean {
    return this.found[at];
  }

  /** Whether each of the texts, read from a state on, is found at its own end and not before. */
  mayBegin(at: number): boolean {
    return this.texts.every((text) => {
      let state = at;
      return text.every((byte, i) => {
        state = this.next(state, byte);
        return i === text.length - 1 || !this.isFound(state);
      });
    });
  }
}
