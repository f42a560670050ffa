// The manual as it is made of the commands' descriptions, and as groff reads it.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { COMMANDS } from "../../cli/commands/mod.ts";
import { ENVIRONMENT } from "../../cli/arguments/program.ts";
import { manualPages } from "../../tools/manual/pages.ts";
import { escape } from "../../tools/manual/roff.ts";
import { has } from "../fixtures/completing_shells.ts";

const pages = manualPages(COMMANDS, "1.2.3");

/** A page as groff shows it, in lines as long as they come, and what it complains of. */
async function shown(page: string): Promise<{ text: string; warnings: string }> {
  const child = new Deno.Command("groff", {
    args: ["-man", "-Tutf8", "-P-cbou", "-ww", "-rLL=300n"],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(page));
  await writer.close();
  const { stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { text: decoder.decode(stdout), warnings: decoder.decode(stderr) };
}

Deno.test("there is a page of the program and of each command, with every option and example", () => {
  assertEquals(pages.size, COMMANDS.length + 1);
  for (const { name, options, examples } of COMMANDS) {
    const page = pages.get(`m40-${name}.1`) ?? "";
    assertMatch(page, /^\.TH M40\\-[A-Z]+ 1 "" "m40 1\.2\.3" "m40"\n\.SH NAME\n/, name);
    for (const option of Object.keys(options)) assertStringIncludes(page, escape(`--${option}`));
    for (const line of Object.keys(examples)) assertStringIncludes(page, escape(line));
  }
  assertStringIncludes(pages.get("m40-serve.1")!, escape("--allowed-host"));
  for (const command of ["serve", "run", "eval", "bench", "tokenize", "show"]) {
    assertStringIncludes(pages.get(`m40-${command}.1`)!, escape("--override"), command);
  }
  const program = pages.get("m40.1") ?? "";
  for (const { name } of COMMANDS) assertStringIncludes(program, `\\fBm40\\-${name}\\fR(1)`);
  for (const [name] of ENVIRONMENT) assertStringIncludes(program, name);
});

Deno.test("no text becomes a request: dots, quotes and backslashes stay what they are", () => {
  assertEquals(
    escape(`.so /etc/passwd\n'x "y" \\fB`),
    "\\&.so /etc/passwd\n\\(aqx \\(dqy\\(dq \\(rsfB",
  );
});

Deno.test({
  name:
    "groff reads every page without a warning and shows options and examples as they are typed " +
    "(ignored where it is not)",
  ignore: !await has("groff"),
  async fn() {
    const all = await shown([...pages.values()].join(""));
    assertEquals(all.warnings, "");
    for (const { name, options, examples } of COMMANDS) {
      for (const option of Object.keys(options)) {
        assertStringIncludes(all.text, `--${option}`, name);
      }
      for (const line of Object.keys(examples)) assert(all.text.includes(line), `${name}: ${line}`);
    }
  },
});
