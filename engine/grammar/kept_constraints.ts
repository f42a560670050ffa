import { M40Error } from "../errors.ts";
import type { CompiledConstraint } from "./constraint.ts";

/** Memory of constraints that may never be used again. */
const MOST_KEPT_BYTES = 256 * 2 ** 20;
/** Memory of all constraints, those of answers that are under way or wait with them. */
const MOST_BYTES = 768 * 2 ** 20;
/** More of them are not looked through with every request. */
const MOST_KEPT = 256;

/** What limits of memory may be, for tests. */
export interface KeptLimits {
  readonly keptBytes?: number;
  readonly bytes?: number;
}

/**
 * Compiled constraints, which clients ask for again and again: those that were asked for last. Their size grows while
 * answers go through them, so it is counted again with each request.
 */
export class KeptConstraints {
  private readonly kept = new Map<string, CompiledConstraint>();
  /** Those of answers that are under way or wait, and how many answers have each. */
  private readonly held = new Map<CompiledConstraint, number>();
  private readonly mostKeptBytes: number;
  private readonly mostBytes: number;

  /** @param bytesOf What a constraint takes, in bytes: an estimate. */
  constructor(
    private readonly bytesOf: (constraint: CompiledConstraint) => number,
    { keptBytes = MOST_KEPT_BYTES, bytes = MOST_BYTES }: KeptLimits = {},
  ) {
    this.mostKeptBytes = keptBytes;
    this.mostBytes = bytes;
  }

  /** The constraint of a key; one that has little room left for new answers is made again. */
  get(key: string): CompiledConstraint | undefined {
    const known = this.kept.get(key);
    if (known === undefined) return undefined;
    this.kept.delete(key);
    if (!known.hasRoom) return undefined;
    this.kept.set(key, known);
    return known;
  }

  /**
   * To be called before one is compiled.
   *
   * @throws {M40Error} "queue_full" where those that are there take too much.
   */
  requireRoom(): void {
    this.trim();
    let bytes = 0;
    for (const one of new Set([...this.held.keys(), ...this.kept.values()])) {
      bytes += this.bytesOf(one);
    }
    if (bytes < this.mostBytes) return;
    const mib = (value: number) => Math.round(value / 2 ** 20);
    throw new M40Error(
      "queue_full",
      `the grammars of answers under way take ${mib(bytes)} MiB; wanted less than ` +
        `${mib(this.mostBytes)} for another one. Ask again when some of them are done.`,
    );
  }

  /** Counts one until an answer with it is over. */
  hold(constraint: CompiledConstraint, over: Promise<unknown>): void {
    const { held } = this;
    held.set(constraint, (held.get(constraint) ?? 0) + 1);
    const release = () => {
      const others = held.get(constraint)! - 1;
      if (others > 0) held.set(constraint, others);
      else held.delete(constraint);
    };
    over.then(release, release);
  }

  /** Keeps one for later requests for the same. */
  put(key: string, constraint: CompiledConstraint): void {
    this.kept.set(key, constraint);
    this.trim();
  }

  private trim(): void {
    let bytes = 0;
    for (const constraint of this.kept.values()) bytes += this.bytesOf(constraint);
    for (const [key, constraint] of this.kept) {
      if (bytes <= this.mostKeptBytes && this.kept.size <= MOST_KEPT) return;
      bytes -= this.bytesOf(constraint);
      this.kept.delete(key);
    }
  }
}
