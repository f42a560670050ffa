// The error of a request that finds the queue full.
import { assertEquals, assertThrows } from "@std/assert";
import { M40Error } from "../../errors.ts";
import { assertQueueRoom } from "./room.ts";

Deno.test("a full queue says how many wait, those that run next left out, and how many may", () => {
  const maxWaiting = 64;
  const maxRunning = 4;
  for (const running of [0, 1, 4, 5]) {
    const waiting = maxWaiting + Math.max(0, maxRunning - running);
    const limits = { maxRunning, maxWaiting, running, waiting };
    const { code, message } = assertThrows(() => assertQueueRoom(1, limits), M40Error);
    assertEquals(code, "queue_full");
    assertEquals(message, "64 sequences wait already, and 64 may at most; try again later");
    assertQueueRoom(1, { ...limits, waiting: waiting - 1 });
  }
  const few = { maxRunning, maxWaiting, running: 4, waiting: 60 };
  const { message } = assertThrows(() => assertQueueRoom(5, few), M40Error);
  assertEquals(
    message,
    "60 sequences wait already, and 64 may at most; this request has 5; try again later",
  );
});
