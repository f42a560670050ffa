import { assertEquals } from "@std/assert";
import { shareTurn } from "../server/http/turn_share.ts";

Deno.test("connections that move much give others a turn of the event loop, small ones never wait", async () => {
  await shareTurn(2 ** 20);
  assertEquals(shareTurn(100), undefined);
  let others = 0;
  const timer = setInterval(() => others++, 0);
  for (let i = 0; i < 64; i++) await shareTurn(16 * 1024);
  clearInterval(timer);
  // 1 MiB is four turns.
  assertEquals(others >= 3, true, `${others}`);
});
