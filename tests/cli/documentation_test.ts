import { assert, assertEquals } from "@std/assert";
import { COMMANDS } from "../../cli/commands/mod.ts";
import config from "../../deno.json" with { type: "json" };
import { listPages } from "../../tools/prose.ts";
import { ROOT } from "../fixtures/cli_program.ts";

// Commands that the pages name: those of m40 with their options, and the tasks of deno.json.

const options = new Map(
  COMMANDS.map(({ name, options }) => [name, new Set([...Object.keys(options), "help"])]),
);

/** Code of a page: fenced lines without their comments, and inline code, also over the end of a line. */
function codeOf(markdown: string): string[] {
  const fenced = [...markdown.matchAll(/^```\w*\n(.*?)^```/gms)].flatMap(([, text]) =>
    text.replaceAll("\\\n", " ").split("\n").map((line) => line.split(/\s#/)[0])
  );
  const prose = markdown.replaceAll(/^```.*?^```/gms, "");
  const inline = [...prose.matchAll(/`([^`]+)`/g)].map(([, text]) => text.replaceAll("\n", " "));
  return [...fenced, ...inline];
}

async function* code(): AsyncGenerator<[page: string, code: string]> {
  for (const page of ["README.md", "CONTRIBUTING.md", ...await listPages()]) {
    for (const text of codeOf(await Deno.readTextFile(`${ROOT}/${page}`))) yield [page, text];
  }
}

Deno.test("the pages name only options that a command of m40 has", async () => {
  const faults: string[] = [];
  let commands = 0;
  for await (const [page, text] of code()) {
    for (const [, name, rest] of text.matchAll(/\bm40 ([a-z]+)\b([^|;&]*)/g)) {
      const known = options.get(name);
      if (known === undefined) continue;
      commands++;
      for (const [, option] of rest.matchAll(/\s\[?--([a-z][\w-]*)/g)) {
        if (!known.has(option)) faults.push(`${page}: m40 ${name} has no --${option}`);
      }
    }
  }
  assertEquals(faults, []);
  assert(commands > 100, `${commands} commands`);
});

Deno.test("the tables of options of docs/serving*.md have options of m40 serve", async () => {
  for (const page of ["serving", "serving-models"]) {
    const rows = (await Deno.readTextFile(`${ROOT}/docs/${page}.md`)).matchAll(/^\| `--.*?\|/gm);
    const named = [...rows].flatMap(([row]) =>
      [...row.matchAll(/--([\w-]+)/g)].map((one) => one[1])
    );
    assert(named.length > 3);
    assertEquals(named.filter((option) => !options.get("serve")!.has(option)), []);
  }
});

Deno.test("the pages name only tasks that deno.json has", async () => {
  const faults: string[] = [];
  for await (const [page, text] of code()) {
    for (const [, task] of text.matchAll(/\bdeno(?:@[\d.]+)? task ([a-z][\w:-]*)/g)) {
      if (!(task in config.tasks)) faults.push(`${page}: there is no task ${task}`);
    }
  }
  assertEquals(faults, []);
});
