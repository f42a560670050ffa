import { assertAlmostEquals, assertEquals, assertLess, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { negativeLogLikelihood } from "../../cli/bench/perplexity.ts";
import { GOLDEN, Home, m40 as m40Process, TINY } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";

for (const name of ["llama", "llama3-tied-ropescaled"]) {
  Deno.test(`m40 eval --tokens: ${name} gives another implementation's logits and continuation`, async () => {
    await using home = await Home.make();
    const { tokens, greedy, logits } = JSON.parse(
      await Deno.readTextFile(join(GOLDEN, `${name}.json`)),
    ) as { tokens: number[]; greedy: number[]; logits: number[][] };
    const all = [...tokens, ...greedy];
    const { code, stdout, stderr } = await m40(home, [
      "eval",
      join(GOLDEN, `${name}.gguf`),
      "--kv-type=f32",
      "--json",
      `--tokens=${all}`,
    ]);
    assertEquals([code, stderr], [0, ""]);
    const got: number[][] = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    assertEquals(got.length, all.length);
    const [difference, size] = logits.reduce(
      ([difference, size], row, position) => [
        row.reduce((sum, wanted, i) => sum + (got[position][i] - wanted) ** 2, difference),
        row.reduce((sum, wanted) => sum + wanted ** 2, size),
      ],
      [0, 0],
    );
    assertLess(Math.sqrt(difference / size), 1e-5);
    const likeliest = got.slice(tokens.length - 1, -1).map((row) => row.indexOf(Math.max(...row)));
    assertEquals(likeliest, greedy);
    for (const value of got.flat()) assertEquals(Number.isFinite(value), true);
  });
}

Deno.test("m40 eval: tokens outside the vocabulary or the context, and unclear wishes, are refused", async () => {
  await using home = await Home.make();
  for (
    const [args, code, wanted] of [
      [["--tokens", "1,352"], 2, /got token 352; wanted ids from 0 to 351/],
      [["--tokens", Array(200).fill(5).join(",")], 1, /got 200 tokens; the context has 128/],
      [[], 2, /wanted either --tokens IDS or --file PATH/],
      [["--tokens", "1", "--file", "x"], 2, /wanted either/],
      [["--file", "nowhere.txt"], 1, /nowhere\.txt: there is no such file/],
      [["--ctx", "129", "--tokens", "1"], 2, /129 tokens was asked for.*trained for 128/],
    ] as const
  ) {
    const ended = await m40(home, ["eval", TINY, ...args]);
    assertEquals([ended.code, ended.stdout], [code, ""], args.join(" "));
    assertMatch(ended.stderr, wanted);
  }
});

Deno.test("m40 eval --file: the perplexity is that of the logits of the scored tokens", async () => {
  await using home = await Home.make();
  const path = join(home.path, "text.txt");
  await Deno.writeTextFile(path, "Once upon a time there was a tiny model. ".repeat(3));
  const chunk = 32;
  const { code, stdout, stderr } = await m40(
    home,
    ["eval", TINY, "--kv-type=f32", "--file", path, "--ctx", `${chunk}`, "--json"],
  );
  assertEquals([code, stderr], [0, ""]);
  const result = JSON.parse(stdout);

  const first = await m40(home, ["eval", TINY, "--file", path, "--ctx=32", "--chunks=1", "--json"]);
  assertEquals([result.chunks > 1, JSON.parse(first.stdout).chunks], [true, 1]);

  const ids = (await m40Process(home, ["tokenize", TINY, "--ids", "--no-special"], {
    stdin: await Deno.readFile(path),
  })).stdout.trim().split(",").map(Number);
  assertEquals(result.tokens, ids.length);
  const losses: number[] = [];
  for (let start = 0; start + chunk <= ids.length; start += chunk) {
    const part = [1, ...ids.slice(start + 1, start + chunk)];
    const lines = (await m40(home, ["eval", TINY, "--kv-type=f32", `--tokens=${part}`])).stdout;
    const logits: number[][] = lines.trim().split("\n").map((line) => JSON.parse(line));
    for (let i = chunk / 2; i + 1 < chunk; i++) {
      const sum = logits[i].reduce((sum, logit) => sum + Math.exp(logit), 0);
      losses.push(Math.log(sum) - logits[i][part[i + 1]]);
    }
  }
  const mean = losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
  const variance = losses.reduce((sum, loss) => sum + (loss - mean) ** 2, 0) / (losses.length - 1);
  assertEquals(result.scored_tokens, losses.length);
  assertAlmostEquals(result.perplexity, Math.exp(mean), 1e-3);
  const error = Math.exp(mean) * Math.sqrt(variance / losses.length);
  assertAlmostEquals(result.standard_error, error, 1e-3);
});

Deno.test("m40 eval --file: a text shorter than a chunk is scored, an empty one refused", async () => {
  await using home = await Home.make();
  const path = join(home.path, "text.txt");
  await Deno.writeTextFile(path, "abc def");
  const short = await m40(home, ["eval", TINY, "--file", path]);
  assertEquals(short.code, 0);
  assertMatch(
    short.stdout,
    /^perplexity \d+\.\d+ ± \d+\.\d+ \((\d+) of \1 tokens scored, 1 chunk of \1\)\n$/,
  );
  await Deno.writeTextFile(path, "");
  assertMatch(
    (await m40(home, ["eval", TINY, "--file", path])).stderr,
    /wanted a text of at least 2/,
  );
});

Deno.test("negativeLogLikelihood: large logits do not overflow", () => {
  assertAlmostEquals(negativeLogLikelihood(new Float32Array([1000, 1000]), 0), Math.log(2), 1e-9);
  assertAlmostEquals(negativeLogLikelihood(new Float32Array([-1000, 0]), 0), 1000, 1e-9);
});
