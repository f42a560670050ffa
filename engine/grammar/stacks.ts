import type { Frame } from "./frames.ts";
import type { WorkLimit } from "./work_limit.ts";

/** How deep rules may be in rules; what would be deeper is not allowed. */
const MOST_DEPTH = 1000;

/** A way takes as long as so many nodes that are looked at. */
const WAY_WORK = 4;

/** Unions that are kept; beyond that they are made again. */
const MOST_UNIONS = 20_000;

/**
 * What comes behind the rules that a text is in, as many ways as it may be read: each a frame, and what comes behind
 * it.
 */
export interface Stack {
  readonly id: number;
  /** Whether nothing comes behind: the text may end. */
  readonly ends: boolean;
  /** In the order of their frames. */
  readonly returns: readonly Return[];
  readonly depth: number;
}

/** Where a rule goes on, and what comes behind it. */
export interface Return {
  readonly frame: Frame;
  readonly below: Stack;
}

/** Stacks, each of which is there once: two that are the same object are the same. */
export class Stacks {
  private readonly known = new Map<string, Stack>();
  /** By the two: where rules may be read in many ways, the same two meet again and again. */
  private readonly unions = new Map<string, Stack>();
  private count = 0;
  /** Nothing comes behind. */
  readonly bottom: Stack;

  /** @param limit Counts the ways that are looked at. */
  constructor(private readonly limit: WorkLimit) {
    this.bottom = this.intern(true, []);
  }

  /** A frame on top of a stack; undefined where that is too deep. */
  push(frame: Frame, below: Stack): Stack | undefined {
    if (below.depth >= MOST_DEPTH) return undefined;
    return this.intern(false, [{ frame, below }]);
  }

  /** All ways of both. */
  union(a: Stack, b: Stack): Stack {
    if (a === b) return a;
    const key = a.id < b.id ? `${a.id}:${b.id}` : `${b.id}:${a.id}`;
    return this.unions.get(key) ?? this.makeUnion(key, a, b);
  }

  private makeUnion(key: string, a: Stack, b: Stack): Stack {
    const returns: Return[] = [];
    let i = 0;
    let j = 0;
    while (i < a.returns.length || j < b.returns.length) {
      const one = a.returns[i];
      const other = b.returns[j];
      if (other === undefined || one?.frame.id < other.frame.id) {
        returns.push(one);
        i++;
      } else if (one === undefined || other.frame.id < one.frame.id) {
        returns.push(other);
        j++;
      } else {
        returns.push({ frame: one.frame, below: this.union(one.below, other.below) });
        i++;
        j++;
      }
    }
    const both = this.intern(a.ends || b.ends, returns);
    if (this.unions.size >= MOST_UNIONS) this.unions.clear();
    this.unions.set(key, both);
    return both;
  }

  private intern(ends: boolean, returns: readonly Return[]): Stack {
    let key = ends ? "." : "";
    let depth = 0;
    this.limit.done += WAY_WORK * (1 + returns.length);
    this.limit.checkStep();
    for (const { frame, below } of returns) {
      key += `${frame.id}:${below.id},`;
      depth = Math.max(depth, 1 + below.depth);
    }
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const stack: Stack = { id: this.count++, ends, returns, depth };
    this.known.set(key, stack);
    return stack;
  }

  get size(): number {
    return this.known.size;
  }

  /** Forgets all but those that are in use: holders of one keep it, and get new ones for the same from now on. */
  forget(): void {
    this.known.clear();
    this.unions.clear();
    this.known.set(".", this.bottom);
  }
}
