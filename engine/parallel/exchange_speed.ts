import {
  type Arena,
  type Context,
  type DeviceProgram,
  MAX_CARDS,
  Rows,
  stepBytes,
  type StepSequence,
} from "../device/mod.ts";
import { encodeOperations, type Operation } from "../program/mod.ts";
import { M40Error } from "../errors.ts";
import { ExchangeMemory, type ExchangePath } from "./exchange_memory.ts";
import { Lockstep, type LockstepCard } from "./lockstep.ts";

/** In a step that is timed: as many as make the way there and back count little. */
const EXCHANGES = 64;
/** The devices have to wake up, and graphs to be made. */
const WARM_UP_STEPS = 24;
const STEPS = 12;
/** In a step that is looked at. */
const CHECKED_EXCHANGES = 4;
/** Enough for exchange numbers to wrap around. */
const CHECKED_STEPS = 3;
/** Where what was written does not arrive, cards would wait for much longer. */
const PATIENCE_MS = 5000;

/** What is exchanged: by default a row of a 7B model's hidden state, through the host's memory. */
export interface ExchangeSize {
  readonly rows?: number;
  readonly columns?: number;
  readonly path?: ExchangePath;
}

/** A card, as {@link exchangeTime} uses it. */
export interface ExchangingCard {
  readonly name: string;
  readonly context: Context;
}

/**
 * How long an exchange between cards takes, in seconds: of a step that does nothing else, over and over, the fastest counts.
 *
 * @throws {M40Error} "device" where a card fails; "out_of_memory" where there is no room for some rows; "unsupported" where the
 * cards cannot exchange rows so.
 */
export function exchangeTime(
  cards: readonly ExchangingCard[],
  size: ExchangeSize = {},
): Promise<number> {
  return withExchanges(cards, size, EXCHANGES, async ({ step }) => {
    let best = Infinity;
    for (let i = 0; i < WARM_UP_STEPS + STEPS; i++) {
      const begun = performance.now();
      await step();
      if (i >= WARM_UP_STEPS) best = Math.min(best, performance.now() - begun);
    }
    return best / 1000 / EXCHANGES;
  });
}

/**
 * Exchanges some rows, and compares what arrives with what was sent.
 *
 * @throws {M40Error} As {@link exchangeTime} does; "internal" where rows do not arrive, or not as they were.
 */
export async function checkExchange(
  cards: readonly ExchangingCard[],
  size: ExchangeSize = {},
): Promise<void> {
  await withExchanges(cards, size, CHECKED_EXCHANGES, async (exchanges) => {
    const { step, programs, bounds, rows, giveUp } = exchanges;
    const columns = bounds.at(-1)!;
    for (let n = 1; n <= CHECKED_STEPS; n++) {
      const wanted = Float32Array.from({ length: rows * columns }, (_, i) => n * 2 ** 20 + i);
      programs.forEach((program, card) => {
        const own = wanted.map((value, i) => {
          const column = i % columns;
          return column >= bounds[card] && column < bounds[card + 1] ? value : 0;
        });
        program.writeBuffer(0, own);
      });
      const timer = setTimeout(giveUp, PATIENCE_MS);
      try {
        await step();
      } finally {
        clearTimeout(timer);
      }
      for (const [card, program] of programs.entries()) {
        const got = program.readBuffer(0, new Float32Array(wanted.length));
        const wrong = got.findIndex((value, i) => value !== wanted[i]);
        if (wrong < 0) continue;
        throw new M40Error(
          "internal",
          `${cards[card].name} has got ${got[wrong]} in an exchange where ${
            wanted[wrong]
          } was sent`,
        );
      }
    }
  });
}

/** Programs that do nothing but exchange. */
interface Exchanges {
  readonly programs: readonly DeviceProgram[];
  readonly rows: number;
  readonly bounds: readonly number[];
  step(): Promise<unknown>;
  giveUp(): void;
}

async function withExchanges<T>(
  cards: readonly ExchangingCard[],
  { rows = 1, columns = 4096, path = "host" }: ExchangeSize,
  exchanges: number,
  work: (exchanges: Exchanges) => Promise<T>,
): Promise<T> {
  const { limits, buffers } = records(rows, columns);
  const bounds = Array.from(
    { length: cards.length + 1 },
    (_, i) => Math.round(columns / 4 * i / cards.length) * 4,
  );
  const arenas: Arena[] = [];
  let together: Lockstep<LockstepCard> | undefined;
  try {
    const exchanging = cards.map(({ name, context }, card) => {
      const operation = exchangeOf(card, bounds);
      const ops = encodeOperations(new Array<Operation>(exchanges).fill(operation));
      const arena = context.createArena(context.programBytes({ limits, buffers, ops }));
      arenas.push(arena);
      return { name, context, program: arena.createProgram({ limits, buffers, ops }) };
    });
    const memory = ExchangeMemory.open(exchanging, path);
    together = new Lockstep(exchanging, memory);
    const lockstep = together;
    const tokens = new Array(rows).fill(0);
    const sequence: StepSequence = { tokens, position: 0, decode: true, kvBlocks: [], outputs: [] };
    return await work({
      programs: exchanging.map(({ program }) => program),
      ...{ rows, bounds },
      step: () => lockstep.step(({ program }) => program.step([sequence])),
      giveUp: () => memory.giveUp(),
    });
  } finally {
    await together?.close();
    for (const arena of arenas) arena.close();
  }
}

function records(rows: number, columns: number) {
  const ones = { n_sequences: 1, n_outputs: 1, n_sequence_kv_blocks: 1 };
  const counts = { n_tokens: rows, ...ones, n_vocab: 2, lane: 0 };
  return {
    limits: { ...counts, step_bytes: BigInt(stepBytes(counts, 1, 0, false)) },
    buffers: [{ rows: Rows.tokens, rows_factor: 1, columns, element: 0 }],
  };
}

function exchangeOf(card: number, bounds: readonly number[]): Operation {
  return {
    kind: "exchange",
    input: 0,
    output: 0,
    input_column: bounds[card],
    n_cards: bounds.length - 1,
    card,
    bounds: [...bounds, ...new Array(MAX_CARDS + 1 - bounds.length).fill(0)],
  };
}
