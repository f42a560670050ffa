import { assertEquals } from "@std/assert";
import { PerTurn, TurnShare } from "./turn_share.ts";

const MIB = 2 ** 20;

Deno.test("connections that move much give others a turn of the event loop, one that moves little never waits", async () => {
  const large = new TurnShare();
  await large.take(MIB);
  let others = 0;
  const timer = setInterval(() => others++, 0);
  const moving = Array.from({ length: 64 }, async () => {
    for (let i = 0; i < 16; i++) await large.take(64 * 1024);
  });
  assertEquals(new TurnShare().take(100), undefined);
  await Promise.all(moving);
  clearInterval(timer);
  assertEquals(others >= 3, true, `${others}`);
});

Deno.test("connections that wait go on in their order, some in each turn", async () => {
  const order: number[] = [];
  let turns = 0;
  const next = () => {
    turns++;
    timer = setTimeout(next, 0);
  };
  let timer = setTimeout(next, 0);
  await Promise.all(Array.from({ length: 64 }, async (_, i) => {
    await new TurnShare().take(MIB);
    order.push(i);
  }));
  clearTimeout(timer);
  assertEquals(order, Array.from({ length: 64 }, (_, i) => i));
  assertEquals(turns >= 6, true, `${turns}`);
});

Deno.test("a stream never waits while many move all they can, however much it has moved in all", async () => {
  const stream = new TurnShare();
  let isOver = false;
  const moving = Promise.all(Array.from({ length: 64 }, async () => {
    const heavy = new TurnShare();
    for (let i = 0; i < 128; i++) await heavy.take(MIB);
  })).then(() => isOver = true);
  let waits = 0;
  let streamed = 0;
  while (!isOver) {
    // An event for each turn.
    if (stream.take(512) !== undefined) waits++;
    streamed += 512;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await moving;
  assertEquals(streamed > 128 * 1024, true, `${streamed}`);
  assertEquals(waits, 0);
});

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
