/** Repetitions that are written out: nodes in copies of one size, of which copy 0 is the last of the text. */
interface Region {
  readonly start: number;
  readonly size: number;
  /** The region that it lies in a copy of, or -1. */
  parent: number;
}

const NONE = -1;

/**
 * Which nodes are copies of each other. A node that has so many copies behind it that no token reaches their
 * end allows the same tokens as one that has fewer of them, but still enough.
 */
export class Copies {
  private readonly regions: Region[] = [];
  /** The innermost region of each node that is in one. */
  private readonly regionOf = new Map<number, number>();

  /** Notes that the nodes from `start` to `end` are so many copies, each of which takes a byte at least. */
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

  get areThere(): boolean {
    return this.regions.length > 0;
  }

  /** The node that allows the same texts of so many bytes at most, with as few copies behind it as that takes. */
  nearest(node: number, bytes: number): number {
    let near = node;
    for (let at = this.regionOf.get(node) ?? NONE; at !== NONE; at = this.regions[at].parent) {
      const { start, size } = this.regions[at];
      const copy = Math.floor((near - start) / size);
      if (copy > bytes) near -= (copy - bytes) * size;
    }
    return near;
  }
}
