// Files that were cut up: what to do is said, wherever one of them is named.
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { M40Error } from "../errors.ts";
import { joinAdvice, piecesOf, wholeOf } from "./cut_pieces.ts";
import { readGguf } from "./reader.ts";
import { pull } from "../store/pull/mod.ts";
import { resolveModel } from "../store/mod.ts";
import { smallModel, withPulls } from "../../tests/fixtures/pull_fixture.ts";
import { content } from "../../tests/fixtures/pull_server.ts";

Deno.test("pieces are distinguished from files and parts by their names, and come in their order", () => {
  for (
    const name of [
      "x.gguf.part1of2",
      "x.gguf.part10of12",
      "x.gguf-split-a",
      "x.gguf.part-ab",
      "x.gguf.001",
      "X.GGUF.PART1OF2",
    ]
  ) {
    assertEquals(wholeOf(name)?.toLowerCase(), "x.gguf", name);
  }
  for (
    const name of [
      "x.gguf",
      "x-00001-of-00002.gguf",
      "x.gguf.json",
      "x.gguf.partial",
      "x.part1of2",
      ".gguf.001",
    ]
  ) {
    assertEquals(wholeOf(name), undefined, name);
  }
  const names = Array.from({ length: 12 }, (_, i) => `x.gguf.part${i + 1}of12`);
  assertEquals(piecesOf("x.gguf", [...names, "y.gguf.part1of12"].reverse()), names);
  // A dozen are not listed.
  assertEquals(joinAdvice("x.gguf", names).includes("part7of12"), false);
  assertMatch(joinAdvice("my x.gguf", ["my x.gguf.001", "my x.gguf.002"]), /> "my x\.gguf"$/);
});

Deno.test("pieces on a disk: reading one, or the whole that is not there, says how they are joined", () =>
  withPulls(async ({ folder }) => {
    const bytes = (await smallModel()).bytes;
    const whole = join(folder, "x.gguf");
    await Deno.writeFile(`${whole}.part1of2`, bytes.subarray(0, 100_000));
    await Deno.writeFile(`${whole}.part2of2`, bytes.subarray(100_000));
    const expected = new RegExp(
      `joined first, in this order: cat ${whole}.part1of2 ${whole}.part2of2 > ${whole}$`,
    );
    for (const path of [`${whole}.part1of2`, `${whole}.part2of2`, whole]) {
      assertMatch((await assertRejects(() => readGguf(path), M40Error)).message, expected, path);
      assertMatch((await assertRejects(() => pull(path), M40Error)).message, expected, path);
      if (path === whole) {
        assertMatch((await assertRejects(() => resolveModel(path), M40Error)).message, expected);
      }
    }
    // As it says.
    await Deno.writeFile(whole, bytes);
    assertEquals((await readGguf(whole)).fileBytes, bytes.length);
    assertEquals((await resolveModel(whole)).path, whole);
  }));

Deno.test("pieces in a repository: what is asked for and only there in pieces is named, with what to do", () =>
  withPulls(async ({ server }) => {
    const files = {
      "big.Q8_0.gguf.part1of2": content("a"),
      "big.Q8_0.gguf.part2of2": content("b"),
    };
    server.repositories.set("a/b", { files: { ...files, "big.Q4_K_M.gguf": await smallModel() } });
    const expected =
      /has no big\.Q8_0\.gguf as one file.* cat big\.Q8_0\.gguf\.part1of2 big\.Q8_0\.gguf\.part2of2 > big\.Q8_0\.gguf$/;
    for (const name of [":Q8_0", "/big.Q8_0.gguf", "/big.Q8_0.gguf.part1of2"]) {
      assertMatch(
        (await assertRejects(() => pull(`hf.co/a/b${name}`), M40Error)).message,
        expected,
        name,
      );
    }
    assertEquals((await pull("hf.co/a/b")).source, "hf.co/a/b:Q4_K_M");
    server.repositories.set("a/c", { files });
    assertMatch((await assertRejects(() => pull("hf.co/a/c"), M40Error)).message, expected);
  }));
