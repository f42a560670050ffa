import { asM40Error, M40Error } from "../errors.ts";
import { Pool, type Pooling } from "../models/mod.ts";
import { SAMPLING_DEFAULTS } from "../sampling/mod.ts";
import { Sequence, type SequenceQueue } from "../scheduler/mod.ts";

/** What texts are embedded with. */
export interface EmbeddingOptions {
  /** Only so many of the first values of each vector; default: all. */
  readonly dimensions?: number;
  /** Whether what of a text is beyond the context is left out; default: it is refused. */
  readonly truncate?: boolean;
  /** What the caller calls the texts, for errors; default "input". */
  readonly param?: string;
  /** Aborting it ends the work. */
  readonly signal?: AbortSignal;
}

/** The vectors of texts. */
export interface Embeddings {
  /** In the order of the texts, [hidden size] or what `dimensions` says each, of length 1. */
  readonly vectors: readonly Float32Array[];
  /** Tokens of all texts together, those that begin and end each of them included. */
  readonly tokens: number;
}

/** What {@link embedAll} works with. */
interface EmbeddingServices {
  readonly queue: SequenceQueue;
  readonly pooling: Pooling;
  /** Sequences that run at the same time. */
  readonly maxRunning: number;
}

/**
 * The vectors of texts. Each is an ordinary sequence: it waits, may be preempted and can be cancelled. A long list
 * queues no more at a time than can run, so that other requests come between.
 *
 * @param texts Tokens of each text, at least one.
 * @throws {M40Error} as {@link SequenceQueue.add} does; "cancelled", "not_finite", "device".
 */
export async function embedAll(
  texts: readonly (readonly number[])[],
  { dimensions, signal }: Omit<EmbeddingOptions, "truncate">,
  { queue, pooling, maxRunning }: EmbeddingServices,
): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  const running = new Set<Sequence>();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let [next, left] = [0, texts.length];
  let over = false;

  const begin = (index: number) => {
    const pool = new Pool(pooling);
    const sequence = new Sequence({
      prompt: texts[index],
      maxTokens: 0,
      sampling: { ...SAMPLING_DEFAULTS, temperature: 0 },
      topLogprobs: 0,
      endTokens: NO_TOKENS,
      hidden: { of: pooling === "mean" ? "all" : "last", take: (values) => pool.add(values) },
      listener: {
        accept: () => false,
        end: (error) => {
          running.delete(sequence);
          if (over) return;
          if (error !== undefined) return reject(error);
          if (sequence.left > 0) return reject(cancelled());
          vectors[index] = pool.vector(dimensions);
          if (--left === 0) resolve();
          else goOn();
        },
      },
    });
    queue.add(sequence);
    running.add(sequence);
  };
  const goOn = () => {
    try {
      while (next < texts.length && running.size < maxRunning) {
        begin(next);
        next++;
      }
    } catch (error) {
      // The queue is full of others: it goes on when one of its own is done.
      if (running.size === 0 || asM40Error(error).code !== "queue_full") reject(error);
    }
  };

  const abort = () => reject(cancelled());
  if (signal?.aborted) abort();
  else goOn();
  signal?.addEventListener("abort", abort);
  try {
    if (left === 0) resolve();
    await promise;
    return vectors;
  } finally {
    over = true;
    signal?.removeEventListener("abort", abort);
    for (const sequence of running) queue.cancel(sequence);
  }
}

const NO_TOKENS: ReadonlySet<number> = new Set();

function cancelled(): M40Error {
  return new M40Error("cancelled", "The request was ended before it was done.");
}
