/** Which template a model's conversations are rendered with: the file's, one that it names, or one that is edited. */
import { assert, assertEquals } from "@std/assert";
import { loadChat } from "./load.ts";
import { BUILT_IN_TEMPLATES } from "./templates/mod.ts";
import { TemplateFile } from "./template_file.ts";
import { loadTokenizer } from "../mod.ts";
import { BASIC, string, vocabularyMetadata } from "../../tests/fixtures/tokenizer_metadata.ts";

const KEY = "tokenizer.chat_template";
const shows = (name: string) => `${name}:{{ messages[0].content }}{{ tools | length if tools }}`;
const ASKED = [{ role: "user" as const, content: "x" }];
const TOOLS = [{ name: "f" }];

/** What the chat of a file with such templates says. */
function chatOf(templates: Readonly<Record<string, string>>, given?: string | TemplateFile) {
  const entries = Object.entries(templates)
    .map(([name, text]) => [name === "" ? KEY : `${KEY}.${name}`, string(text)] as const);
  const metadata = vocabularyMetadata([...BASIC, "▁"], Object.fromEntries(entries));
  const warnings: string[] = [];
  const chat = loadChat(metadata, loadTokenizer(metadata), given, {
    onWarning: (warning) => warnings.push(warning),
  });
  const prompt = async (more = {}) => (await chat!.prompt({ messages: ASKED, ...more })).text;
  return { chat, prompt, warnings, [Symbol.asyncDispose]: async () => await chat?.close() };
}

Deno.test("a file's template that is the name of a built-in one is that one; an empty one is chatml", async () => {
  for (
    const [text, name] of [["chatml", "chatml"], [" llama3\n", "llama3"], ["", "chatml"], [
      " \n",
      "chatml",
    ]]
  ) {
    await using made = chatOf({ "": text });
    assertEquals(made.chat?.template, BUILT_IN_TEMPLATES.get(name), text);
    assertEquals(made.chat?.source, name);
    assertEquals(made.warnings.length, text.trim() === "" ? 1 : 0);
  }
  await using odd = chatOf({ "": "my-own-name" });
  assertEquals(odd.chat, undefined);
  assert(odd.warnings[0].includes('"my-own-name"'), odd.warnings[0]);
});

Deno.test("a file that has named templates alone uses the one that is for nothing special", async () => {
  for (
    const [names, used] of [
      [["tool_use", "rag", "default"], "default"],
      [["tool_use", "chat"], "chat"],
      [["rag", "tool_use"], "rag"],
      [["tool_use"], "tool_use"],
    ] as const
  ) {
    await using made = chatOf(Object.fromEntries(names.map((name) => [name, shows(name)])));
    assertEquals(await made.prompt(), `${used}:x`, names.join());
  }
});

Deno.test("tool_use is used where there are tools and the request asks for no other", async () => {
  const templates = { "": shows("own"), tool_use: shows("tool_use"), rag: shows("rag") };
  await using made = chatOf(templates);
  assert((await made.prompt({ tools: TOOLS })).startsWith("tool_use:"));
  assertEquals(await made.prompt({ tools: [] }), "own:x");
  assertEquals(await made.prompt({ tools: TOOLS, toolChoice: "none" }), "own:x");
  assert((await made.prompt({ tools: TOOLS, templateName: "rag" })).startsWith("rag:"));
  // A template chosen for the server holds for tools as well.
  await using chosen = chatOf(templates, shows("given"));
  assert((await chosen.prompt({ tools: TOOLS })).startsWith("given:"));
});

Deno.test("a template's file that is edited is read again; one that is gone or half written is as it was", async () => {
  const path = await Deno.makeTempFile({ suffix: ".jinja" });
  const edit = async (text: string, second: number) => {
    await Deno.writeTextFile(path, text);
    await Deno.utime(path, second, second);
  };
  await edit(shows("one"), 1);
  await using made = chatOf({ "": shows("own") }, await TemplateFile.open(path, 0));
  assertEquals(await made.prompt(), "one:x");
  await edit(shows("two"), 2);
  assertEquals(await made.prompt(), "two:x");
  assertEquals(made.chat?.template, shows("two"));
  await edit("", 3);
  assertEquals(await made.prompt(), "two:x");
  await Deno.remove(path);
  assertEquals(await made.prompt(), "two:x");
  await edit(shows("three"), 4);
  assertEquals(await made.prompt(), "three:x");
  await Deno.remove(path);
});
