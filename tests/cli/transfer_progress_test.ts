import { assertEquals } from "@std/assert";
import { formatDuration } from "../../cli/terminal/format.ts";
import {
  describeTransfer,
  TransferProgress,
  TransferRate,
} from "../../cli/terminal/transfer_progress.ts";

const MIB = 2 ** 20;

Deno.test("progress: a time is shown in its two largest units", () => {
  const shown = [0, 0.2, 59, 60, 61.5, 3600, 7850, 90000, 1e9, NaN, Infinity].map(formatDuration);
  assertEquals(shown, [
    ...["0 s", "1 s", "59 s", "1 min", "1 min 2 s", "1 h", "2 h 10 min", "1 d 1 h"],
    ...["more than 100 d", "more than 100 d", "more than 100 d"],
  ]);
});

Deno.test("progress: the rate is that of the last seconds, and of nothing that was there before", () => {
  const rate = new TransferRate();
  rate.add(0, 500 * MIB);
  rate.add(500, 505 * MIB);
  assertEquals(rate.bytesPerSecond, undefined, "too early to say");
  for (let ms = 1000; ms <= 20_000; ms += 10) rate.add(ms, 500 * MIB + ms * 1000);
  assertEquals(rate.bytesPerSecond, 1e6);
  for (let ms = 20_010; ms <= 40_000; ms += 10) rate.add(ms, 520 * MIB + (ms - 20_000) * 3000);
  assertEquals(Math.round(rate.bytesPerSecond! / 1e4), 300);
  rate.add(40_100, 0);
  assertEquals(rate.bytesPerSecond, undefined, "started again");
});

Deno.test("progress: what is known is shown, and no more", () => {
  assertEquals(describeTransfer(MIB, undefined, undefined), "1.0 MiB");
  assertEquals(describeTransfer(MIB, 4 * MIB, MIB), "1.0 MiB of 4.0 MiB, 1.0 MiB/s, 3 s left");
  assertEquals(describeTransfer(MIB, 4 * MIB, 0), "1.0 MiB of 4.0 MiB, 0 B/s");
  assertEquals(describeTransfer(4 * MIB, 4 * MIB, MIB), "4.0 MiB of 4.0 MiB, 1.0 MiB/s");
  assertEquals(
    describeTransfer(MIB, 4 * MIB, MIB, "503\x1b[2J"),
    "1.0 MiB of 4.0 MiB, 1.0 MiB/s, 503\\x1b[2J",
  );
});

Deno.test("progress: without a terminal there is a line every few seconds, and for what is new", () => {
  const lines: string[] = [];
  let now = 0;
  const progress = new TransferProgress("mistral", (text) => lines.push(text), () => now);
  for (; now <= 12_000; now += 100) progress.update(now * 1000, 100e6);
  progress.update(12e6, 100e6, "503; next try in 4 s");
  now += 200;
  progress.update(12e6, 100e6, "503; next try in 4 s");
  assertEquals(lines, [
    "mistral: 4.8 MiB of 95.4 MiB, 976.6 KiB/s, 1 min 35 s left (5%)\n",
    "mistral: 9.5 MiB of 95.4 MiB, 976.6 KiB/s, 1 min 30 s left (10%)\n",
    "mistral: 11.4 MiB of 95.4 MiB, 964.4 KiB/s, 503; next try in 4 s (12%)\n",
  ]);
});
