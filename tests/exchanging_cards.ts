/**
 * Programs that do nothing but exchange, each on a card of its own.
 *
 * @module
 */
import type { Arena, Context } from "../engine/device/context.ts";
import type { DeviceProgram } from "../engine/device/device_program.ts";
import { KernelLibrary } from "../engine/device/library.ts";
import { stepBytes, type StepSequence } from "../engine/device/step_block.ts";
import { ExchangeMemory, type ExchangePath } from "../engine/exchange_memory.ts";
import { Lockstep, type LockstepCard } from "../engine/lockstep.ts";
import { encodeOperations } from "../engine/program/operation.ts";
import { BACKEND, tokenBuffer } from "./device_harness.ts";
import { completed } from "./operations.ts";

export interface ExchangingCards {
  readonly programs: readonly DeviceProgram[];
  readonly contexts: readonly Context[];
  readonly together: Lockstep<LockstepCard>;
  readonly memory: ExchangeMemory;
}

/** Ways that the backend has; a CPU's memory is the host's. */
export const PATHS: readonly ExchangePath[] = BACKEND === "cpu" ? ["host"] : ["host", "peers"];

/** Runs something with programs that do one exchange after another, of these columns of a row, in the buffers 0 and 1. */
export async function withExchangingCards<T>(
  bounds: readonly number[],
  { rows, inPlace, exchanges = 3, path = "host" }: {
    rows: number;
    inPlace: boolean;
    exchanges?: number;
    path?: ExchangePath;
  },
  work: (cards: ExchangingCards) => Promise<T>,
): Promise<T> {
  const columns = bounds.at(-1)!;
  const libraries: KernelLibrary[] = [];
  const contexts: Context[] = [];
  const arenas: Arena[] = [];
  let together: Lockstep<LockstepCard> | undefined;
  try {
    const cards = bounds.slice(1).map((end, card) => {
      const library = KernelLibrary.find(BACKEND);
      libraries.push(library);
      const device = card % library.countDevices().count;
      const context = library.createContext({ threads: 1, device });
      contexts.push(context);
      const own = end - bounds[card];
      const buffers = [tokenBuffer(inPlace ? columns : own), tokenBuffer(columns)];
      const operation = completed({
        ...{ kind: "exchange", input: 0, output: inPlace ? 0 : 1, card, bounds: [...bounds] },
      });
      const counts = {
        ...{
          n_tokens: rows,
          n_sequences: 1,
          n_outputs: 1,
          n_sequence_pages: 1,
          n_vocab: 2,
          lane: 0,
        },
      };
      const limits = { ...counts, step_bytes: BigInt(stepBytes(counts, 1, 0, false)) };
      const ops = encodeOperations(new Array(exchanges).fill(operation));
      const arena = context.createArena(context.programBytes({ limits, buffers, ops }));
      arenas.push(arena);
      const program = arena.createProgram({ limits, buffers, ops });
      return { name: `card ${card}`, context, program };
    });
    const memory = ExchangeMemory.open(cards, path);
    together = new Lockstep(cards, memory);
    return await work({
      programs: cards.map(({ program }) => program),
      ...{ contexts, together, memory },
    });
  } finally {
    await together?.close();
    for (const arena of arenas) arena.close();
    contexts.forEach((context) => context.close());
    for (const library of libraries) await library.close();
  }
}

/** A step of so many rows. */
export const stepOf = (rows: number): StepSequence => ({
  tokens: new Array(rows).fill(0),
  position: 0,
  decode: true,
  pages: [],
  outputs: [],
});
