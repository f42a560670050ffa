import { assert, assertEquals, assertRejects } from "@std/assert";
import { KernelLibrary } from "../../engine/device/library.ts";
import { INBOX } from "../../engine/device/structs.ts";
import { M40Error } from "../../engine/errors.ts";
import { exchangeTime } from "../../engine/parallel/exchange_speed.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import {
  type ExchangingCards,
  PATHS,
  stepOf,
  withExchangingCards,
} from "../fixtures/exchanging_cards.ts";

// What cards exchange: few values and many, by fours, by twos and one by one, in place and from another buffer; and what comes
// of a card that does not come.

/** The value that stands in a row's column after a step. */
const valueOf = (step: number, row: number, column: number) => step * 1e6 + row * 1e4 + column;

for (
  const [what, bounds, rows] of [
    ["few values, by twos", [0, 6, 10], 3],
    ["one row of a large model's columns", [0, 2048, 4096], 1],
    ["many values, by fours", [0, 4096, 8192], 40],
    ["many values of three cards that have different parts", [0, 400, 4000, 5200], 60],
    ["an odd number of columns, one by one", [0, 7, 12, 33], 5],
    ["many values, one by one", [0, 2049, 4097], 50],
  ] as const
) {
  for (const inPlace of [true, false]) {
    for (const path of PATHS) {
      const way = path === "host" ? "through the host's memory" : "from card to card";
      const place = inPlace ? "in place" : "from another buffer";
      Deno.test(`${what}, ${place}, ${way}: each card has all of them, step after step`, async () => {
        await withExchangingCards(bounds, { rows, inPlace, path }, async (cards) => {
          for (let n = 1; n <= 4; n++) {
            // As many rows as the program takes, and fewer.
            await assertExchanged(cards, bounds, { n, rows, used: n === 3 ? 1 : rows, inPlace });
          }
        });
      });
    }
  }
}

async function assertExchanged(
  { programs, together }: ExchangingCards,
  bounds: readonly number[],
  { n, rows, used, inPlace }: { n: number; rows: number; used: number; inPlace: boolean },
): Promise<void> {
  const columns = bounds.at(-1)!;
  programs.forEach((program, card) => {
    const [begin, end] = [bounds[card], bounds[card + 1]];
    const width = inPlace ? columns : end - begin;
    const values = new Float32Array(rows * width).fill(-1);
    for (let row = 0; row < rows; row++) {
      for (let column = begin; column < end; column++) {
        values[row * width + (inPlace ? column : column - begin)] = valueOf(n, row, column);
      }
    }
    program.writeBuffer(0, values);
  });
  await together.step(({ program }) => program.step([stepOf(used)]));
  const wanted = Float32Array.from(
    { length: used * columns },
    (_, i) => valueOf(n, Math.floor(i / columns), i % columns),
  );
  for (const program of programs) {
    const got = program.readBuffer(inPlace ? 0 : 1, new Float32Array(used * columns));
    assertEquals(got, wanted);
  }
}

Deno.test("a program that exchanges computes nothing before it has been given the memory for it, nor with less than it wants", async () => {
  await withExchangingCards(
    [0, 4, 8],
    { rows: 2, inPlace: true },
    async ({ programs: [program], contexts: [context] }) => {
      const shared = context.createShared(program.exchanges.bytes);
      const memory = context.share(shared);
      shared.close();
      await assertRejects(
        () => program.step([stepOf(1)]),
        M40Error,
        "wanted m40_program_exchange first",
      );
      await assertRejects(
        () => program.exchanges.begin(memory.subarray(0, 64)),
        M40Error,
        `64 bytes for the program's exchanges: wanted ${program.exchanges.bytes}`,
      );
      await assertRejects(
        () => program.exchanges.begin(new Uint8Array(program.exchanges.bytes + 64)),
        M40Error,
        "memory",
      );
      context.freeHostMemory(memory);
    },
  );
});

Deno.test("once programs have let go of each other's memory they compute nothing that exchanges, and after a reset they do", async () => {
  for (const path of PATHS) {
    const options = { rows: 1, inPlace: true, path };
    await withExchangingCards([0, 2048, 4096], options, async (cards) => {
      const { programs, memory } = cards;
      const exchange = (n: number) =>
        assertExchanged(cards, [0, 2048, 4096], { n, rows: 1, used: 1, inPlace: true });
      await exchange(1);
      await programs[1].exchanges.end();
      await assertRejects(() => exchange(2), M40Error, "wanted m40_program_exchange first");
      await exchange(3);
      for (const program of programs) await memory.begin(program);
      await exchange(4);
    });
  }
});

Deno.test({
  ignore: BACKEND === "cpu",
  name:
    "inboxes that are not those of a program's cards are refused in words, and the earlier ones stay",
  fn: async () => {
    const options = { rows: 1, inPlace: true, path: "peers" } as const;
    await withExchangingCards([0, 2048, 4096], options, async (cards) => {
      const { programs: [first, second], contexts: [context] } = cards;
      const exchange = (n: number) =>
        assertExchanged(cards, [0, 2048, 4096], { n, rows: 1, used: 1, inPlace: true });
      await exchange(1);
      const shared = context.createShared(64);
      const memory = context.share(shared);
      shared.close();
      const inboxes = [first.exchanges.inbox(), second.exchanges.inbox()];
      const changed = (field: "n_bytes" | "process" | "handle", value: bigint) => {
        const inbox = inboxes[1].slice();
        new DataView(inbox.buffer).setBigUint64(INBOX.fields[field].offset, value, true);
        return [inboxes[0], inbox];
      };
      for (
        const [wrong, message] of [
          [[inboxes[0]], "1 inboxes: wanted 2, one of each card, or none"],
          [changed("n_bytes", 64n), "the inbox of card 1 has 64 bytes: wanted"],
          // Of no process that there is.
          [changed("process", 1n << 40n), "memory of another process's device"],
        ] as const
      ) {
        await assertRejects(() => first.exchanges.begin(memory, wrong), M40Error, message);
        await exchange(2);
      }
      context.freeHostMemory(memory);
    });
  },
});

Deno.test("a card with a refused step leaves no other one waiting, and what comes next is computed", async () => {
  await withExchangingCards(
    [0, 2048, 4096],
    { rows: 2, inPlace: true },
    async ({ together, programs }) => {
      const values = () =>
        programs.forEach((program, card) => {
          const row = new Float32Array(4096);
          row.fill(1 + card, card * 2048, (card + 1) * 2048);
          program.writeBuffer(0, row);
        });
      for (let i = 0; i < 3; i++) {
        const begun = performance.now();
        await assertRejects(
          () =>
            together.step(({ name, program }) =>
              // More rows than the program takes.
              program.step([stepOf(name === "card 1" ? 3 : 2)])
            ),
          M40Error,
          "card 1: a step of 3 tokens",
        );
        // Far from the 20 seconds after which it gives up by itself.
        assert(performance.now() - begun < 10_000);
        values();
        await together.step(({ program }) => program.step([stepOf(1)]));
        for (const program of programs) {
          const row = program.readBuffer(0, new Float32Array(4096));
          assertEquals([row[0], row[2047], row[2048], row[4095]], [1, 1, 2, 2]);
        }
      }
    },
  );
});

Deno.test("the time of an exchange is measured, again and again, on cards that compute something else afterwards", async () => {
  const library = KernelLibrary.find(BACKEND);
  const contexts = [0, 1].map(() => library.createContext({ threads: 1 }));
  try {
    const cards = contexts.map((context, i) => ({ name: `card ${i}`, context }));
    for (const size of [{}, { rows: 8, columns: 1000 }]) {
      const seconds = await exchangeTime(cards, size);
      assert(seconds > 0 && seconds < 1, `${seconds} s`);
    }
  } finally {
    contexts.forEach((context) => context.close());
    await library.close();
  }
});
