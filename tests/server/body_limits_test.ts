import { assertEquals, assertMatch } from "@std/assert";
import { readError, startServer } from "../fixtures/server_fixture.ts";

// A body is read in one piece, and everybody waits for that: what would take long is refused before.

Deno.test("a body of too many values, members or numbers is refused with what is too much; a large one is read", async () => {
  await using server = await startServer();
  const list = (count: number, item: string) => `[${new Array(count).fill(item).join()}]`;
  const keys = (count: number, prefix = "k") =>
    `{${Array.from({ length: count }, (_, i) => `"${prefix}${count - i}":1`).join()}}`;
  const cases: [string, RegExp][] = [
    [list(1_200_000, "1"), /more than 1100000 values\. Send less/],
    [keys(70_000), /more than 65536 members of objects/],
    [list(70_000, '{"a":1}'), /more than 65536 members of objects/],
    [keys(20_000, ""), /more than 16384 numbers that a double has not all digits of, and keys/],
    [list(20_000, "12345678901234567890"), /more than 16384 numbers/],
    [
      `[${list(300_000, "1")},12345678901234567890]`,
      /more than 200000 values next to such a number/,
    ],
    [`${"[".repeat(20_000)}1${"]".repeat(20_000)}`, /nested more than 1000 deep/],
  ];
  for (const [value, message] of cases) {
    const body = `{"prompt":"a","max_tokens":1,"x":${value}}`;
    const error = await readError(await server.post("/v1/completions", body), 400);
    assertMatch(error.message, message);
  }
  for (
    const value of [list(1_000_000, "1"), keys(65_000), keys(16_000, ""), list(100_000, "0.1")]
  ) {
    const body = `{"prompt":"a","max_tokens":1,"x":${value}}`;
    const response = await server.post("/v1/completions", body);
    assertEquals(response.status, 200, await response.text());
  }
});
