import { assertEquals } from "@std/assert";
import { StallWatch } from "./stall_watch.ts";

Deno.test("a connection is given up when nothing arrives, and not while the process itself stands still", async () => {
  using watch = new StallWatch(100, new AbortController().signal);
  const givenUp = new Promise((resolve) => watch.signal.addEventListener("abort", resolve));
  for (let i = 0; i < 3; i++) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    // Timers that are due come first.
    await new Promise((resolve) => setTimeout(resolve));
    assertEquals(watch.stalled, false);
  }
  await givenUp;
  assertEquals(watch.stalled, true);
});
