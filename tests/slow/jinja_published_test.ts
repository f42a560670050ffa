import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { judge, renderedByJinja, renderedHere, type Verdict } from "../fixtures/jinja_reference.ts";
import { pythonWith } from "../fixtures/official_clients.ts";
import { MORE_REQUESTS, shownTo } from "../fixtures/template_conversations.ts";

/** Where the package has the templates. */
const PACKAGE = "llama_cpp_python-0.3.36";
const FOLDER = `${PACKAGE}/vendor/llama.cpp/models/templates`;

Deno.test("published templates render conversations as Jinja2 does", async () => {
  const python = await pythonWith("jinja2==3.1.6", "scikit-build-core");
  if (python === undefined) return;
  const templates = await published(python);
  if (templates === undefined) return;
  assert(templates.size >= 60, `only ${templates.size} templates were found`);
  const titles = Object.keys(MORE_REQUESTS);
  assertEquals(titles.length, 19);
  const cases = [...templates].flatMap(([name, template]) =>
    titles.map((title) => ({
      title: `${name}, ${title}`,
      template,
      variables: {
        ...shownTo(MORE_REQUESTS[title]),
        bos_token: "<s>",
        eos_token: "</s>",
        add_generation_prompt: true,
      },
    }))
  );
  const wanted = await renderedByJinja(python, {}, cases);
  const counts = new Map<Verdict, number>();
  const faults: string[] = [];
  cases.forEach(({ title, template, variables }, i) => {
    const here = renderedHere(template, variables);
    const verdict = judge(here, wanted[i]);
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    if (verdict === "differs") faults.push(JSON.stringify({ title, here, jinja: wanted[i] }));
  });
  console.log(Object.fromEntries(counts));
  assertEquals(faults, []);
  assert((counts.get("equal") ?? 0) > cases.length / 2);
});

/** Templates of models by their files' names, which the source package of `llama-cpp-python` brings. */
async function published(python: string): Promise<Map<string, string> | undefined> {
  const folder = await Deno.makeTempDir({ prefix: "m40-templates-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  const run = async (command: string, ...args: string[]) => {
    const { success, stderr } = await new Deno.Command(command, { args, cwd: folder }).output();
    return success ? undefined : new TextDecoder().decode(stderr).slice(-300);
  };
  const options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:"];
  const failure =
    await run(python, "-m", "pip", "download", ...options, "llama-cpp-python==0.3.36") ??
      await run("tar", "xzf", `${PACKAGE}.tar.gz`, FOLDER);
  if (failure !== undefined) {
    console.log(`skipped: llama-cpp-python is not available: ${failure}`);
    return undefined;
  }
  const found = new Map<string, string>();
  for await (const { name } of Deno.readDir(join(folder, FOLDER))) {
    if (name.endsWith(".jinja")) {
      found.set(name, await Deno.readTextFile(join(folder, FOLDER, name)));
    }
  }
  return found;
}
