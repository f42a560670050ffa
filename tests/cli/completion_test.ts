// What shells read to complete command lines, tried in the shells themselves.
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { COMMANDS } from "../../cli/commands/mod.ts";
import { SHELLS } from "../../cli/commands/completion.ts";
import { describeCommands } from "../../cli/completion/described.ts";
import { has, linesInBash, linesInFish, linesInZsh } from "../fixtures/completing_shells.ts";
import { hasScript, Home, m40, TINY } from "../fixtures/cli_program.ts";

/**
 * Names that a shell would take for something else, were they expanded; a store has none of them, scripts bear them.
 */
const HOSTILE = ["two words", "$(touch expanded)", "a'b", "x;y"];

const commands = await describeCommands(COMMANDS);

/** A folder with each shell's script, a store's names as the program writes them, and a file and a folder. */
async function prepared(home: Home): Promise<string> {
  const folder = join(home.path, "work");
  await Deno.mkdir(join(folder, "some-folder"), { recursive: true });
  await Deno.writeTextFile(join(folder, "some-file"), "");
  await Deno.copyFile(TINY, join(home.models, "mine.gguf"));
  const { code, stdout } = await m40(home, ["completion", "models"]);
  assertEquals([code, stdout], [0, "demo\nmine\n"]);
  await Deno.writeTextFile(
    join(folder, "names"),
    stdout + HOSTILE.map((name) => `${name}\n`).join(""),
  );
  for (const [shell, script] of SHELLS) {
    await Deno.writeTextFile(join(folder, `script.${shell}`), script(commands));
  }
  return folder;
}

/** The typed line, and the line's words with all candidates for the last. */
const CASES: readonly (readonly [typed: string, words: readonly string[]])[] = [
  ["m40 ser", ["serve"]],
  ["m40 --ver", ["--version"]],
  ["m40 run --kv-type ", ["run", "--kv-type", "f16", "f32", "q8_0"]],
  ["m40 run --kv-type=q", ["run", "--kv-type=q8_0"]],
  ["m40 run --device cuda:1", ["run", "--device", "cuda:1"]],
  ["m40 serve --allowed-", ["serve", "--allowed-host"]],
  ["m40 show --over", ["show", "--override"]],
  ["m40 serve --in-p", ["serve", "--in-process"]],
  ["m40 serve -m min", ["serve", "-m", "mine"]],
  ["m40 serve --disk-cache some-", ["serve", "--disk-cache", "some-folder"]],
  ["m40 run mi", ["run", "mine"]],
  ["m40 run --temperature 1 mi", ["run", "--temperature", "1", "mine"]],
  ["m40 run two", ["run", "two words"]],
  ["m40 run some-fi", ["run", "some-file"]],
  ["m40 rm mine dem", ["rm", "mine", "demo"]],
  ["m40 eval demo --file some-fi", ["eval", "demo", "--file", "some-file"]],
  ["m40 run demo --chat-template chatm", ["run", "demo", "--chat-template", "chatml"]],
  ["m40 pull mistral:7b-instruct-q8", ["pull", "mistral:7b-instruct-q8_0"]],
  ["m40 help tok", ["help", "tokenize"]],
  ["m40 completion z", ["completion", "zsh"]],
];

Deno.test("every option of every command, and its values, are in each shell's script", () => {
  for (const [shell, script] of SHELLS) {
    const text = script(commands);
    for (const { name, options } of COMMANDS) {
      assertStringIncludes(text, name);
      for (const option of Object.keys(options)) {
        assertStringIncludes(text, shell === "fish" ? `-l ${option} ` : `--${option}`);
      }
    }
    for (const value of ["q8_0", "chatml", "mistral:7b", "hidden"]) {
      assertStringIncludes(text.replaceAll("\\:", ":"), value, shell);
    }
  }
});

Deno.test("m40 completion of another shell says which there are", async () => {
  await using home = await Home.make();
  const { code, stdout, stderr } = await m40(home, ["completion", "tcsh"]);
  assertEquals([code, stdout], [2, ""]);
  assertMatch(stderr, /"tcsh"; wanted bash, zsh or fish/);
});

Deno.test(
  "an interactive bash completes commands, options, values, models and paths, expanding no name",
  { ignore: !hasScript },
  async () => {
    await using home = await Home.make();
    const folder = await prepared(home);
    const lines = [...CASES.map(([typed]) => typed), "m40 run ", "m40 run 'tw\t"];
    const got = await linesInBash(folder, lines);
    const names = ["demo", "mine", ...HOSTILE];
    assertEquals(got[CASES.length].slice(1).sort(), names.sort());
    assertEquals(got[CASES.length + 1], ["run", "two words"]);
    assertEquals(got.slice(0, CASES.length), CASES.map(([, words]) => words));
    assertEquals([...Deno.readDirSync(folder)].some(({ name }) => name === "expanded"), false);
  },
);

Deno.test("an interactive zsh does the same (ignored where it is not)", {
  ignore: !hasScript || !await has("zsh"),
}, async () => {
  await using home = await Home.make();
  const folder = await prepared(home);
  assertEquals(
    await linesInZsh(folder, CASES.map(([typed]) => typed)),
    CASES.map(([, words]) => words),
  );
  assertEquals([...Deno.readDirSync(folder)].some(({ name }) => name === "expanded"), false);
});

Deno.test(
  "fish does the same (ignored where it is not)",
  { ignore: !await has("fish") },
  async () => {
    await using home = await Home.make();
    const folder = await prepared(home);
    const got = await linesInFish(folder, CASES.map(([typed]) => typed));
    assertEquals(got, CASES.map(([, words]) => words));
    assertEquals([...Deno.readDirSync(folder)].some(({ name }) => name === "expanded"), false);
  },
);
