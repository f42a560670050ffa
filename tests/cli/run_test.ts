import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import {
  hasScript,
  Home,
  m40 as m40Process,
  onTerminal,
  PROMPT,
  startM40,
  TINY,
  Watched,
} from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";

const sampled = ["--max-tokens", "40"];
/** A prompt that the tiny model continues without end, at temperature 0. */
const ENDLESS = ["--temperature", "0", "hello world"];

Deno.test("m40 run: the same seed samples the same text, another seed another", async () => {
  await using home = await Home.make();
  const [one, again, other] = await Promise.all(
    ["5", "5", "6"].map((seed) => m40(home, ["run", TINY, ...sampled, "--seed", seed, "A tale"])),
  );
  assertEquals([one.code, one.stderr], [0, ""]);
  assertEquals(one, again);
  assertNotEquals(one.stdout, other.stdout);
});

Deno.test("m40 run: seeds have 64 bits, and each of them counts", async () => {
  await using home = await Home.make();
  const seeds = ["9007199254740992", "9007199254740993", "18446744073709551615", "-1"];
  const [one, other, last, minusOne] = await Promise.all(
    seeds.map((seed) => m40(home, ["run", TINY, ...sampled, "--seed", seed, "A tale"])),
  );
  assertEquals([one.code, one.stderr], [0, ""]);
  assertNotEquals(one.stdout, other.stdout);
  assertEquals(minusOne, last);
  const { code, stderr } = await m40(home, ["run", TINY, "--seed", "18446744073709551617", "x"]);
  assertEquals(code, 2);
  assertMatch(stderr, /wanted a whole number from -2\^64 to 2\^64/);
});

Deno.test("m40 run: a prompt from a pipe is the one from the arguments; the line feed at its end is not part of it", async () => {
  await using home = await Home.make();
  const args = ["run", TINY, ...sampled, "--temperature", "0"];
  const typed = await m40(home, [...args, "hello", "world"]);
  const piped = await m40Process(home, args, { stdin: "hello world\n" });
  assertEquals(typed.stdout.length > 0, true);
  assertEquals(piped, typed);
  const empty = await m40Process(home, args, { stdin: "\n" });
  assertEquals([empty.code, empty.stdout], [2, ""]);
  assertMatch(empty.stderr, /the prompt is empty/);
});

Deno.test("m40 run: --stop ends the answer before its text, --max-tokens after so many", async () => {
  await using home = await Home.make();
  const args = ["run", TINY, "--max-tokens", "60", ...ENDLESS];
  const { stdout } = await m40(home, args);
  const stop = stdout.slice(25, 28);
  const stopped = await m40(home, [...args, "--stop", "never there", "--stop", stop, "--verbose"]);
  assertEquals(stopped.stdout, stdout.slice(0, stdout.indexOf(stop)));
  assertMatch(stopped.stderr, /^\d+ tokens of prompt, .* tokens of answer/);
  const short = await m40(home, ["run", TINY, "--max-tokens", "3", "--verbose", ...ENDLESS]);
  assertMatch(short.stderr, /; 3 tokens of answer/);
  assertEquals(stdout.startsWith(short.stdout), true);
});

Deno.test("m40 run: a prompt longer than the context is refused with both numbers", async () => {
  await using home = await Home.make();
  const { code, stderr } = await m40(home, ["run", TINY, "--ctx", "32", "word ".repeat(100)]);
  assertEquals(code, 1);
  assertMatch(stderr, /the prompt has \d{3} tokens; the context has 32.*--ctx, up to 128/);
  const whole = await m40(home, ["run", TINY, "word ".repeat(100)]);
  assertMatch(whole.stderr, /the context has 128.*trained for no more\.$/m);
});

Deno.test("m40 run: a reader that leaves ends the program quietly", async () => {
  await using home = await Home.make();
  const path = await home.longModel();
  const child = startM40(home, ["run", path, ...ENDLESS]);
  await child.stdin.close();
  const reader = child.stdout.getReader();
  await reader.read();
  await reader.cancel();
  const [{ code }, stderr] = await Promise.all([child.status, new Response(child.stderr).text()]);
  assertEquals([code, stderr], [0, ""]);
});

Deno.test("m40 run: Ctrl-C stops the answer, with the exit code of an interrupted program", async () => {
  await using home = await Home.make();
  const path = await home.longModel();
  const child = startM40(home, ["run", path, ...ENDLESS]);
  await child.stdin.close();
  const output = new Watched(child.stdout);
  await output.until(/I{5}/);
  child.kill("SIGINT");
  await output.rest();
  const [{ code }, stderr] = await Promise.all([child.status, new Response(child.stderr).text()]);
  assertEquals([code, stderr], [130, ""]);
});

Deno.test({
  name:
    "m40 run on a terminal: prompts are answered, Ctrl-C stops an answer and at the prompt leaves, " +
    "the history is kept for its owner alone (ignored where `script` is not)",
  ignore: !hasScript,
  async fn() {
    await using home = await Home.make();
    const path = await home.longModel();
    const { child, writer, type, screen } = onTerminal(home, ["run", path, "--temperature", "0"]);
    await screen.until(PROMPT);
    await type("hello world\r");
    await screen.until(/I{5}/);
    await type("\x03");
    await screen.until(PROMPT);
    await type("\x1b[A");
    await screen.until(/hello world/);
    await type("\r");
    await screen.until(/I{5}/);
    await type("\x03");
    await screen.until(PROMPT);
    await type("\x03");
    await screen.rest();
    assertEquals((await child.status).code, 0);
    await writer.close().catch(() => {});
    assertEquals(await Deno.readTextFile(home.history), "hello world\n");
    assertEquals((await Deno.stat(home.history)).mode! & 0o777, 0o600);
  },
});

Deno.test({
  name: "m40 run on a terminal: a prompt that is too long does not end the session, Ctrl-D does " +
    "(ignored where `script` is not)",
  ignore: !hasScript,
  async fn() {
    await using home = await Home.make();
    const { child, writer, type, screen } = onTerminal(home, ["run", TINY, "--ctx", "16"]);
    await screen.until(PROMPT);
    await type("one two three four five six seven\r");
    await screen.until(/the prompt has \d+ tokens; the context has 16/);
    await screen.until(PROMPT);
    await type("\x04");
    await screen.rest();
    assertEquals((await child.status).code, 0);
    await writer.close().catch(() => {});
  },
});

Deno.test(
  "help on a terminal is coloured, unless NO_COLOR is set (ignored where `script` is not)",
  { ignore: !hasScript },
  async () => {
    await using home = await Home.make();
    for (const [env, coloured] of [[{ NO_COLOR: "1" }, false], [{}, true]] as const) {
      const { child, writer, screen } = onTerminal(home, ["--help"], env);
      assertEquals((await screen.rest()).includes("\x1b[1m"), coloured);
      await child.status;
      await writer.close().catch(() => {});
    }
  },
);
