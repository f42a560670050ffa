// `m40 run` as a conversation, through the real program; on a terminal where one is needed.
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import {
  hasScript,
  Home,
  m40 as m40Process,
  onTerminal,
  PROMPT,
  TINY,
} from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";

/** What makes a terminal dim what follows. */
const DIM = "\x1b[2m";

/** A template that leaves the model little to compute. */
const TEMPLATE = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\n{% endfor %}a:";
/** One that opens a block of reasoning, as some models' do. */
const THINKING = TEMPLATE + "<think>";

async function templateFile(home: Home, template = TEMPLATE): Promise<string> {
  const path = join(home.path, "template.jinja");
  await Deno.writeTextFile(path, template);
  return path;
}

/** A conversation on a terminal. */
class Talk implements AsyncDisposable {
  private constructor(
    readonly home: Home,
    private readonly terminal: ReturnType<typeof onTerminal>,
  ) {}

  static async begin(home: Home, model: string, ...args: string[]): Promise<Talk> {
    const template = args.includes("--raw")
      ? []
      : ["--chat-template", join(home.path, "template.jinja")];
    const words = ["run", model, "--device", "cpu", "--temperature", "0", ...template, ...args];
    const talk = new Talk(home, onTerminal(home, words));
    await talk.prompt();
    return talk;
  }

  /** What the screen shows up to the next prompt. */
  async prompt(): Promise<string> {
    return (await this.screen(new RegExp(`^(.*?)${PROMPT.source}`, "s")))[1];
  }

  async screen(pattern: RegExp): Promise<RegExpExecArray> {
    return await this.terminal.screen.until(pattern);
  }

  async type(text: string): Promise<void> {
    await this.terminal.type(text);
  }

  /** Types a line; what is shown until the next prompt. */
  async say(line: string): Promise<string> {
    await this.type(`${line}\r`);
    return await this.prompt();
  }

  /** The conversation as `/save` writes it. */
  async saved(): Promise<{ role: string; content: string; reasoning_content?: string }[]> {
    const path = join(this.home.path, `saved-${crypto.randomUUID()}.json`);
    assertMatch(await this.say(`/save ${path}`), /messages are saved in /);
    return JSON.parse(await Deno.readTextFile(path)).messages;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.type("\x04").catch(() => {});
    await this.terminal.screen.rest();
    assertEquals((await this.terminal.child.status).code, 0);
    await this.terminal.writer.close().catch(() => {});
  }
}

/** A test on a terminal. */
function onScreen(name: string, test: (home: Home) => Promise<void>): void {
  Deno.test(`${name} (ignored where \`script\` is not)`, { ignore: !hasScript }, async () => {
    await using home = await Home.make();
    await templateFile(home);
    await test(home);
  });
}

/** The tokens of the prompt that `--verbose` reports. */
function promptTokens(screen: string): number {
  const match = screen.match(/(\d+) tokens of prompt/);
  assert(match, screen);
  return Number(match[1]);
}

onScreen("m40 run: each message is sent with all before it, until /clear", async (home) => {
  await using talk = await Talk.begin(home, TINY, "--max-tokens", "4", "--verbose");
  const first = promptTokens(await talk.say("hello"));
  const second = promptTokens(await talk.say("hello"));
  assert(second > first, `${second} tokens after ${first}`);
  assertEquals((await talk.saved()).map(({ role, content }) => [role, content === "hello"]), [
    ["user", true],
    ["assistant", false],
    ["user", true],
    ["assistant", false],
  ]);
  assertMatch(await talk.say("/clear"), /A new conversation begins/);
  assertEquals(promptTokens(await talk.say("hello")), first);
});

onScreen(
  "m40 run: the system message is sent first, is shown, changed and taken away",
  async (home) => {
    await using talk = await Talk.begin(home, TINY, "--max-tokens", "2", "--system", "Be kind.");
    assertMatch(await talk.say("/system"), /Be kind\./);
    await talk.say("/system Be brief.");
    await talk.say("hello");
    assertEquals((await talk.saved())[0], { role: "system", content: "Be brief." });
    await talk.say("/clear");
    assertMatch(await talk.say("/system"), /Be brief\./);
    assertMatch(await talk.say("/system none"), /There is no system message/);
    await talk.say("hello");
    assertEquals((await talk.saved())[0].role, "user");
  },
);

onScreen(
  "m40 run: Ctrl-C keeps what was said so far, and the next message follows it",
  async (home) => {
    const path = await home.longModel();
    await using talk = await Talk.begin(home, path, "--ignore-eos");
    await talk.type("hello\r");
    await talk.screen(/hello\s+\S{3}/);
    await talk.type("\x03");
    await talk.prompt();
    const [user, assistant, ...more] = await talk.saved();
    assertEquals([user.content, assistant.role, more.length], ["hello", "assistant", 0]);
    assert(assistant.content.length >= 3, JSON.stringify(assistant));
    await talk.say("/set max-tokens 2");
    await talk.say("go on");
    const all = await talk.saved();
    assertEquals(all.map(({ role }) => role), ["user", "assistant", "user", "assistant"]);
    assertEquals(all[1], assistant);
  },
);

onScreen(
  "m40 run: an answer that fails leaves the conversation as it was; a full context says what to do",
  async (home) => {
    const template = `{% if "bad" in messages[-1].content %}{{ raise_exception("no bad words") }}` +
      `{% endif %}${TEMPLATE}`;
    await templateFile(home, template);
    await using talk = await Talk.begin(home, TINY, "--ctx", "64", "--max-tokens", "3");
    await talk.say("hello");
    const before = await talk.saved();
    assertMatch(await talk.say("bad"), /error:.* no bad words/);
    assertEquals(await talk.saved(), before);
    const long = await talk.say("word ".repeat(60));
    assertMatch(long, /the prompt has \d+ tokens; the context has 64/);
    assertMatch(long, /\/clear forgets what was said/);
    assertEquals(await talk.saved(), before);
    await talk.say("/set max-tokens default");
    await talk.say("/set ignore-eos on");
    assertMatch(await talk.say("hello"), /The context is full: \/clear/);
    await talk.say("/clear");
    await talk.say("/set max-tokens 3");
    assertMatch(await talk.say("hello"), /The answer is cut at 3 tokens: \/set max-tokens/);
  },
);

onScreen(
  "m40 run: /set changes any sampling parameter by its flag's name, and refuses what the flag refuses",
  async (home) => {
    await using talk = await Talk.begin(home, TINY, "--top-k", "5", "--max-tokens", "2");
    assertMatch(
      await talk.say("/set"),
      /temperature +0\r?\n[^]*top-k +5\r?\n[^]*min-p .*default/,
    );
    assertMatch(
      await talk.say("/set temprature 1"),
      /no setting "temprature"; did you mean temperature\?/,
    );
    assertMatch(
      await talk.say("/set temperature 900"),
      /temperature: got "900", wanted a number from 0 to 100/,
    );
    assertMatch(await talk.say("/set temperature"), /temperature needs a value: wanted a number/);
    assertMatch(await talk.say("/set mirostat 1"), /mirostat: got "1", wanted 0 or 2/);
    assertMatch(await talk.say("/set verbose maybe"), /verbose: got "maybe", wanted on or off/);
    await talk.say("/set repeat_last_n 7");
    await talk.say(String.raw`/set stop "\n"`);
    await talk.say("/set top-k default");
    const shown = await talk.say("/set");
    assertMatch(shown, /repeat-last-n +7\r?\n/);
    assertStringIncludes(shown, String.raw`"\n"`);
    assertMatch(shown, /top-k .*0 \(default\)/);
    await talk.say("/set verbose on");
    assertMatch(await talk.say("hello"), /tokens of answer/);
  },
);

onScreen(
  "m40 run: an unknown command names the nearest one, and one with a mistake says what is wrong",
  async (home) => {
    await using talk = await Talk.begin(home, TINY, "--max-tokens", "2");
    assertMatch(await talk.say("/claer"), /no command "\/claer"; did you mean \/clear\?/);
    assertMatch(await talk.say("/xyzzy"), /no command "\/xyzzy"; \/\? shows/);
    assertMatch(await talk.say("/clear all"), /\/clear takes nothing, got "all"/);
    assertMatch(await talk.say("/save"), /\/save needs the name of a file/);
    assertMatch(await talk.say("/save x.md"), /there is nothing to save yet/);
    const help = await talk.say("/?");
    assertEquals(await talk.say("/help"), help.replace("/?", "/help"));
    for (const name of ["system", "clear", "set", "save", "bye"]) {
      assertMatch(help, RegExp(`/${name}`));
    }
  },
);

onScreen(
  "m40 run: /save writes Markdown or JSON, asks before it overwrites, and says why it cannot write",
  async (home) => {
    await using talk = await Talk.begin(home, TINY, "--max-tokens", "3", "--system", "Be kind.");
    await talk.say("hello");
    assertMatch(
      await talk.say(`/save ${home.path}/nowhere/x.md`),
      /nowhere\/x\.md cannot be written: there is no such file or directory/,
    );
    assertMatch(await talk.say("/save ~/talk.md"), /3 messages are saved/);
    const path = join(home.path, "talk.md");
    const text = await Deno.readTextFile(path);
    assertMatch(text, /^# llama\n\n## System\n\nBe kind\.\n\n## You\n\nhello\n\n## Answer\n\n/);
    await talk.say("/clear");
    await talk.say("other");
    for (const [answer, overwritten] of [["", false], ["n", false], ["y", true]] as const) {
      await talk.type("/save ~/talk.md\r");
      await talk.screen(/overwrite it\? \[y\/N\]/);
      await talk.type(`${answer}\r`);
      const said = await talk.prompt();
      assertMatch(said, overwritten ? /3 messages are saved/ : /Nothing is saved/);
      assertEquals(await Deno.readTextFile(path) === text, !overwritten);
    }
  },
);

onScreen(
  'm40 run: """ makes a message of several lines, in which nothing is a command; unclosed it is dropped',
  async (home) => {
    await using talk = await Talk.begin(home, TINY, "--max-tokens", "2");
    // All in one piece, as it is pasted.
    await talk.type('"""one\r/clear\r  three"""\r');
    await talk.prompt();
    assertEquals((await talk.saved())[0].content, "one\n/clear\n  three");
    await talk.type('/system """\r');
    await talk.screen(/\.\.\. /);
    await talk.type("Be kind.\r");
    await talk.screen(/\.\.\. /);
    await talk.type("Be brief.\r");
    await talk.screen(/\.\.\. /);
    await talk.type('"""\r');
    await talk.prompt();
    const before = await talk.saved();
    assertEquals(before[0].content, "Be kind.\nBe brief.");
    for (const key of ["\x03", "\x04"]) {
      await talk.type('"""\r');
      await talk.screen(/\.\.\. /);
      await talk.type("lost\r");
      await talk.screen(/\.\.\. /);
      await talk.type(key);
      assertMatch(await talk.prompt(), /The message is dropped/);
    }
    assertEquals(await talk.saved(), before);
  },
);

onScreen("m40 run: /bye leaves with exit code 0", async (home) => {
  await using talk = await Talk.begin(home, TINY);
  await talk.type("/bye\r");
});

onScreen(
  "m40 run --raw: texts are continued each by itself; what is for conversations says so",
  async (home) => {
    await using talk = await Talk.begin(home, TINY, "--raw", "--max-tokens", "2", "--verbose");
    const first = promptTokens(await talk.say("hello"));
    assertEquals(promptTokens(await talk.say("hello")), first);
    for (const command of ["/clear", "/system Be kind.", "/save x.md"]) {
      assertMatch(await talk.say(command), /is for conversations; here text is continued/);
    }
    await talk.say("/set top-k 3");
    assertMatch(await talk.say("/set"), /top-k +3\r?\n/);
  },
);

onScreen(
  "m40 run: what a model thinks is dimmed, kept apart from the answer, and hidden where that is asked for",
  async (home) => {
    await templateFile(home, THINKING);
    await using talk = await Talk.begin(home, TINY, "--ignore-eos", "--max-tokens", "12");
    assertStringIncludes(await talk.say("hello"), DIM + "I");
    const [, { content, reasoning_content }] = await talk.saved();
    assertEquals([content, reasoning_content?.includes("III")], ["", true]);
    await talk.say("/clear");
    await talk.say("/set reasoning-budget 2");
    await talk.say("/set max-tokens 20");
    const lines = (await talk.say("hello")).split("\n");
    assertStringIncludes(lines.filter((line) => line.includes(DIM)).join(), DIM + "I");
    assertMatch(lines.filter((line) => !line.includes(DIM)).join(), /III/);
    const [, ended] = await talk.saved();
    assertEquals([ended.content !== "", ended.reasoning_content!.length < 5], [true, true]);
    await talk.say("/set reasoning-budget default");
    await talk.say("/set reasoning hidden");
    await talk.say("/clear");
    assertNotMatch(await talk.say("hello"), /III/);
    await talk.say("/set reasoning inline");
    await talk.say("/clear");
    assertMatch(await talk.say("hello"), /III/);
    assertMatch((await talk.saved())[1].content, /III/);
  },
);

Deno.test("m40 run: a PROMPT and a pipe get one answer, rendered by the template; reasoning is in no pipe, unless inline", async () => {
  await using home = await Home.make();
  const args = ["run", TINY, "--temperature", "0", "--max-tokens", "20", "--ignore-eos"];
  const chat = [...args, "--chat-template", await templateFile(home)];
  const [typed, piped, raw] = await Promise.all([
    m40(home, [...chat, "hello"]),
    m40Process(home, chat, { stdin: "hello\n" }),
    m40(home, [...args, "--raw", "u:hello\na:"]),
  ]);
  assertEquals([typed.code, typed.stderr], [0, ""]);
  assertEquals([piped, raw], [typed, typed]);
  assert(typed.stdout !== "");
  const thinks = [...args, "--chat-template", await templateFile(home, THINKING)];
  const [apart, inline, text] = await Promise.all([
    m40(home, [...thinks, "hello"]),
    m40(home, [...thinks, "--reasoning", "inline", "hello"]),
    m40(home, [...args, "--raw", "u:hello\na:<think>"]),
  ]);
  assertEquals([apart.code, apart.stdout], [0, ""]);
  assertEquals(inline, text);
  const budget = [...thinks, "--reasoning-budget", "3", "hello"];
  const [answer, both] = await Promise.all([
    m40(home, budget),
    m40(home, [...budget, "--reasoning", "inline"]),
  ]);
  assert(answer.stdout.trim() !== "");
  assertEquals(both.stdout.split("</think>")[1].trim(), answer.stdout.trim());
});

Deno.test("m40 run: a chat template that is not there, cannot be read or is refused ends with a sentence", async () => {
  await using home = await Home.make();
  const broken = await templateFile(home, "{% for m in messages %}");
  const run = (...args: string[]) => m40(home, ["run", TINY, "--max-tokens", "1", ...args, "hi"]);
  const [missing, folder, unknown, unclosed] = await Promise.all([
    run("--chat-template", join(home.path, "no.jinja")),
    run("--chat-template", home.path),
    run("--chat-template", "chatnl"),
    run("--chat-template", broken),
  ]);
  assertMatch(missing.stderr, /no\.jinja cannot be read: there is no such file or directory/);
  assertMatch(folder.stderr, /cannot be read: .*directory/);
  assertMatch(unknown.stderr, /no built-in chat template "chatnl"; there are .*chatml/);
  for (const { code, stderr } of [missing, folder, unknown, unclosed]) {
    assert(code === 1 || code === 2, stderr);
    assertMatch(stderr, /^error: /);
    assertNotMatch(stderr, /This should not happen/);
  }
});

Deno.test("m40 run: options of conversations are refused where text is continued", async () => {
  await using home = await Home.make();
  const raw = await m40(home, ["run", TINY, "--raw", "--system", "Be kind.", "hi"]);
  assertEquals(raw.code, 2);
  assertMatch(raw.stderr, /--system means nothing with --raw/);
  const bare = await m40(home, ["run", TINY, "--reasoning-budget", "3", "hi"]);
  assertEquals(bare.code, 2);
  assertMatch(bare.stderr, /--reasoning-budget means nothing with a model without a chat template/);
});
