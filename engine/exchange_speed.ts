import type { Arena, Context } from "./device/context.ts";
import type { SharedMemory } from "./device/shared_memory.ts";
import { MAX_CARDS, Rows } from "./device/structs.ts";
import { stepBytes, type StepSequence } from "./device/step_block.ts";
import { Lockstep } from "./lockstep.ts";
import { encodeOperations, type Operation } from "./program/operation.ts";

/** In a step: as many as make the way there and back count little. */
const EXCHANGES = 64;
/** The devices have to wake up, and graphs to be made. */
const WARM_UP_STEPS = 24;
const STEPS = 12;

/** What is exchanged: by default a row of a 7B model's hidden state. */
export interface ExchangeSize {
  readonly rows?: number;
  readonly columns?: number;
}

/** A card, as {@link exchangeTime} uses it. */
export interface ExchangingCard {
  readonly name: string;
  readonly context: Context;
}

/**
 * How long an exchange between cards takes, in seconds: of a step that does nothing else, over and over, the fastest counts.
 *
 * @throws {M40Error} "device" where a card fails; "out_of_memory" where there is no room for some rows.
 */
export async function exchangeTime(
  cards: readonly ExchangingCard[],
  { rows = 1, columns = 4096 }: ExchangeSize = {},
): Promise<number> {
  const { limits, buffers } = records(rows, columns);
  const arenas: Arena[] = [];
  const exchanged: Uint8Array<ArrayBuffer>[] = [];
  let shared: SharedMemory | undefined;
  try {
    const programs = cards.map(({ context }, card) => {
      const ops = encodeOperations(operations(card, cards.length, columns));
      const arena = context.createArena(context.programBytes({ limits, buffers, ops }));
      arenas.push(arena);
      return arena.createProgram({ limits, buffers, ops });
    });
    shared = cards[0].context.createShared(programs[0].exchangeBytes);
    for (const { context } of cards) exchanged.push(context.share(shared));
    const together = new Lockstep(
      cards.map(({ name }, i) => ({ name, program: programs[i], exchanged: exchanged[i] })),
    );
    const tokens = new Array(rows).fill(0);
    const step: StepSequence = { tokens, position: 0, decode: true, pages: [], outputs: [] };
    let best = Infinity;
    for (let i = 0; i < WARM_UP_STEPS + STEPS; i++) {
      const begun = performance.now();
      await together.step(({ program }) => program.step([step]));
      if (i >= WARM_UP_STEPS) best = Math.min(best, performance.now() - begun);
    }
    return best / 1000 / EXCHANGES;
  } finally {
    for (const arena of arenas) arena.close();
    exchanged.forEach((memory, i) => cards[i].context.freeHostMemory(memory));
    shared?.close();
  }
}

function records(rows: number, columns: number) {
  const counts = {
    ...{ n_tokens: rows, n_sequences: 1, n_outputs: 1, n_sequence_pages: 1, n_vocab: 2, lane: 0 },
  };
  return {
    limits: { ...counts, step_bytes: BigInt(stepBytes(counts, 1, 0, false)) },
    buffers: [{ rows: Rows.tokens, rows_factor: 1, columns, element: 0 }],
  };
}

function operations(card: number, cards: number, columns: number): Operation[] {
  const bounds = Array.from(
    { length: cards + 1 },
    (_, i) => Math.round(columns / 4 * i / cards) * 4,
  );
  return Array.from({ length: EXCHANGES }, () => ({
    kind: "exchange",
    input: 0,
    output: 0,
    input_column: bounds[card],
    n_cards: cards,
    card,
    bounds: [...bounds, ...new Array(MAX_CARDS + 1 - bounds.length).fill(0)],
  }));
}
