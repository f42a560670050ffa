/**
 * Programs that do nothing but exchange, each on a card of its own.
 *
 * @module
 */
import type { Arena, Context } from "../engine/device/context.ts";
import type { DeviceProgram } from "../engine/device/device_program.ts";
import { KernelLibrary } from "../engine/device/library.ts";
import type { SharedMemory } from "../engine/device/shared_memory.ts";
import { stepBytes, type StepSequence } from "../engine/device/step_block.ts";
import { Lockstep, type LockstepCard } from "../engine/lockstep.ts";
import { encodeOperations } from "../engine/program/operation.ts";
import { BACKEND, tokenBuffer } from "./device_harness.ts";
import { completed } from "./operations.ts";

export interface ExchangingCards {
  readonly programs: readonly DeviceProgram[];
  readonly together: Lockstep<LockstepCard>;
  readonly exchanged: readonly Uint8Array<ArrayBuffer>[];
}

/** Runs something with programs that do one exchange after another, of these columns of a row, in the buffers 0 and 1. */
export async function withExchangingCards<T>(
  bounds: readonly number[],
  { rows, inPlace, exchanges = 3 }: { rows: number; inPlace: boolean; exchanges?: number },
  work: (cards: ExchangingCards) => Promise<T>,
): Promise<T> {
  const columns = bounds.at(-1)!;
  const libraries: KernelLibrary[] = [];
  const contexts: Context[] = [];
  const arenas: Arena[] = [];
  let shared: SharedMemory | undefined;
  try {
    const programs = bounds.slice(1).map((end, card) => {
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
      return arena.createProgram({ limits, buffers, ops });
    });
    shared = contexts[0].createShared(programs[0].exchangeBytes);
    const exchanged = contexts.map((context) => context.share(shared!));
    const together = new Lockstep(
      programs.map((program, i) => ({ name: `card ${i}`, program, exchanged: exchanged[i] })),
    );
    return await work({ programs, together, exchanged });
  } finally {
    for (const arena of arenas) arena.close();
    contexts.forEach((context) => context.close());
    shared?.close();
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
