import { assertEquals } from "@std/assert";
import { TurnShare } from "./turn_share.ts";

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
