import { assertEquals } from "@std/assert";
import { formatTime, TransferRate } from "../cli/transfer_rate.ts";

Deno.test("the rate of a transfer is that of the last seconds, and what is left follows from it", () => {
  let time = 0;
  const rate = new TransferRate(() => time);
  const mib = 2 ** 20;
  assertEquals(rate.update(100 * mib, 1000 * mib), "", "what an earlier try had is no rate");
  time = 400;
  assertEquals(rate.update(101 * mib, 1000 * mib), "", "too early to tell");
  time = 1000;
  assertEquals(rate.update(110 * mib, 1000 * mib), "10.0 MiB/s, 89 s left");
  // It becomes slower, and ten seconds later nothing is left of how fast it was.
  for (time = 2000; time <= 12_000; time += 1000) {
    rate.update((108 + time / 1000) * mib, 1000 * mib);
  }
  assertEquals(rate.update(121 * mib, 1000 * mib), "1.0 MiB/s, 15 min left");
  time = 30_000;
  assertEquals(rate.update(121 * mib).endsWith("/s"), true);
  time = 60_000;
  assertEquals(rate.update(121 * mib, 1000 * mib), "0 B/s", "what stands has no end");
  assertEquals(rate.update(0, 1000 * mib), "", "begun anew");
});

Deno.test("times are as exact as one waits for them", () => {
  assertEquals([0, 59.6, 99, 100, 3599, 7300].map(formatTime), [
    "1 s",
    "60 s",
    "99 s",
    "2 min",
    "60 min",
    "2 h",
  ]);
});
