import { Copies } from "./copies.ts";
import type { Edge, Network } from "./network.ts";

/** What an automaton goes by: a {@link Network}, or one that another thread has built. */
export type NetworkView =
  & { readonly [Field in "kinds" | "a" | "b"]: Readonly<ArrayLike<number>> }
  & Pick<
    Network,
    | "starts"
    | "nullable"
    | "ranks"
    | "root"
    | "useful"
    | "classes"
    | "classCount"
    | "copies"
    | "size"
    | "edges"
  >;

/** A network as arrays, which go from thread to thread without being copied. */
export interface PackedNetwork {
  readonly root: number;
  readonly classCount: number;
  readonly kinds: Uint8Array<ArrayBuffer>;
  readonly a: Int32Array<ArrayBuffer>;
  readonly b: Int32Array<ArrayBuffer>;
  readonly starts: Int32Array<ArrayBuffer>;
  readonly nullable: Uint8Array<ArrayBuffer>;
  readonly ranks: Int32Array<ArrayBuffer>;
  readonly useful: Uint8Array<ArrayBuffer>;
  readonly classes: Uint8Array<ArrayBuffer>;
  /** Where each node's edges begin in the next, and where those of the last end. */
  readonly edgeStarts: Int32Array<ArrayBuffer>;
  /** First byte, last byte and node of each edge. */
  readonly edges: Int32Array<ArrayBuffer>;
  /** Start, size and parent of each region of copies. */
  readonly regions: Int32Array<ArrayBuffer>;
  /** The region of each node, -1 for none; empty where there are no regions. */
  readonly regionOf: Int32Array<ArrayBuffer>;
}

/** A network as arrays. */
export function packNetwork(network: Network): PackedNetwork {
  const { size } = network;
  const edgeStarts = new Int32Array(size + 1);
  const edges: number[] = [];
  for (let node = 0; node < size; node++) {
    edgeStarts[node] = edges.length / 3;
    for (const { first, last, to } of network.edges(node) ?? []) edges.push(first, last, to);
  }
  edgeStarts[size] = edges.length / 3;
  return {
    root: network.root,
    classCount: network.classCount,
    kinds: Uint8Array.from(network.kinds),
    a: Int32Array.from(network.a),
    b: Int32Array.from(network.b),
    starts: Int32Array.from(network.starts),
    nullable: Uint8Array.from(network.nullable, Number),
    ranks: Int32Array.from(network.ranks),
    useful: Uint8Array.from(network.useful),
    classes: Uint8Array.from(network.classes),
    edgeStarts,
    edges: Int32Array.from(edges),
    ...network.copies.packed(size),
  };
}

/** The memory of a packed network, to be transferred to a thread. */
export function buffersOf(packed: PackedNetwork): ArrayBuffer[] {
  return Object.values(packed)
    .filter((value) => ArrayBuffer.isView(value))
    .map((value) => value.buffer as ArrayBuffer);
}

/** A network out of its arrays. Nothing of it is made before it is asked for. */
export function openNetwork(packed: PackedNetwork): NetworkView {
  const { edgeStarts, edges, starts, nullable, ranks } = packed;
  return {
    ...packed,
    // Those are as many as there are rules.
    starts: Array.from(starts),
    nullable: Array.from(nullable, Boolean),
    ranks: Array.from(ranks),
    size: packed.kinds.length,
    copies: Copies.unpacked(packed.regions, packed.regionOf),
    edges(node: number): readonly Edge[] {
      const found: Edge[] = [];
      for (let i = edgeStarts[node]; i < edgeStarts[node + 1]; i++) {
        found.push({ first: edges[3 * i], last: edges[3 * i + 1], to: edges[3 * i + 2] });
      }
      return found;
    },
  };
}
