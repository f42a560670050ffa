import type { PackedCopies } from "./copies.ts";
import type { Network } from "./network.ts";

/** A network as arrays, which an automaton goes by, and which go from thread to thread without being copied. */
export interface PackedNetwork extends PackedCopies {
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

/** The memory of a packed network, to be handed over. */
export function buffersOf(packed: PackedNetwork): ArrayBuffer[] {
  return Object.values(packed)
    .filter((value) => ArrayBuffer.isView(value))
    .map((value) => value.buffer as ArrayBuffer);
}
