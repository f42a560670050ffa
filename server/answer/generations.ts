/**
 * The generations of one request: started together or not at all, read together, ended together.
 *
 * @module
 */
import {
  type Engine,
  type GenerateRequest,
  type Generation,
  type GenerationChunk,
  M40Error,
} from "../../engine/mod.ts";

/** A chunk, and which of the request's generations it is from. */
export interface IndexedChunk {
  readonly index: number;
  readonly chunk: GenerationChunk;
}

/** Chunks that are there together, and which of the request's generations they are from. */
export interface IndexedChunks {
  readonly index: number;
  /** At least one. */
  readonly chunks: readonly GenerationChunk[];
}

/**
 * Starts generations, all or none.
 *
 * @throws {M40Error} What {@link Engine.generate} throws for the first that cannot be started.
 */
export function startAll(engine: Engine, requests: readonly GenerateRequest[]): Generation[] {
  return engine.generateAll(requests);
}

/**
 * Does what requests can make long off the event loop: see {@link Engine.ready}. What is alike is done once.
 *
 * @throws {M40Error} What that throws for the first that cannot be started.
 */
export async function allReady(
  engine: Engine,
  requests: readonly GenerateRequest[],
): Promise<GenerateRequest[]> {
  const prompts = new Map<string, GenerateRequest["prompt"]>();
  const ready: GenerateRequest[] = [];
  for (const request of requests) {
    const { prompt } = request;
    const known = typeof prompt === "string" ? prompts.get(prompt) : undefined;
    const one = await engine.ready(known === undefined ? request : { ...request, prompt: known });
    if (typeof prompt === "string") prompts.set(prompt, one.prompt);
    ready.push(one);
  }
  return ready;
}

/** Ends generations and frees their places; those that have ended already stay as they are. */
export function cancelAll(generations: readonly Generation[]): void {
  for (const generation of generations) generation.cancel();
}

/**
 * The chunks of several generations as they come. Takes no chunk before the reader wants one. Leaving
 * early cancels them all, and so does a failure of one.
 *
 * @throws {M40Error} `cancelled` when a generation was ended from outside: its client has left, or the
 * server stops.
 */
export async function* chunksOf(generations: readonly Generation[]): AsyncGenerator<IndexedChunk> {
  for await (const { index, chunks } of chunksTogether(generations)) {
    for (const chunk of chunks) yield { index, chunk };
  }
}

/**
 * The same, but those that are there together come together: a device makes several steps before it tells of them,
 * and what is done once for all of their tokens is not done for each.
 */
export function chunksTogether(generations: readonly Generation[]): AsyncGenerator<IndexedChunks> {
  // One generation cancels itself, and a generator less is less for every token.
  return generations.length === 1 ? chunksOfOne(0, generations[0]) : chunksOfAll(generations);
}

async function* chunksOfAll(generations: readonly Generation[]): AsyncGenerator<IndexedChunks> {
  try {
    yield* merge(generations.map((generation, index) => chunksOfOne(index, generation)));
  } finally {
    cancelAll(generations);
  }
}

async function* chunksOfOne(index: number, generation: Generation): AsyncGenerator<IndexedChunks> {
  let finished = false;
  for await (const chunks of generation.together()) {
    finished = chunks.at(-1)!.finishReason !== undefined;
    yield { index, chunks };
  }
  if (!finished) {
    throw new M40Error("cancelled", "The generation was ended before it was done; send it again.");
  }
}

/** The values of several iterators in the order in which they come. */
async function* merge<T>(iterators: readonly AsyncIterator<T>[]): AsyncGenerator<T> {
  type Arrival = { iterator: AsyncIterator<T>; result?: IteratorResult<T>; error?: unknown };
  const arrivals: Arrival[] = [];
  let wake = () => {};
  const arrive = (arrival: Arrival) => {
    arrivals.push(arrival);
    wake();
  };
  const ask = (iterator: AsyncIterator<T>) => {
    iterator.next().then(
      (result) => arrive({ iterator, result }),
      (error) => arrive({ iterator, error }),
    );
  };
  iterators.forEach(ask);
  for (let left = iterators.length; left > 0;) {
    if (arrivals.length === 0) await new Promise<void>((resolve) => wake = resolve);
    const { iterator, result, error } = arrivals.shift()!;
    if (result === undefined) throw error;
    if (result.done) {
      left--;
    } else {
      yield result.value;
      ask(iterator);
    }
  }
}
