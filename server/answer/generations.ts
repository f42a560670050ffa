/**
 * The generations of one request, read together and ended together.
 *
 * @module
 */
import { type Generation, type GenerationChunk, M40Error } from "../../engine/mod.ts";

/** Chunks that are there together, and which of the request's generations they are from. */
export interface IndexedChunks {
  readonly index: number;
  /** At least one. */
  readonly chunks: readonly GenerationChunk[];
}

/**
 * The chunks of generations as they come. Those that are there together come together: a device makes several steps
 * before it tells of them, and what is done once for all of their tokens is not done for each. Takes no chunk before
 * the reader wants one. Leaving early cancels them all, and so does a failure of one.
 *
 * @throws {M40Error} `cancelled` when a generation was ended from outside: its client has left, or the
 * server stops.
 */
export async function* chunksTogether(
  generations: readonly Generation[],
): AsyncGenerator<IndexedChunks> {
  if (generations.length > 1) return yield* chunksOfAll(generations);
  let finished = false;
  for await (const chunks of generations[0].together()) {
    finished = chunks.at(-1)!.finishReason !== undefined;
    yield { index: 0, chunks };
  }
  if (!finished) {
    throw new M40Error("cancelled", "The generation was ended before it was done; send it again.");
  }
}

/** The chunks of several, in the order in which they come. */
async function* chunksOfAll(generations: readonly Generation[]): AsyncGenerator<IndexedChunks> {
  type Arrival = { index: number; result?: IteratorResult<IndexedChunks>; error?: unknown };
  const iterators = generations.map((generation) => chunksTogether([generation]));
  const arrivals: Arrival[] = [];
  let wake = () => {};
  const arrive = (arrival: Arrival) => {
    arrivals.push(arrival);
    wake();
  };
  const ask = (index: number) => {
    iterators[index].next().then(
      (result) => arrive({ index, result }),
      (error) => arrive({ index, error }),
    );
  };
  try {
    for (const index of iterators.keys()) ask(index);
    for (let left = iterators.length; left > 0;) {
      if (arrivals.length === 0) await new Promise<void>((resolve) => wake = resolve);
      const { index, result, error } = arrivals.shift()!;
      if (result === undefined) throw error;
      if (result.done) {
        left--;
      } else {
        yield { index, chunks: result.value.chunks };
        ask(index);
      }
    }
  } finally {
    for (const generation of generations) generation.cancel();
  }
}
