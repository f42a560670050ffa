// `m40 run --mcp`: a model calls tools of real MCP servers; on a terminal each call is asked for.
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { readMcpOptions } from "../../cli/arguments/mcp_options.ts";
import { hasScript, Home, m40, onTerminal, PROMPT } from "../fixtures/cli_program.ts";
import { exampleProgram, hostile } from "../fixtures/mcp_servers.ts";
import { callText, scriptedModel } from "../fixtures/scripted_model.ts";

const SCRIPT = {
  "?": "I look it up. " + callText("it__say", { text: "hi!" }),
  "}": "It says hi.",
  ".": "I do without.",
  "#": callText("it__good", { text: "fine" }),
  "!": callText("it__say", { text: "a" }) + "\n" + callText("it__say", { text: "b" }),
  "w": callText("it__wait", {}),
  "W": callText("weather__get_weather", { city: "Oslo", country: "NO" }),
};

/** A home with the model and a file of servers. */
async function prepare(
  mcpServers: Record<string, unknown>,
  allow?: string[],
  script: Record<string, string> = SCRIPT,
) {
  const home = await Home.make();
  const model = join(home.path, "scripted.gguf");
  const file = join(home.path, "mcp.json");
  await scriptedModel(model, script);
  await Deno.writeTextFile(file, JSON.stringify({ mcpServers, allow }));
  const words = ["run", model, "--temperature", "0", "--mcp", file];
  return { home, words, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

Deno.test("m40 run --mcp: a call that is allowed is made, its result given back, and the answer alone shown", async () => {
  await using at = await prepare({
    it: hostile("none"),
    weather: exampleProgram("mcpServerOutputSchema"),
  }, [
    "it__say",
  ]);
  const allowed = await m40(at.home, [...at.words, "Hello?"]);
  assertEquals(allowed.stdout, "I look it up.\nIt says hi.", allowed.stderr);
  assertEquals(allowed.code, 0);
  assertStringIncludes(allowed.stderr, 'it__say {"text":"hi!"}');
  const example = await m40(at.home, [...at.words, "--mcp-allow", "weather__*, it__say"], {
    stdin: "W",
  });
  assertEquals(example.stdout, "It says hi.", example.stderr);
  assertMatch(
    example.stderr,
    /weather__get_weather {"city":"Oslo","country":"NO"}\n\{ \(\d+ characters\)/,
  );
});

Deno.test("m40 run --mcp: without a terminal a call that is not allowed is refused, and the model gets the refusal", async () => {
  await using at = await prepare({ it: hostile("none") });
  const { stdout, stderr, code } = await m40(at.home, [...at.words, "Hello?"]);
  assertEquals([stdout, code], ["I look it up.\nI do without.", 0], stderr);
  assertStringIncludes(stderr, "there is no terminal to ask on: it was not called.");
});

Deno.test("m40 run --mcp: hostile servers and one that ends within a call cost an answer nothing but the call", async () => {
  await using at = await prepare({
    it: hostile("schemas"),
    none: { command: "no-such-program" },
  }, ["it__*"]);
  const { stdout, stderr, code } = await m40(at.home, [
    ...at.words,
    "--mcp-rounds",
    "2",
    "Number #",
  ]);
  assertEquals(code, 0, stderr);
  assertEquals(stdout, "It says hi.");
  assertStringIncludes(stderr, "no-such-program cannot be started");
  await using loop = await prepare({ it: hostile("exit-in-call", join(at.home.path, "called")) }, [
    "it__*",
  ]);
  const again = await m40(loop.home, [...loop.words, "--mcp-rounds", "1", "Now!"]);
  assertEquals(again.code, 0, again.stderr);
  assertMatch(again.stderr, /ended before it answered[^]*\{"text":"b"\}/);
  assertEquals(again.stdout, "It says hi.");
});

Deno.test("m40 run --mcp: a model that calls tools without end has to answer after a number of rounds", async () => {
  const call = callText("it__say", {});
  await using at = await prepare({ it: hostile("none") }, ["it__*"], { "?": call, "}": call });
  const { stdout, stderr, code } = await m40(at.home, [...at.words, "--mcp-rounds", "3", "Hello?"]);
  assertEquals(code, 0, stderr);
  assertEquals(stderr.match(/it__say \{\}/g)?.length, 3);
  // Tools are no longer announced, so what it says is text.
  assertEquals(stdout, call);
});

Deno.test("m40 run --mcp: what is wrong on the command line or in the file is said before a model is loaded", async () => {
  await using home = await Home.make();
  const file = join(home.path, "mcp.json");
  await Deno.writeTextFile(file, '{"mcpServers": {"a": {"comand": "x"}}}');
  const { code, stderr } = await m40(home, ["run", "no-such-model", "--mcp", file, "Hello"]);
  assertMatch(stderr, /mcpServers\.a\.command is missing/);
  assertEquals(code, 2);
  const none = { mcp: undefined, "mcp-allow": undefined, "mcp-timeout": undefined };
  const cases: [object, RegExp][] = [
    [{ mcp: "nowhere.json" }, /nowhere\.json cannot be read: there is no such file/],
    [{ mcp: file, "mcp-allow": "a b" }, /--mcp-allow: got "a b"; wanted SERVER__TOOL/],
    [{ "mcp-allow": "a__b" }, /--mcp-allow means nothing without --mcp/],
    [{ "mcp-timeout": 3 }, /--mcp-timeout means nothing without --mcp/],
  ];
  for (const [options, message] of cases) {
    const error = await assertRejects(() => readMcpOptions({ ...none, ...options }, "run"), Error);
    assertMatch(error.message, message);
  }
});

Deno.test(
  "m40 run --mcp: on a terminal each call is asked for: yes, no, always, and Ctrl-C (ignored where `script` is not)",
  { ignore: !hasScript },
  async () => {
    const folder = await Deno.makeTempDir();
    const waiting = join(folder, "waiting");
    await using at = await prepare({ it: hostile("none", waiting) });
    const { child, writer, type, screen } = onTerminal(at.home, [...at.words, "--device", "cpu"]);
    const prompt = () => screen.until(new RegExp(`^(.*?)${PROMPT.source}`, "s"));
    const question = () =>
      screen.until(/^(.*?)Call it\? \[y\]es, \[a\]lways in this conversation, \[N\]o: /s);
    assertMatch((await prompt())[1], /2 tools of 1 MCP server; \/tools shows them\./);

    await type("Hello?\r");
    assertMatch((await question())[1], /I look it up\..*it__say.* \{"text":"hi!"\}/s);
    await type("\r");
    const refused = (await prompt())[1];
    assertMatch(refused, /The user did not allow this call: it was not made\..*I do without\./s);

    await type("/tools\r");
    assertMatch((await prompt())[1], /it__say +asks first +The tool say.*it__wait +asks first/s);

    await type("Hello?\r");
    await question();
    await type("what\r");
    await question();
    await type("y\r");
    assertMatch((await prompt())[1], /It says hi\./);

    // Two calls of an answer: the second is not asked for any more.
    await type("Now!\r");
    await question();
    await type("a\r");
    const always = (await prompt())[1];
    assertMatch(always, /\{"text":"b"\}.*It says hi\./s);
    assertNotMatch(always, /Call it/);
    await type("/tools\r");
    assertMatch((await prompt())[1], /it__say +allowed/);

    // Ctrl-C stops a call that hangs; the server, which it is not meant for, lives on.
    await type("w\r");
    await question();
    await type("y\r");
    while (!await Deno.stat(waiting).then(() => true, () => false)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await type("\x03");
    await prompt();
    await type("Hello?\r");
    assertMatch((await prompt())[1], /It says hi\./);

    assert((await Deno.stat(`/proc/${await Deno.readTextFile(waiting)}`)).isDirectory);

    // Another conversation asks again. What was pasted before the question is no answer to it, but the next message.
    await type("/clear\r");
    await prompt();
    await type("Hello?\ry\r");
    await question();
    await type("n\r");
    assertMatch((await prompt())[1], /The user did not allow this call.*I do without\./s);

    // Ctrl-C at the question is no.
    const pasted = join(folder, "pasted.json");
    await type(`/save ${pasted}\r`);
    await prompt();
    const questions = JSON.parse(await Deno.readTextFile(pasted)).messages.filter(
      ({ role }: { role: string }) => role === "user",
    );
    assertEquals(questions.map(({ content }: { content: string }) => content), ["Hello?", "y"]);
    await type("/clear\r");
    await prompt();
    await type("Hello?\r");
    await question();
    await type("\x03");
    await prompt();

    const path = join(at.home.path, "saved.json");
    await type(`/save ${path}\r`);
    await prompt();
    const { messages } = JSON.parse(await Deno.readTextFile(path));
    assertEquals(messages.map(({ role }: { role: string }) => role), [
      "user",
      "assistant",
      "tool",
      "assistant",
    ]);
    assertEquals(messages[1].tool_calls[0].function, {
      name: "it__say",
      arguments: '{"text":"hi!"}',
    });
    assertEquals(messages[2].tool_call_id, messages[1].tool_calls[0].id);
    assertEquals(messages[2].content, "The user stopped this call before it had a result.");

    await type("\x04");
    await screen.rest();
    assertEquals((await child.status).code, 0);
    await writer.close().catch(() => {});
    await Deno.remove(folder, { recursive: true });
  },
);
