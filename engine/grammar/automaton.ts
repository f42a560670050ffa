import { BYTES_OF_KINDS } from "./byte_kinds.ts";
import type { Grammar } from "./grammar.ts";
import { type Frame, Frames } from "./frames.ts";
import { Network } from "./network.ts";
import { type PackedNetwork, packNetwork } from "./packed_network.ts";
import { type Stack, Stacks } from "./stacks.ts";
import { WorkLimit } from "./work_limit.ts";

/** States and stacks that are kept; beyond that they are made again. */
const MOST_KEPT = 100_000;

/** What looking ahead of a state or a place may take: not all of them may ever be needed. */
const MOST_AHEAD_WORK = 10_000;

/** What one of them takes. */
const STATE_BYTES = 600;

const BLANK = 0x20;

/** A place in a rule, and what comes behind the rule. */
export interface Item {
  readonly frame: Frame;
  readonly stack: Stack;
}

/** Where a text may be in its grammar. It never changes. */
export interface State {
  /** Places in rules, in the order of their frames; none where the text can only end. */
  readonly items: readonly Item[];
  /** Whether the text may end here. */
  readonly canEnd: boolean;
}

/** A state with what is known of those behind it. */
interface LinkedState extends State {
  /** The items, and those in rules that may come next. */
  closed?: readonly Item[];
  readonly next: (LinkedState | null | undefined)[];
  /** The kinds of bytes that change nothing; see {@link Automaton.staysAfter}. */
  staysAfter?: number;
}

/**
 * A grammar as a pushdown automaton over bytes. States are deterministic, made as they are met, and shared:
 * a state follows from the bytes alone.
 */
export class Automaton {
  /** Where a text begins. */
  readonly start: State;
  private readonly limit = new WorkLimit();
  private readonly frames: Frames;
  private readonly stacks = new Stacks(this.limit);
  private readonly classes: Uint8Array;
  private readonly classCount: number;
  /** How many bytes are of a class. */
  private readonly classSizes: Uint16Array;
  private readonly known = new Map<string, LinkedState>();

  /**
   * @param source A grammar, or what was built of one already.
   * @throws {M40Error} "invalid_request" for a grammar that cannot be, or is too large.
   */
  constructor(source: Grammar | PackedNetwork) {
    const network = "kinds" in source ? source : packNetwork(new Network(source));
    this.classes = network.classes;
    this.classCount = network.classCount;
    this.classSizes = new Uint16Array(network.classCount);
    for (const byteClass of network.classes) this.classSizes[byteClass]++;
    this.frames = new Frames(network, this.limit);
    this.start = this.stateOf(new Map([[this.frames.starts[network.root], this.stacks.bottom]]))!;
  }

  /** From now on at most this much work is done: what needs more than that ends in an error. */
  allowWork(most: number): void {
    this.limit.allow(most);
  }

  /** What of that is left. */
  get workLeft(): number {
    return this.limit.left;
  }

  /** The memory that it takes, in bytes: an estimate, twice what some were seen to take after the collector had run. */
  get bytes(): number {
    return this.frames.bytes + STATE_BYTES * (this.known.size + this.stacks.size);
  }

  /** Whether it may be made larger by what may never be needed. */
  get hasRoom(): boolean {
    return this.frames.share < 1 / 4;
  }

  /** Whether it may be made larger by answers that are yet to begin. */
  get hasRoomForAnswers(): boolean {
    return this.frames.share < 1 / 2;
  }

  /**
   * The state behind a byte; undefined where the grammar does not allow it.
   *
   * @throws {M40Error} "invalid_request" where there are too many states.
   */
  next(state: State, byte: number): State | undefined {
    return this.step(state as LinkedState, this.classes[byte]) ?? undefined;
  }

  /** The kinds of bytes, as a set of bits, after any of which a state stays what it is: see `KIND_BITS`. */
  staysAfter(state: State): number {
    return (state as LinkedState).staysAfter ??= this.findStaying(state);
  }

  private findStaying(state: State): number {
    let kinds = 0;
    for (const [kind, bytes] of BYTES_OF_KINDS.entries()) {
      if (bytes.every((byte) => this.next(state, byte) === state)) kinds |= 1 << kind;
    }
    return kinds;
  }

  /** The state behind some bytes. */
  after(state: State, bytes: Uint8Array): State | undefined {
    let at: State | undefined = state;
    for (let i = 0; i < bytes.length && at !== undefined; i++) at = this.next(at, bytes[i]);
    return at;
  }

  /**
   * The bytes that will likely follow a state, at most that many: those that must, and blanks where nothing else but
   * one other byte may come, as before the values of JSON. They end before others are possible, or the end is, and
   * where finding more takes much.
   */
  likelyBytes(state: State, most: number): Uint8Array {
    const bytes: number[] = [];
    const mostWork = this.limit.done + MOST_AHEAD_WORK;
    for (let at = state; bytes.length < most && !at.canEnd;) {
      const byte = this.likelyByte(at, mostWork);
      if (byte === undefined) break;
      bytes.push(byte);
      at = this.next(at, byte)!;
    }
    // A blank is written together with what comes behind it.
    if (bytes.at(-1) === BLANK) bytes.pop();
    return Uint8Array.from(bytes);
  }

  private likelyByte(state: State, mostWork: number): number | undefined {
    const { classes } = this;
    const found: number[] = [];
    for (let byteClass = 0; byteClass < this.classCount; byteClass++) {
      const next = this.step(state as LinkedState, byteClass);
      if (this.limit.done > mostWork) return undefined;
      if (next === null) continue;
      if (found.length === 2) return undefined;
      found.push(byteClass);
    }
    const isOneByte = (byteClass: number) =>
      classes.indexOf(byteClass) === classes.lastIndexOf(byteClass);
    const likely = found.length === 1 ? found[0] : classes[BLANK];
    return found.includes(likely) && found.every(isOneByte) ? classes.indexOf(likely) : undefined;
  }

  /**
   * A position in a rule that allows the same texts of at most that many bytes, shared by as many positions as
   * possible.
   */
  nearest(frame: Frame, bytes: number): Frame {
    return this.frames.nearest(frame, bytes);
  }

  /** A position in a rule alone, as if nothing came after the rule. */
  alone(frame: Frame): State {
    this.limit.beginStep();
    return this.stateOf(new Map([[frame, this.stacks.bottom]]))!;
  }

  /** Where a text is when the rules on top of a stack have ended; undefined where nothing comes behind. */
  behind(stack: Stack): State | undefined {
    if (stack.returns.length === 0) return undefined;
    this.limit.beginStep();
    const items = stack.returns.map(({ frame, below }) => [frame, below] as const);
    return this.stateOf(new Map(items), stack.ends) ?? undefined;
  }

  /** The states behind one byte; where finding them takes much, some of them. */
  statesBehind(state: State): readonly State[] {
    const found = new Set<State>();
    const mostWork = this.limit.done + MOST_AHEAD_WORK;
    for (let byteClass = 0; byteClass < this.classCount; byteClass++) {
      if (this.limit.done > mostWork) break;
      const next = this.step(state as LinkedState, byteClass);
      if (next !== null) found.add(next);
    }
    return [...found];
  }

  /** Where rules begin: the root and those that are called. */
  get ruleStarts(): readonly Frame[] {
    return this.frames.starts;
  }

  /**
   * The places that one leads to (behind a byte, in a rule that comes next, or behind that), and by how many bytes;
   * where finding them takes much, some of them.
   */
  behindPlace(frame: Frame): { readonly frames: readonly Frame[]; readonly bytes: number } {
    const frames: Frame[] = [];
    let bytes = 0;
    const mostWork = this.limit.done + MOST_AHEAD_WORK;
    for (let byteClass = 0; byteClass < this.classCount; byteClass++) {
      if (this.limit.done > mostWork) return { frames, bytes };
      this.limit.beginStep();
      const next = this.frames.next(frame, byteClass);
      if (next === null) continue;
      bytes += this.classSizes[byteClass];
      if (!next.final) frames.push(next);
    }
    this.limit.beginStep();
    for (const { start, after } of this.frames.calls(frame)) {
      frames.push(start);
      if (!after.final) frames.push(after);
    }
    return { frames, bytes };
  }

  private step(state: LinkedState, byteClass: number): LinkedState | null {
    const known = state.next[byteClass];
    if (known !== undefined) return known;
    this.limit.check();
    this.limit.beginStep();
    // Most bytes lead nowhere.
    let items: Map<Frame, Stack> | undefined;
    for (const { frame, stack } of state.closed ??= this.close(state)) {
      this.limit.done++;
      const next = this.frames.next(frame, byteClass);
      if (next !== null) this.put(items ??= new Map(), next, stack);
    }
    return state.next[byteClass] = items === undefined ? null : this.stateOf(items);
  }

  private put(items: Map<Frame, Stack>, frame: Frame, stack: Stack): boolean {
    const before = items.get(frame);
    const both = before === undefined ? stack : this.stacks.union(before, stack);
    this.limit.checkStep();
    items.set(frame, both);
    return both !== before;
  }

  /** The state of some places, and of those behind rules that end there; null where there is none. */
  private stateOf(items: Map<Frame, Stack>, ends = false): LinkedState | null {
    let canEnd = ends;
    const left = [...items.keys()];
    for (let frame = left.pop(); frame !== undefined; frame = left.pop()) {
      this.limit.done++;
      if (!frame.accepting) continue;
      const stack = items.get(frame)!;
      canEnd ||= stack.ends;
      for (const { frame: after, below } of stack.returns) {
        if (this.put(items, after, below)) left.push(after);
      }
    }
    const kept = [...items].filter(([frame]) => !frame.final).sort(([a], [b]) => a.id - b.id);
    if (kept.length === 0 && !canEnd) return null;
    let key = canEnd ? "." : "";
    for (const [frame, stack] of kept) key += `${frame.id}:${stack.id},`;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const state: LinkedState = {
      items: kept.map(([frame, stack]) => ({ frame, stack })),
      canEnd,
      next: [],
      // All of one shape, so that the walk over the vocabulary stays fast.
      closed: undefined,
      staysAfter: undefined,
    };
    this.trim();
    this.known.set(key, state);
    return state;
  }

  /** The items of a state, and those in rules that may come next: rules after those that begin with them. */
  private close(state: State): readonly Item[] {
    const stacks = new Map(state.items.map(({ frame, stack }) => [frame, stack]));
    // By falling rank: the last is the next.
    const left = [...stacks.keys()].sort((a, b) => this.frames.rank(b) - this.frames.rank(a));
    for (let frame = left.pop(); frame !== undefined; frame = left.pop()) {
      this.limit.done++;
      const stack = stacks.get(frame)!;
      for (const { start, after } of this.frames.calls(frame)) {
        // What comes behind a rule's last call is what comes behind the rule.
        const behind = after.final ? stack : this.stacks.push(after, stack);
        if (behind === undefined) continue;
        if (!stacks.has(start)) this.insert(left, start);
        this.put(stacks, start, behind);
      }
    }
    return [...stacks].map(([frame, stack]) => ({ frame, stack }));
  }

  private insert(frames: Frame[], frame: Frame): void {
    const rank = this.frames.rank(frame);
    let low = 0;
    for (let high = frames.length; low < high;) {
      const middle = (low + high) >> 1;
      if (this.frames.rank(frames[middle]) > rank) low = middle + 1;
      else high = middle;
    }
    frames.splice(low, 0, frame);
  }

  /** Forgets states and stacks where there are many; those in use go on to work. */
  private trim(): void {
    if (this.known.size + this.stacks.size < MOST_KEPT) return;
    // Without links between them only those in use are left.
    for (const state of this.known.values()) state.next.length = 0;
    this.known.clear();
    this.stacks.forget();
  }
}
