/** Repetitions that are written out: nodes in copies of one size, of which copy 0 is the last of the text. */
interface Region {
  readonly start: number;
  readonly size: number;
  /** The region that it lies in a copy of, or -1. */
  parent: number;
}

const NONE = -1;

/**
 * Which nodes are copies of each other. A node with so many copies behind it that no token reaches their end allows the
 * same tokens as one with fewer, but still enough.
 */
export class Copies {
  private readonly regions: Region[] = [];
  /** The innermost region of each node that is in one. */
  private readonly regionOf = new Map<number, number>();
  /** The same in an array, where another thread has noted them. */
  private packedRegionOf?: Int32Array;

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

  /** As arrays: start, size and parent of each region, and the region of each node. */
  packed(nodes: number): { regions: Int32Array<ArrayBuffer>; regionOf: Int32Array<ArrayBuffer> } {
    const { regions } = this;
    const regionOf = new Int32Array(regions.length === 0 ? 0 : nodes).fill(NONE);
    for (const [node, region] of this.regionOf) regionOf[node] = region;
    return {
      regions: Int32Array.from(regions.flatMap(({ start, size, parent }) => [start, size, parent])),
      regionOf,
    };
  }

  /** Out of what {@link packed} gave. */
  static unpacked(regions: Int32Array, regionOf: Int32Array): Copies {
    const copies = new Copies();
    for (let i = 0; i < regions.length; i += 3) {
      copies.regions.push({ start: regions[i], size: regions[i + 1], parent: regions[i + 2] });
    }
    copies.packedRegionOf = regionOf;
    return copies;
  }

  get areThere(): boolean {
    return this.regions.length > 0;
  }

  /** The node that allows the same texts of at most that many bytes, with as few copies behind it as that takes. */
  nearest(node: number, bytes: number): number {
    let near = node;
    for (let at = this.innermost(node); at !== NONE; at = this.regions[at].parent) {
      const { start, size } = this.regions[at];
      const copy = Math.floor((near - start) / size);
      if (copy > bytes) near -= (copy - bytes) * size;
    }
    return near;
  }

  private innermost(node: number): number {
    return this.packedRegionOf?.[node] ?? this.regionOf.get(node) ?? NONE;
  }
}
