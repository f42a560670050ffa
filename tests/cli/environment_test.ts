// The program in environments that lack something: a home, a terminal that can draw, a disk with room.
import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  hasScript,
  Home,
  onTerminal,
  PROMPT,
  ROOT,
  startServe,
  TINY,
} from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";

/** An environment without a home, as services and containers have it. */
const HOMELESS = {
  HOME: "",
  M40_MODELS: "",
  XDG_DATA_HOME: "",
  XDG_CACHE_HOME: "",
  XDG_STATE_HOME: "",
};

Deno.test("without HOME m40 list has the built-in model, and a missing model's error says what to set", async () => {
  await using home = await Home.make();
  const listed = await m40(home, ["list", "--json"], { env: HOMELESS });
  assertEquals(listed.code, 0);
  assertEquals(JSON.parse(listed.stdout).map(({ name }: { name: string }) => name), ["demo"]);
  const { stdout, stderr } = await m40(home, ["list"], { env: HOMELESS });
  assertMatch(stdout, /\ndemo +[\d.]+ MiB/);
  assertMatch(stderr, /^There is no folder for models.*M40_MODELS/m);
  const missing = await m40(home, ["show", "nope"], { env: HOMELESS });
  assertEquals(missing.code, 1);
  assertMatch(missing.stderr, /There is no model "nope"\. There is: demo\. .*named by its path/);
  const typed = await m40(home, ["run", TINY, "hello", "--max-tokens", "3"], { env: HOMELESS });
  assertEquals([typed.code, typed.stderr], [0, ""]);
});

Deno.test("without HOME m40 serve --model demo answers", async () => {
  await using home = await Home.make();
  const { child, output, errors, url } = await startServe(
    home,
    ["--model", "demo", "--port", "0"],
    HOMELESS,
  );
  const response = await fetch(`${url}/v1/models`);
  assertEquals((await response.json()).data[0].id, "demo");
  child.kill("SIGTERM");
  await output.rest();
  assertEquals([(await child.status).code, await errors], [0, ""]);
});

Deno.test({
  name:
    "without HOME m40 run on a terminal answers one prompt after the other, and keeps no history " +
    "(ignored where `script` is not)",
  ignore: !hasScript,
  async fn() {
    await using home = await Home.make();
    const args = ["run", TINY, "--device", "cpu", "--max-tokens", "3", "--verbose"];
    const { child, writer, type, screen } = onTerminal(home, args, HOMELESS);
    for (const prompt of ["hello", "world"]) {
      await screen.until(PROMPT);
      await type(`${prompt}\r`);
      await screen.until(/ tokens of answer/);
    }
    await screen.until(PROMPT);
    await type("\x04");
    await screen.rest();
    assertEquals((await child.status).code, 0);
    await writer.close().catch(() => {});
    assertEquals(Array.from(Deno.readDirSync(home.path), ({ name }) => name), ["models"]);
  },
});

Deno.test({
  name: "on a dumb terminal progress comes in lines, and nothing is overwritten or coloured " +
    "(ignored where `script` is not)",
  ignore: !hasScript,
  async fn() {
    await using home = await Home.make();
    const dumb = { TERM: "dumb" };
    const args = ["run", TINY, "--device", "cpu", "--temperature", "0"];
    const { child, writer, type, screen } = onTerminal(home, args, dumb);
    let seen = "";
    const until = async (pattern: RegExp) => {
      seen += (await screen.until(pattern)).input;
    };
    await until(/loading llama +100%\r\n/);
    for (const prompt of ["hello world", "and again"]) {
      await until(/\n> $/);
      await type(`${prompt}\n`);
      await until(/\n[^>]{5}/);
    }
    await until(/\n> $/);
    // Ctrl-C at the prompt leaves.
    await type("\x03");
    seen += await screen.rest();
    assertEquals((await child.status).code, 0);
    await writer.close().catch(() => {});
    assertPlain(seen);

    const text = `${home.path}/text`;
    await Deno.writeTextFile(text, "Once upon a time there was a house on a hill. ".repeat(20));
    for (
      const line of [["eval", TINY, "--device", "cpu", "--ctx", "32", "--file", text], ["list"], [
        "run",
        "x",
      ]]
    ) {
      const { child, writer, screen } = onTerminal(home, line, dumb);
      assertPlain(await screen.rest());
      await child.status;
      await writer.close().catch(() => {});
    }
  },
});

/** Checks that there is nothing in a text for which a terminal has to be able to do anything. */
function assertPlain(text: string): void {
  assert(text.length > 0);
  const lines = text.replaceAll("\r\n", "\n").replaceAll("^C", "").replaceAll("\b \b", "");
  // deno-lint-ignore no-control-regex
  assertEquals(/[\x00-\x09\x0b-\x1f\x7f]/.exec(lines), null, JSON.stringify(lines));
}

Deno.test("a key that no request could bring is refused, by serve and by ps", async () => {
  await using home = await Home.make();
  const commands = [["serve", "--model", TINY, "--port", "0"], ["ps"]];
  for (const args of commands) {
    for (const key of [" ", "\t \n", "a\nb", "a\x7fb"]) {
      const wanted = /^error: (M40_API_KEY|--api-key) has (nothing but spaces|a control character)/;
      for (
        const [more, env] of [[[], { M40_API_KEY: key }], [["--api-key", key], {}]] as const
      ) {
        const { code, stdout, stderr } = await m40(home, [...args, ...more], { env });
        assertEquals([code, stdout], [2, ""]);
        assertMatch(stderr, wanted);
      }
    }
  }
  // An empty variable is none.
  const { stderr } = await m40(home, ["ps", "--port", "1"], { env: { M40_API_KEY: "" } });
  assertMatch(stderr, /No server answers/);
});

Deno.test("errors of the system are said in plain sentences, not as faults of the program", async () => {
  await using home = await Home.make();
  const file = `${home.path}/file`;
  await Deno.writeTextFile(file, "x");
  const cases: [string[], Record<string, string>, RegExp][] = [
    [["list"], { M40_MODELS: file }, /models directory .*file cannot be read: a part of the path/],
    [["eval", TINY, "--file", home.path], {}, /cannot be read: it is a directory/],
    [["eval", TINY, "--file", `${file}/below`], {}, /cannot be read: a part of the path is not/],
    [["eval", TINY, "--file", `${home.path}/none`], {}, /none: there is no such file/],
  ];
  for (const [args, env, wanted] of cases) {
    const { code, stdout, stderr } = await m40(home, args, { env });
    assertEquals([code, stdout], [1, ""]);
    assertMatch(stderr, wanted);
    assert(!/should not happen|os error/.test(stderr), stderr);
    assertEquals(stderr.trimEnd().split("\n").length, 1, stderr);
  }
  const line = `exec ${Deno.execPath()} run -A --no-check ${ROOT}/main.ts tokenize ${TINY} < /`;
  const { stderr } = await new Deno.Command("sh", {
    args: ["-c", line],
    env: home.env,
    clearEnv: true,
  })
    .output();
  assertEquals(
    new TextDecoder().decode(stderr),
    "error: standard input cannot be read: it is a directory\n",
  );
});
