import { assert, assertEquals } from "@std/assert";
import {
  type CardRoom,
  type CutRequest,
  type PartSize,
  piecesThatFit,
  planCuts,
} from "./cut_plan.ts";
import { Random } from "../../tests/fixtures/random.ts";

// Which card gets which pieces of a model, by numbers alone.

/** Pieces that take and read as much as is said, the last of which has an output head as large as `head` of them. */
function asked(
  pieces: number,
  cards: readonly CardRoom[],
  change: Partial<CutRequest> & { head?: number; weight?: number } = {},
): CutRequest {
  const { head = 0, weight = 100, ...rest } = change;
  const size = (_: number, from: number, to: number): PartSize => {
    const weightBytes = (to - from + (to === pieces ? head : 0)) * weight;
    return {
      weightBytes,
      programBytes: 50,
      kvBlockBytes: 2 * (to - from),
      slotBytes: 0,
      readBytes: weightBytes,
    };
  };
  return { cards, pieces, size, kvBlocks: 1, slots: 0, ...rest };
}

const card = (bytes: number, bytesPerSecond = 1): CardRoom => ({ bytes, bytesPerSecond });

Deno.test("cards alike get as many layers each; what the output head reads counts as layers do", () => {
  assertEquals(planCuts(asked(32, [card(1e6), card(1e6)])), [16]);
  assertEquals(planCuts(asked(32, [card(1e6), card(1e6)], { head: 4 })), [18]);
  assertEquals(planCuts(asked(30, [card(1e6), card(1e6), card(1e6)])), [10, 20]);
});

Deno.test("a card with faster memory gets more, in the measure in which it is faster", () => {
  assertEquals(planCuts(asked(40, [card(1e6, 288), card(1e6, 480)])), [15]);
  assertEquals(planCuts(asked(40, [card(1e6, 480), card(1e6, 288)])), [25]);
});

Deno.test("memory goes before speed: a fast card with little of it gets what it has room for", () => {
  // Five pieces of 100 bytes, four KV blocks of 2 bytes each and 50 for buffers are 590.
  assertEquals(planCuts(asked(20, [card(590, 10), card(1e6, 1)])), [5]);
  assertEquals(planCuts(asked(20, [card(589, 10), card(1e6, 1)])), [4]);
  assertEquals(planCuts(asked(20, [card(1e6, 1), card(590, 10)])), [15]);
});

Deno.test("of ways that are as fast within a few hundredths, the one with the most KV blocks is taken", () => {
  // 50 and 50 would be fastest; with 48 the first card, which has less memory, has room for more KV blocks.
  const cards = [card(6000), card(12_000)];
  assertEquals(planCuts(asked(100, cards)), [48]);
});

Deno.test("where that has few KV blocks, a fast card with little memory gets fewer layers, but not much fewer", () => {
  const begins = (bytes: number, kvBlocks: number) =>
    planCuts({ ...asked(100, [card(bytes), card(1e6)]), kvBlocks });
  // With 48 pieces there is room for 11 KV blocks, which is enough of one, but not of nine.
  assertEquals(begins(6000, 1), [48]);
  // Four times nine: with 43 in 7500 bytes. In 6000 that would take longer by more than a quarter.
  assertEquals(begins(7500, 9), [43]);
  assertEquals(begins(6000, 9), [38]);
});

Deno.test("there is no plan where a card has room for no layer, all have too little, or there are too few layers", () => {
  assertEquals(planCuts(asked(8, [card(1e6), card(151)])), undefined);
  assertEquals(planCuts(asked(8, [card(400), card(400)])), undefined);
  assertEquals(planCuts(asked(8, [card(1e6), card(1e6)], { kvBlocks: 1e6 })), undefined);
  assertEquals(planCuts(asked(2, [card(1e6), card(1e6), card(1e6)])), undefined);
  assertEquals(planCuts(asked(2, [card(1e6), card(1e6)])), [1]);
});

Deno.test("the error says what each card has room for", () => {
  assertEquals(piecesThatFit(asked(8, [card(400), card(151), card(300)])), [3, 0, 2]);
});

Deno.test("random models and cards: the plan fits, and none that fits is faster by more than the KV blocks are worth", () => {
  const numbers = new Random(5);
  const random = (n: number) => numbers.below(n);
  let planned = 0;
  for (let n = 0; n < 100; n++) {
    const pieces = 2 + random(7);
    const weights = Array.from({ length: pieces }, () => 1 + random(200));
    const kvBlocks = Array.from({ length: pieces }, () => random(3));
    const cards = Array.from(
      { length: 1 + random(3) },
      () => card(50 + random(900), 1 + random(5)),
    );
    const total = (values: readonly number[], from: number, to: number) =>
      values.slice(from, to).reduce((sum, one) => sum + one, 0);
    const request: CutRequest = {
      cards,
      pieces,
      size: (_, from, to) => {
        const weightBytes = total(weights, from, to);
        const kvBlockBytes = total(kvBlocks, from, to);
        return {
          weightBytes,
          programBytes: 20,
          kvBlockBytes,
          slotBytes: 3,
          readBytes: weightBytes,
        };
      },
      kvBlocks: 1 + random(10),
      slots: random(4),
    };
    const partsOf = (begins: readonly number[]) =>
      cards.map((one, i) => {
        const [from, to] = [i === 0 ? 0 : begins[i - 1], begins[i] ?? pieces];
        const bytes = total(weights, from, to) + 20 + request.slots * 3 +
          request.kvBlocks * total(kvBlocks, from, to);
        return {
          fits: to > from && bytes <= one.bytes,
          seconds: total(weights, from, to) / one.bytesPerSecond,
        };
      });
    const secondsOf = (begins: readonly number[]) => {
      const parts = partsOf(begins);
      return parts.every(({ fits }) => fits)
        ? Math.max(...parts.map(({ seconds }) => seconds))
        : Infinity;
    };
    const best = Math.min(...allBegins(pieces, cards.length).map(secondsOf), Infinity);
    const found = planCuts(request);
    assertEquals(found !== undefined, best < Infinity);
    if (found === undefined) continue;
    planned++;
    assertEquals(found.length, cards.length - 1);
    assert(secondsOf(found) <= 1.25 * best * (1 + 1e-9), `${secondsOf(found)} and ${best}`);
  }
  assert(planned > 20 && planned < 95, `${planned}`);
});

/** Every way to cut so many pieces for so many cards. */
function allBegins(pieces: number, cards: number, from = 1): number[][] {
  if (cards === 1) return [[]];
  return Array.from({ length: Math.max(0, pieces - from) }, (_, i) => from + i)
    .flatMap((begin) => allBegins(pieces, cards - 1, begin + 1).map((rest) => [begin, ...rest]));
}
