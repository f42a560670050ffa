import { type ByteShape, ByteShapes } from "./byte_shapes.ts";
import { Copies } from "./copies.ts";
import { tooLarge } from "./errors.ts";
import type { Expression, Grammar } from "./grammar.ts";
import { Rules } from "./rules.ts";
import { tokenTerminal } from "./token_terminals.ts";
import { untilStates } from "./until.ts";

/** Nodes of a network at most. */
export const MOST_NODES = 200_000;
/** Expressions that are looked at while it is built: those that take no node as well. */
const MOST_WORK = 1_000_000;

/** What a node does. */
export const NodeKind = {
  /** Goes on at `a`, and at `b` where that is not {@link NO_NODE}, without taking a byte. */
  split: 0,
  /** Takes a byte by one of its edges. */
  bytes: 1,
  /** Takes what the rule `a` matches, then goes on at `b`. */
  call: 2,
  /** The end of the rule. */
  end: 3,
} as const;

/** No node. */
export const NO_NODE = -1;

/** A byte from `first` to `last` leads to the node `to`. */
export interface Edge {
  readonly first: number;
  readonly last: number;
  readonly to: number;
}

/**
 * A grammar as nodes that take bytes, each rule's own: a nondeterministic automaton a rule, whose calls of
 * others need a stack. Counts are written out.
 */
export class Network {
  readonly kinds: number[] = [];
  readonly a: number[] = [];
  readonly b: number[] = [];
  private readonly edgesOf = new Map<number, readonly Edge[]>();
  /** The first node of each rule that is called, by the rule's number. */
  readonly starts: number[] = [];
  /** Whether such a rule matches the empty text. */
  readonly nullable: boolean[] = [];
  /** Rules that a rule may begin with have a higher rank. */
  readonly ranks: number[] = [];
  readonly root: number;
  /** Whether the end of its rule can be reached from a node. */
  readonly useful: Uint8Array;
  /** Bytes that no edge distinguishes have the same class. */
  readonly classes: Uint8Array = new Uint8Array(256);
  readonly classCount: number;
  private readonly boundaries = new Uint8Array(257);
  /** Where repetitions are written out. */
  readonly copies: Copies = new Copies();
  private readonly numbers = new Map<string, number>();
  private readonly unbuilt: string[] = [];
  private readonly shapes = new ByteShapes();
  /** The nodes of shapes before the node {@link tailsBefore}. */
  private readonly tails = new Map<ByteShape, number>();
  private tailsBefore = NO_NODE;
  private readonly rules: Rules;
  private work = 0;

  /** @throws {M40Error} "invalid_request" for a grammar that cannot be, or is too large. */
  constructor(grammar: Grammar) {
    this.rules = new Rules(grammar);
    this.root = this.numberOf(grammar.root);
    for (let name = this.unbuilt.pop(); name !== undefined; name = this.unbuilt.pop()) {
      const end = this.add(NodeKind.end);
      this.starts[this.numberOf(name)] = this.build(this.rules.expressions.get(name)!, end);
    }
    let count = 0;
    for (let byte = 1; byte < 256; byte++) {
      if (this.boundaries[byte] !== 0) count++;
      this.classes[byte] = count;
    }
    this.classCount = count + 1;
    this.useful = this.findUseful();
  }

  edges(node: number): readonly Edge[] {
    return this.edgesOf.get(node)!;
  }

  get size(): number {
    return this.kinds.length;
  }

  private findUseful(): Uint8Array {
    const useful = new Uint8Array(this.size);
    const isUseful = (node: number): boolean => {
      switch (this.kinds[node]) {
        case NodeKind.end:
          return true;
        case NodeKind.split:
          return useful[this.a[node]] !== 0 || (this.b[node] >= 0 && useful[this.b[node]] !== 0);
        case NodeKind.call:
          return useful[this.b[node]] !== 0;
        default:
          return this.edges(node).some(({ to }) => useful[to] !== 0);
      }
    };
    // Nodes are built from the end on: only loops need another round.
    for (let changed = true; changed;) {
      changed = false;
      for (let node = 0; node < useful.length; node++) {
        if (useful[node] !== 0 || !isUseful(node)) continue;
        useful[node] = 1;
        changed = true;
      }
    }
    return useful;
  }

  private numberOf(name: string): number {
    return this.numbers.getOrInsertComputed(name, () => {
      this.unbuilt.push(name);
      this.nullable.push(this.rules.nullable.has(name));
      this.ranks.push(this.rules.ranks.get(name)!);
      return this.numbers.size;
    });
  }

  private add(kind: number, a: number = NO_NODE, b: number = NO_NODE): number {
    const node = this.kinds.length;
    if (node >= MOST_NODES) throw tooLarge(`more than ${MOST_NODES} states`, MOST_NODES);
    this.kinds.push(kind);
    this.a.push(a);
    this.b.push(b);
    return node;
  }

  private addBytes(edges: readonly Edge[]): number {
    const node = this.add(NodeKind.bytes);
    this.setEdges(node, edges);
    return node;
  }

  private setEdges(node: number, edges: readonly Edge[]): void {
    this.edgesOf.set(node, edges);
    for (const { first, last } of edges) {
      this.boundaries[first] = 1;
      this.boundaries[last + 1] = 1;
    }
  }

  /** The first node of what an expression matches before what begins at `next`. */
  private build(expression: Expression, next: number): number {
    if (++this.work > MOST_WORK) throw tooLarge(`more than ${MOST_WORK} repetitions`, MOST_WORK);
    switch (expression.kind) {
      case "literal":
        return this.buildBytes(encoder.encode(expression.text), next);
      case "characters":
        return this.buildShape(this.shapes.of(expression), next);
      case "token":
        return this.buildBytes(tokenTerminal(expression.token), next);
      case "until":
        return this.buildUntil(expression, next);
      case "sequence":
        return expression.items.reduceRight((after, item) => this.build(item, after), next);
      case "choice":
        return this.buildChoice(expression.options, next);
      case "repeat":
        return this.buildRepeat(expression, next);
      case "rule": {
        const { name } = expression;
        const { expressions, inlined, productive } = this.rules;
        if (inlined.has(name)) return this.build(expressions.get(name)!, next);
        // What never ends is no way on.
        if (!productive.has(name)) return this.addBytes([]);
        return this.add(NodeKind.call, this.numberOf(name), next);
      }
    }
  }

  private buildBytes(bytes: Uint8Array, next: number): number {
    return bytes.reduceRight(
      (to, byte) => this.addBytes([{ first: byte, last: byte, to }]),
      next,
    );
  }

  private buildUntil(
    { ends, only }: Extract<Expression, { kind: "until" }>,
    next: number,
  ): number {
    const states = untilStates(ends, only);
    const bytes = states.map(() => this.add(NodeKind.bytes));
    const nodes = states.map(({ mayEnd }, i) =>
      mayEnd ? this.add(NodeKind.split, bytes[i], next) : bytes[i]
    );
    for (const [i, { edges }] of states.entries()) {
      this.setEdges(bytes[i], edges.map(({ first, last, to }) => ({ first, last, to: nodes[to] })));
    }
    return nodes[0];
  }

  private buildChoice(options: readonly Expression[], next: number): number {
    if (options.length > FEW_OPTIONS && options.every((option) => option.kind === "literal")) {
      return this.buildTree(options.map((option) => encoder.encode(option.text)), next);
    }
    if (options.length === 0) return this.addBytes([]);
    const built = options.map((option) => this.build(option, next));
    return built.reduceRight((rest, option) => this.add(NodeKind.split, option, rest));
  }

  /** Texts as a tree of their bytes; those that start alike branch where they differ. */
  private buildTree(texts: readonly Uint8Array[], next: number): number {
    const tree: { children: Map<number, number>; ends: boolean }[] = [];
    const grow = () => tree.push({ children: new Map(), ends: false }) - 1;
    grow();
    for (const text of texts) {
      let at = 0;
      for (const byte of text) {
        at = tree[at].children.getOrInsertComputed(byte, grow);
        if (tree.length > MOST_NODES) throw tooLarge(`more than ${MOST_NODES} states`, MOST_NODES);
      }
      tree[at].ends = true;
    }
    // Children have higher numbers, so they are built first.
    const nodes: number[] = [];
    for (let at = tree.length - 1; at >= 0; at--) {
      const { children, ends } = tree[at];
      if (children.size === 0) {
        nodes[at] = next;
        continue;
      }
      const edges = [...children].map(([byte, child]) => ({
        first: byte,
        last: byte,
        to: nodes[child],
      }));
      const node = this.addBytes(edges);
      nodes[at] = ends ? this.add(NodeKind.split, node, next) : node;
    }
    return nodes[0];
  }

  private buildRepeat(
    { item, least, most }: Extract<Expression, { kind: "repeat" }>,
    next: number,
  ): number {
    let first = next;
    if (most === undefined) {
      first = this.add(NodeKind.split, NO_NODE, next);
      this.a[first] = this.build(item, first);
    } else {
      first = this.buildCopies(
        item,
        most - least,
        first,
        (node) => this.add(NodeKind.split, node, next),
      );
    }
    return this.buildCopies(item, least, first, (node) => node);
  }

  /** An item that many times before a node. */
  private buildCopies(
    item: Expression,
    count: number,
    next: number,
    finish: (first: number) => number,
  ): number {
    const start = this.size;
    let first = next;
    let copySize: number | undefined;
    let alike = true;
    for (let i = 0; i < count; i++) {
      const before = this.size;
      const node = this.build(item, first);
      // An item that is always empty adds nothing, however often.
      if (node === first) return first;
      first = finish(node);
      copySize ??= this.size - before;
      alike &&= copySize === this.size - before;
    }
    if (alike && count >= MANY_COPIES && !this.rules.isNullable(item)) {
      this.copies.add(start, this.size, count);
    }
    return first;
  }

  /** The characters of a class; what several of them end with is there once. */
  private buildShape(shape: ByteShape, next: number): number {
    if (next !== this.tailsBefore) {
      this.tailsBefore = next;
      this.tails.clear();
    }
    const known = this.tails.get(shape);
    if (known !== undefined) return known;
    const edges = shape.edges.map(({ first, last, behind }) => ({
      first,
      last,
      to: behind === undefined ? next : this.buildShape(behind, next),
    }));
    const node = this.addBytes(edges);
    this.tails.set(shape, node);
    return node;
  }
}

/** From that many copies on they are noted as copies. */
const MANY_COPIES = 16;
/** From that many texts on they become a tree. */
const FEW_OPTIONS = 4;
const encoder = new TextEncoder();
