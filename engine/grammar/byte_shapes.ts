import type { CharacterClass } from "./grammar.ts";
import { type ByteRange, normalizeRanges, utf8Sequences } from "./utf8_ranges.ts";

/** The bytes of a class of characters: what may come first, and the bytes behind each. */
export interface ByteShape {
  readonly id: number;
  readonly edges: readonly ShapeEdge[];
}

/** Bytes from `first` to `last`, and what comes behind them; absent: the character is complete. */
export interface ShapeEdge {
  readonly first: number;
  readonly last: number;
  readonly behind?: ByteShape;
}

/** The shapes of classes, each made once: a class is written out for every time that it is repeated. */
export class ByteShapes {
  private readonly ofClass = new WeakMap<CharacterClass, ByteShape>();
  private readonly known = new Map<string, ByteShape>();

  of(expression: CharacterClass): ByteShape {
    return this.ofClass.getOrInsertComputed(expression, () => {
      const ranges = normalizeRanges(expression.ranges, expression.negated);
      return this.shapeOf(ranges.flatMap(utf8Sequences));
    });
  }

  /** Sequences of ranges of bytes, in which those that start alike are neighbours. */
  private shapeOf(sequences: readonly (readonly ByteRange[])[]): ByteShape {
    const edges: ShapeEdge[] = [];
    for (let i = 0; i < sequences.length;) {
      const [first, last] = sequences[i][0];
      const alike: (readonly ByteRange[])[] = [];
      while (i < sequences.length && sequences[i][0][0] === first && sequences[i][0][1] === last) {
        alike.push(sequences[i++].slice(1));
      }
      const behind = alike[0].length === 0 ? undefined : this.shapeOf(alike);
      edges.push({ first, last, behind });
    }
    const key = edges.map(({ first, last, behind }) => `${first}-${last}:${behind?.id ?? ""}`)
      .join();
    return this.known.getOrInsertComputed(key, () => ({ id: this.known.size, edges }));
  }
}
