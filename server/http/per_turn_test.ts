import { assertEquals } from "@std/assert";
import { PerTurn } from "./per_turn.ts";

Deno.test("many that begin at once are spread over turns of the event loop, in their order", async () => {
  const perTurn = new PerTurn(16);
  const order: number[] = [];
  const begunBy: number[] = [];
  let turn = 0;
  // Set up again each time: an interval that is late would not come once for each turn.
  const next = () => {
    turn++;
    timer = setTimeout(next, 0);
  };
  let timer = setTimeout(next, 0);
  await Promise.all(Array.from({ length: 100 }, async (_, i) => {
    const wait = perTurn.take();
    if (wait !== undefined) await wait;
    order.push(i);
    begunBy[turn] = (begunBy[turn] ?? 0) + 1;
  }));
  clearTimeout(timer);
  assertEquals(order, Array.from({ length: 100 }, (_, i) => i));
  assertEquals(begunBy.filter((count) => count > 0), [16, 16, 16, 16, 16, 16, 4]);
});

Deno.test("who comes while others wait goes on behind them", async () => {
  const perTurn = new PerTurn(1);
  assertEquals(perTurn.take(), undefined);
  const order: string[] = [];
  const second = perTurn.take()?.then(() => order.push("second"));
  const third = perTurn.take()?.then(() => order.push("third"));
  await second;
  const fourth = perTurn.take()?.then(() => order.push("fourth"));
  await Promise.all([third, fourth]);
  assertEquals(order, ["second", "third", "fourth"]);
});
