import { assertEquals } from "@std/assert";
import { Home, m40, TINY } from "../fixtures/cli_program.ts";

Deno.test("m40 tokenize: a text of hundreds of thousands of tokens is written whole", async () => {
  await using home = await Home.make();
  const stdin = "\u{1f600}".repeat(60_000);
  const { code, stdout, stderr } = await m40(home, ["tokenize", TINY, "--no-special"], { stdin });
  assertEquals([code, stderr], [0, ""]);
  assertEquals(stdout.match(/"\\xf0"\n/g)?.length, 60_000);
});
