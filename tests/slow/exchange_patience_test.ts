import { assert, assertEquals, assertRejects } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import { stepOf, withExchangingCards } from "../fixtures/exchanging_cards.ts";

Deno.test("a card waits 20 seconds for one that does not come and then says so; started again, both go on", async () => {
  await withExchangingCards([0, 2048, 4096], { rows: 2, inPlace: true }, async (cards) => {
    const { programs, memory, together } = cards;
    for (const program of programs) await memory.begin(program);
    const start = performance.now();
    await assertRejects(
      () => programs[1].step([stepOf(1)]),
      M40Error,
      "card 0 has not come to an exchange within 20 seconds",
    );
    const seconds = (performance.now() - start) / 1000;
    assert(seconds > 19 && seconds < 40, `${seconds} s`);
    // The word that it has left ends the others' waiting.
    await assertRejects(() => programs[0].step([stepOf(1)]), M40Error, "given up");
    programs.forEach((program, card) => {
      const row = new Float32Array(4096).fill(1 + card, card * 2048, (card + 1) * 2048);
      program.writeBuffer(0, row);
    });
    await together.step(({ program }) => program.step([stepOf(1)]));
    for (const program of programs) {
      const row = program.readBuffer(0, new Float32Array(4096));
      assertEquals([row[0], row[2047], row[2048], row[4095]], [1, 1, 2, 2]);
    }
  });
});
