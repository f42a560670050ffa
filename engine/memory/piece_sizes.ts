import type { PartSize } from "./cut_plan.ts";
import type { MemoryPlan } from "./memory_plan.ts";
import {
  cacheLayerOf,
  KV_VALUE_BYTES,
  operationWork,
  type Program,
  stateOf,
  weightsOf,
} from "../program/mod.ts";
import type { Sizes } from "./remembered_sizes.ts";

/** A decoded step, by which the time of parts is compared. */
const USUAL_STEP = { tokens: 8, outputs: 8, sequences: 8, attended: 1024 };

/** What a piece of a program has. */
interface Piece {
  readonly weights: ReadonlySet<number>;
  readonly cacheLayers: ReadonlySet<number>;
  readonly states: ReadonlySet<number>;
  readonly readBytes: number;
}

/**
 * The memory that pieces of a program take on a device, without asking for each possible part: the buffers of a step
 * count as those of the whole program, of which a part has fewer.
 */
export class PieceSizes {
  private readonly pieces: readonly Piece[];

  /** @param cuts Where the program may be cut: each piece but the first begins at one. */
  constructor(
    private readonly program: Program,
    cuts: readonly number[],
    kvType: MemoryPlan["kvType"],
  ) {
    const { operations } = program;
    const work = operationWork(program, { ...USUAL_STEP, kvValueBytes: KV_VALUE_BYTES[kvType] });
    const ends = [...cuts, operations.length];
    this.pieces = ends.map((end, i) => {
      const start = i === 0 ? 0 : ends[i - 1];
      const own = operations.slice(start, end);
      const numbers = (values: readonly (number | undefined)[]) =>
        new Set(values.filter((value) => value !== undefined));
      return {
        weights: numbers(own.flatMap(weightsOf)),
        cacheLayers: numbers(own.map(cacheLayerOf)),
        states: numbers(own.map(stateOf)),
        readBytes: work.slice(start, end).reduce((sum, { bytes }) => sum + bytes, 0),
      };
    });
  }

  /** How many there are. */
  get count(): number {
    return this.pieces.length;
  }

  /** The pieces of [from, to) on a device. */
  sizeOf(
    sizes: Sizes,
    from: number,
    to: number,
    whole: Pick<MemoryPlan, "cache" | "programBytes">,
  ): PartSize {
    const some = this.pieces.slice(from, to);
    const union = (numbers: (piece: Piece) => ReadonlySet<number>) =>
      new Set(some.flatMap((piece) => [...numbers(piece)]));
    const { weights, states } = this.program;
    const ofGroups = new Map<number, number>();
    for (const layer of union(({ cacheLayers }) => cacheLayers)) {
      const group = whole.cache.group[layer];
      ofGroups.set(group, (ofGroups.get(group) ?? 0) + this.layerBytes(sizes, layer, whole));
    }
    return {
      weightBytes: sum(
        [...union((piece) => piece.weights)],
        (weight) => sizes.tensorBytes(weights[weight].desc),
      ),
      programBytes: whole.programBytes,
      // All KV blocks are equally large.
      kvBlockBytes: Math.max(0, ...ofGroups.values()),
      slotBytes: sum(
        [...union((piece) => piece.states)],
        (state) => states[state] * Float32Array.BYTES_PER_ELEMENT,
      ),
      readBytes: sum(some, ({ readBytes }) => readBytes),
    };
  }

  /** What a layer takes of a KV block. */
  private layerBytes(sizes: Sizes, layer: number, { cache }: Pick<MemoryPlan, "cache">): number {
    return sizes.cacheBytes({
      ...cache,
      n_layers: 1,
      n_groups: 1,
      n_kv_blocks: 1,
      n_kv_heads: [cache.n_kv_heads[layer]],
      head_dim: [cache.head_dim[layer]],
      value_dim: [cache.value_dim[layer]],
      group: [0],
      states: [],
      slots: 0,
    }).kvBlockBytes;
  }
}

function sum<T>(values: readonly T[], bytes: (value: T) => number): number {
  return values.reduce((total, value) => total + bytes(value), 0);
}
