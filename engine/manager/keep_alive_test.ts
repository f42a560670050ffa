import { assertEquals } from "@std/assert";
import { parseKeepAlive } from "./keep_alive.ts";

Deno.test("times to stay are read as Ollama's clients write them, and nothing else is", () => {
  const cases: [unknown, number | undefined][] = [
    [300, 300_000],
    [0, 0],
    [0.5, 500],
    [-1, Infinity],
    ["300", 300_000],
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["1.5h", 5_400_000],
    ["250ms", 250],
    ["2m5s", 125_000],
    ["0", 0],
    ["0s", 0],
    ["-1", Infinity],
    ["-5m", Infinity],
    [" 5m ", 300_000],
    ["", undefined],
    ["m", undefined],
    ["5", 5000],
    ["5 m", undefined],
    ["5d", undefined],
    ["m5", undefined],
    ["1e3", undefined],
    ["forever", undefined],
    [NaN, undefined],
    [Infinity, undefined],
    [true, undefined],
    [{}, undefined],
    ["1".repeat(50), undefined],
  ];
  for (const [value, wanted] of cases) assertEquals(parseKeepAlive(value), wanted, String(value));
});
