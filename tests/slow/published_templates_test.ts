/**
 * Chat templates as models are published with, in the source package of llama-cpp-python: every text of every
 * conversation is in the prompt. They are other people's, and are fetched, not kept.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Protection } from "../../engine/chat/protection.ts";
import { renderTemplate } from "../../engine/chat/render_template.ts";
import { shownTool } from "../../engine/chat/tools/shown_tool.ts";
import { TOOL_FORMATS } from "../../engine/chat/tools/formats.ts";
import { loadTokenizer } from "../../engine/mod.ts";
import { CONVERSATIONS } from "../fixtures/conversations.ts";
import { pythonWith } from "../fixtures/official_clients.ts";
import { BASIC, vocabularyMetadata } from "../fixtures/tokenizer_metadata.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

const PACKAGE = "llama-cpp-python==0.3.36";
/** They want a variable that only their own library gives. */
const NEED_MORE = ["fireworks-ai-llama-3-firefunction-v2.jinja"];
const TOKENIZER = loadTokenizer(vocabularyMetadata([...BASIC, "▁"], {}));
const TOOL = { name: "f", parameters: { type: "object", properties: { a: { type: "string" } } } };

/** The templates of the package, by their files' names; undefined, and a message, where it is not available. */
async function publishedTemplates(folder: string): Promise<Map<string, string> | undefined> {
  const python = await pythonWith("pip");
  if (python === undefined) return undefined;
  const run = async (command: string, ...args: string[]) => {
    const { success, stderr } = await new Deno.Command(command, { args, cwd: folder }).output();
    if (!success) console.log(`skipped: ${new TextDecoder().decode(stderr).slice(-300)}`);
    return success;
  };
  const fetched =
    await run(python, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", PACKAGE) &&
    await run(
      "tar",
      "xzf",
      "llama_cpp_python-0.3.36.tar.gz",
      "--strip-components=5",
      "--wildcards",
      "*/models/templates/*.jinja",
    );
  if (!fetched) return undefined;
  const templates = new Map<string, string>();
  for await (const { name } of Deno.readDir(join(folder))) {
    if (name.endsWith(".jinja")) {
      templates.set(name, await Deno.readTextFile(join(folder, name)));
    }
  }
  return templates;
}

Deno.test("published templates show every text of every conversation", async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const templates = await publishedTemplates(folder);
  if (templates === undefined) return;
  assert(templates.size > 60, `there are ${templates.size}`);
  const lost: string[] = [];
  for (const [file, template] of templates) {
    if (NEED_MORE.includes(file)) continue;
    for (const [name, messages] of Object.entries(CONVERSATIONS)) {
      const protection = new Protection(
        TOKENIZER,
        /[<\[]/gu,
        { messages, tools: [TOOL] },
        template,
      );
      for (const tools of [[TOOL], undefined]) {
        const { mark, endMark } = protection;
        let text: string;
        try {
          text = renderTemplate({
            template,
            messages: messages.map((message) => protection.message(message)),
            tools: tools?.map(shownTool),
            toolFormats: TOOL_FORMATS.map(({ name }) => name),
            continueFinal: false,
            specialTokens: { bos_token: "<s>", eos_token: "</s>" },
            variables: {},
            mark,
            endMark,
          }).text;
        } catch (error) {
          text = String(error);
        }
        const wanted = JSON.stringify(messages).match(/T\d/g)!;
        const missing = wanted.filter((one) => !text.includes(one));
        if (missing.length > 0) lost.push(`${file}, ${name}: ${missing} in ${text.slice(-300)}`);
      }
    }
  }
  assertEquals(lost, []);
});
