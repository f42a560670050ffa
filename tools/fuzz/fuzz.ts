import { Coverage } from "./coverage.ts";
import { mutate, type Random, randomOf } from "./mutate.ts";
import type { FuzzTarget } from "./target.ts";

/** How {@link fuzz} runs. */
export interface FuzzOptions {
  /** How many inputs to try; default: any number. */
  readonly runs?: number;
  /** How long to try, in milliseconds; default: as long as `runs` take. */
  readonly ms?: number;
  readonly seed?: number;
  /** Inputs to start with, in addition to the target's own seeds. */
  readonly corpus?: readonly Uint8Array[];
  /** Whether inputs are kept for what they reach; false tries mutations of the seeds alone. */
  readonly guided?: boolean;
  /** Called with each input that reached something new. */
  readonly onKept?: (input: Uint8Array) => void;
}

/** How far {@link fuzz} is. */
export interface FuzzState {
  readonly runs: number;
  /** Inputs that each reached something that none before did. */
  readonly kept: number;
  /** Characters of code that the seeds and the kept inputs reached. */
  readonly covered: number;
  /** The longest that one input took, in milliseconds of three tries, and that input. */
  readonly slowest: { readonly ms: number; readonly input: Uint8Array };
}

/** What {@link fuzz} found. */
export interface FuzzFinding extends FuzzState {
  /** The input at which the target threw, and what; undefined where none did. */
  readonly fault?: { readonly input: Uint8Array; readonly error: unknown };
}

/** An input that takes this long is timed again, so that a pause of the machine is not taken for it. */
const TIMED_AGAIN_MS = 20;

/** Inputs between two looks at the coverage, which takes longer than most inputs. */
const BATCH = 64;

/**
 * Tries mutated inputs on a target, and keeps those that reach code which none before them reached, to
 * mutate them further. Ends at the first fault.
 */
export async function fuzz(target: FuzzTarget, options: FuzzOptions = {}): Promise<FuzzFinding> {
  const { runs = Infinity, ms: most = Infinity, seed = 1, guided = true } = options;
  // A timer would never be heard: what is awaited here never waits for the event loop.
  const end = performance.now() + most;
  const random: Random = randomOf(seed);
  const corpus = [...target.seeds(), ...options.corpus ?? []];
  const dictionary = target.dictionary.map((word) => new TextEncoder().encode(word));
  const coverage = await Coverage.start(target.within);
  let slowest: FuzzState["slowest"] = { ms: 0, input: new Uint8Array() };
  let done = 0;
  let kept = 0;
  let current = new Uint8Array();
  const state = (): FuzzState => ({ runs: done, kept, covered: coverage.size, slowest });
  const run = async (input: Uint8Array): Promise<void> => {
    current = input.slice();
    let ms = await timed(target, input);
    for (let i = 0; i < 2 && ms > TIMED_AGAIN_MS; i++) {
      ms = Math.min(ms, await timed(target, input));
    }
    if (ms > slowest.ms) slowest = { ms, input };
  };
  try {
    for (const input of corpus) await run(input);
    await coverage.take(true);
    while (done < runs && performance.now() < end) {
      const batch = Array.from(
        { length: Math.min(BATCH, runs - done) },
        () =>
          mutate(corpus[random(corpus.length)], random, {
            dictionary,
            corpus,
            maxBytes: target.maxBytes,
          }),
      );
      for (const input of batch) await run(input);
      done += batch.length;
      if (!guided || await coverage.take(false) === 0) continue;
      for (const input of batch) {
        await run(input);
        if (await coverage.take(true) === 0) continue;
        corpus.push(input);
        kept++;
        options.onKept?.(input);
      }
    }
    return state();
  } catch (error) {
    return { ...state(), fault: { input: current, error } };
  }
}

async function timed(target: FuzzTarget, input: Uint8Array): Promise<number> {
  const start = performance.now();
  await target.run(input);
  return performance.now() - start;
}
