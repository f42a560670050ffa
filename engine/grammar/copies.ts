/** Repetitions that are written out: nodes in copies of one size, of which copy 0 is the last of the text. */
interface Region {
  readonly start: number;
  readonly size: number;
  /** The region that it lies in a copy of, or -1. */
  parent: number;
}

const NONE = -1;

/** The copies of a network as arrays. */
export interface PackedCopies {
  /** Start, size and parent of each region of copies. */
  readonly regions: Int32Array<ArrayBuffer>;
  /** The innermost region of each node, -1 for none; empty where there are no regions. */
  readonly regionOf: Int32Array<ArrayBuffer>;
}

/** Notes which nodes of a network are copies of each other, for {@link nearestCopy}. */
export class Copies {
  private readonly regions: Region[] = [];
  /** The innermost region of each node that is in one. */
  private readonly regionOf = new Map<number, number>();

  /** Notes that the nodes from `start` to `end` are that many copies, each of which takes a byte at least. */
  add(start: number, end: number, count: number): void {
    const region = this.regions.push({ start, size: (end - start) / count, parent: NONE }) - 1;
    for (let node = start; node < end; node++) {
      let inner = this.regionOf.get(node);
      if (inner === undefined) {
        this.regionOf.set(node, region);
        continue;
      }
      while (this.regions[inner].parent !== NONE) inner = this.regions[inner].parent;
      if (inner !== region) this.regions[inner].parent = region;
    }
  }

  packed(nodes: number): PackedCopies {
    const { regions } = this;
    const regionOf = new Int32Array(regions.length === 0 ? 0 : nodes).fill(NONE);
    for (const [node, region] of this.regionOf) regionOf[node] = region;
    return {
      regions: Int32Array.from(regions.flatMap(({ start, size, parent }) => [start, size, parent])),
      regionOf,
    };
  }
}

/**
 * The node that allows the same texts of at most that many bytes, with as few copies behind it as that takes. A node
 * with so many copies behind it that no token reaches their end allows the same tokens as one with fewer, but still
 * enough.
 */
export function nearestCopy({ regions, regionOf }: PackedCopies, node: number, bytes: number) {
  let near = node;
  for (let at = regionOf[node]; at !== NONE; at = regions[3 * at + 2]) {
    const size = regions[3 * at + 1];
    const copy = Math.floor((near - regions[3 * at]) / size);
    if (copy > bytes) near -= (copy - bytes) * size;
  }
  return near;
}
