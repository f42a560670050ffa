import { type ByteShape, ByteShapes } from "./byte_shapes.ts";
import { invalidGrammar } from "./errors.ts";
import { ANY_CHARACTER } from "./expressions.ts";

/** A state of an automaton that reads anything up to some texts. */
export interface UntilState {
  /** Bytes from `first` to `last` lead to the state `to`; other bytes are not allowed. */
  readonly edges: readonly { readonly first: number; readonly last: number; readonly to: number }[];
  /** Whether one of the texts may begin here, and is the first one then. */
  readonly mayEnd: boolean;
}

/** Where no character has begun. */
const BETWEEN = new ByteShapes().of(ANY_CHARACTER);

/** What of a character is left behind a byte; undefined where the byte does not go on with it. */
function behind({ edges }: ByteShape, byte: number): ByteShape | undefined {
  const edge = edges.find(({ first, last }) => first <= byte && byte <= last);
  return edge && (edge.behind ?? BETWEEN);
}

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
  const numbers = new Map<string, number>();
  const pairs: { at: number; character: ByteShape }[] = [];
  const numberOf = (at: number, character: ByteShape) =>
    numbers.getOrInsertComputed(
      `${at}:${character.id}`,
      () => pairs.push({ at, character }) - 1,
    );
  numberOf(0, BETWEEN);
  const states: UntilState[] = [];
  for (const { at, character } of pairs) {
    const edges: { first: number; last: number; to: number }[] = [];
    for (let byte = 0; byte < 256; byte++) {
      let rest = behind(character, byte);
      // What is no character, or breaks one off, counts as one by itself.
      if (only === "anything") rest ??= behind(BETWEEN, byte) ?? BETWEEN;
      const next = search.next(at, byte);
      if (rest === undefined || search.isFound(next)) continue;
      const to = numberOf(next, rest);
      const before = edges.at(-1);
      if (before?.to === to && before.last === byte - 1) before.last = byte;
      else edges.push({ first: byte, last: byte, to });
    }
    states.push({ edges, mayEnd: character === BETWEEN && search.mayBegin(at) });
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
