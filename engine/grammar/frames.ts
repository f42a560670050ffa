import { nearestCopy } from "./copies.ts";
import { tooLarge } from "./errors.ts";
import { NO_NODE, NodeKind } from "./network.ts";
import type { PackedNetwork } from "./packed_network.ts";
import type { WorkLimit } from "./work_limit.ts";

/** Nodes in all frames together, at most, and the memory that each takes, with all that belongs to it. */
const MOST_FRAME_NODES = 4_000_000;
const FRAME_NODE_BYTES = 48;
/** The memory that a node of the network takes. */
const NETWORK_NODE_BYTES = 120;

/** Where a rule's text may be: a set of nodes, those that only lead to others left out. */
export interface Frame {
  readonly id: number;
  readonly nodes: Int32Array;
  /** Whether the rule may end here. */
  readonly accepting: boolean;
  /** Whether it ends here and cannot go on. */
  readonly final: boolean;
  /** The rules that may come next, and where each leads. Made on first use. */
  calls?: readonly Call[];
  /** The nodes behind a byte of each class, and the frame that they are. */
  targets?: (number[] | undefined)[];
  readonly next: (Frame | null | undefined)[];
}

/** A rule that may come next, and the frame behind it. */
export interface Call {
  readonly rule: number;
  readonly start: Frame;
  readonly after: Frame;
}

/** The frames of a network: each rule's nodes as a deterministic automaton, made as far as it is used. */
export class Frames {
  /** Frames by a hash of their nodes. */
  private readonly known = new Map<number, Frame[]>();
  /** Frames by the only node that they are made from. */
  private readonly ofNodes = new Map<number, Frame | null>();
  private readonly stamps: Int32Array;
  private stamp = 0;
  private count = 0;
  private nodeCount = 0;
  /** Where each rule begins. */
  readonly starts: readonly Frame[];
  /** How late the start of a rule comes when calls are followed. */
  private readonly ranks = new Map<Frame, number>();

  /** @param limit Counts nodes that are looked at. */
  constructor(private readonly network: PackedNetwork, private readonly limit: WorkLimit) {
    this.stamps = new Int32Array(network.kinds.length);
    this.starts = Array.from(network.starts, (node) => this.frameOf([node])!);
    for (const [rule, frame] of this.starts.entries()) this.ranks.set(frame, network.ranks[rule]);
  }

  /** How late a frame comes when calls are followed: the starts of rules after all that begin with them. */
  rank(frame: Frame): number {
    return this.ranks.get(frame) ?? -1;
  }

  calls(frame: Frame): readonly Call[] {
    return frame.calls ??= this.findCalls(frame);
  }

  /** The frame behind a byte of a class; null where the rule does not allow it. */
  next(frame: Frame, byteClass: number): Frame | null {
    const known = frame.next[byteClass];
    if (known !== undefined) return known;
    frame.targets ??= this.findTargets(frame);
    const targets = frame.targets[byteClass];
    const next = targets === undefined ? null : this.frameOf(targets);
    frame.targets[byteClass] = undefined;
    frame.next[byteClass] = next;
    return next;
  }

  /**
   * The frame that allows the same texts of at most that many bytes; the same one for frames that differ only in how
   * often more something may be repeated.
   */
  nearest(frame: Frame, bytes: number): Frame {
    if (this.network.regions.length === 0) return frame;
    const nodes = new Set<number>();
    let isSame = true;
    for (const node of frame.nodes) {
      const near = nearestCopy(this.network, node, bytes);
      nodes.add(near);
      isSame &&= near === node;
    }
    return isSame ? frame : this.intern(Int32Array.from(nodes).sort(), frame.accepting);
  }

  private findCalls(frame: Frame): readonly Call[] {
    const { kinds, a, b } = this.network;
    const after = new Map<number, number[]>();
    for (const node of frame.nodes) {
      if (kinds[node] === NodeKind.call) after.getOrInsertComputed(a[node], () => []).push(b[node]);
    }
    return [...after].map(([rule, nodes]) => ({
      rule,
      start: this.starts[rule],
      after: this.frameOf(nodes)!,
    }));
  }

  private findTargets(frame: Frame): (number[] | undefined)[] {
    const { classCount, classes, edgeStarts, edges, kinds, useful } = this.network;
    const targets: (number[] | undefined)[] = new Array(classCount).fill(undefined);
    for (const node of frame.nodes) {
      if (kinds[node] !== NodeKind.bytes) continue;
      for (let edge = edgeStarts[node]; edge < edgeStarts[node + 1]; edge++) {
        const to = edges[3 * edge + 2];
        if (useful[to] === 0) continue;
        const end = classes[edges[3 * edge + 1]];
        const begin = classes[edges[3 * edge]];
        for (let c = begin; c <= end; c++) (targets[c] ??= []).push(to);
        this.limit.done += 1 + end - begin;
        this.keep(1 + end - begin);
      }
    }
    return targets;
  }

  /** The frame of nodes and all that they lead to without a byte; null where none of them leads to the end. */
  private frameOf(from: readonly number[]): Frame | null {
    // Whatever is repeated leads to the same node, from each of its alternatives.
    if (from.length > 1) return this.findFrame(from);
    return this.ofNodes.getOrInsertComputed(from[0], () => this.findFrame(from));
  }

  private findFrame(from: readonly number[]): Frame | null {
    this.limit.checkStep();
    const { kinds, a, b, useful, nullable } = this.network;
    const stamp = ++this.stamp;
    const left: number[] = [];
    const found: number[] = [];
    let accepting = false;
    const visit = (node: number) => {
      if (node === NO_NODE || this.stamps[node] === stamp || useful[node] === 0) return;
      this.stamps[node] = stamp;
      left.push(node);
    };
    for (const node of from) visit(node);
    for (let node = left.pop(); node !== undefined; node = left.pop()) {
      this.limit.done++;
      if (kinds[node] === NodeKind.split) {
        visit(a[node]);
        visit(b[node]);
        continue;
      }
      if (kinds[node] === NodeKind.end) accepting = true;
      if (kinds[node] === NodeKind.call && nullable[a[node]]) visit(b[node]);
      found.push(node);
    }
    if (found.length === 0) return null;
    return this.intern(new Int32Array(found).sort(), accepting);
  }

  /** How much there is of what there may be, 0 to 1. */
  get share(): number {
    return this.nodeCount / MOST_FRAME_NODES;
  }

  /** The memory that they and the network take: an estimate. */
  get bytes(): number {
    return FRAME_NODE_BYTES * this.nodeCount + NETWORK_NODE_BYTES * this.network.kinds.length;
  }

  private keep(nodes: number): void {
    this.nodeCount += nodes;
    if (this.nodeCount > MOST_FRAME_NODES) throw tooLarge("too many states", MOST_FRAME_NODES);
  }

  private intern(nodes: Int32Array, accepting: boolean): Frame {
    let hash = nodes.length;
    for (const node of nodes) hash = Math.imul(hash ^ node, 0x9e3779b1) ^ (hash >>> 15);
    const alike = this.known.getOrInsertComputed(hash, () => []);
    const known = alike.find((frame) => isSame(frame.nodes, nodes));
    if (known !== undefined) return known;
    this.keep(nodes.length + 16);
    const final = accepting && nodes.length === 1;
    const frame: Frame = { id: this.count++, nodes, accepting, final, next: [] };
    alike.push(frame);
    return frame;
  }
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}
