import type { Command } from "../../cli/arguments/command.ts";
import {
  ENVIRONMENT,
  EXAMPLES,
  EXIT_CODES,
  PROGRAM_OPTIONS,
  SUMMARY,
} from "../../cli/arguments/program.ts";
import { optionHelp, optionName, synopsis } from "../../cli/arguments/usage.ts";
import { escape, paragraph, section, term, typed } from "./roff.ts";

/** The pages of section 1, by the names of their files: `m40.1`, and `m40-serve.1` of `m40 serve`. */
export function manualPages(
  commands: readonly Command[],
  version: string,
): ReadonlyMap<string, string> {
  return new Map([
    ["m40.1", programPage(commands, version)],
    ...commands.map((command) => [`m40-${command.name}.1`, commandPage(command, version)] as const),
  ]);
}

function programPage(commands: readonly Command[], version: string): string {
  return page([
    header("m40", version),
    section("NAME"),
    `m40 \\- ${escape("serve large language models from GGUF files")}`,
    section("SYNOPSIS"),
    "\\fBm40\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]",
    section("DESCRIPTION"),
    escape(SUMMARY),
    section("COMMANDS"),
    ...commands.map(({ name, summary }) => term(`m40-${name}(1)`, `${summary}.`)),
    section("OPTIONS"),
    ...PROGRAM_OPTIONS.map(({ short, name, help }) => term(`-${short}, --${name}`, `${help}.`)),
    section("ENVIRONMENT"),
    ...ENVIRONMENT.map(([name, about]) => term(name, `${about}.`)),
    exitStatus(),
    section("EXAMPLES"),
    ...EXAMPLES.flatMap(([line, about]) => [paragraph(`${about}:`), typed(line)]),
    seeAlso(commands.map(({ name }) => `m40-${name}`)),
  ]);
}

function commandPage(command: Command, version: string): string {
  const { name, summary, description, arguments: words, options, examples } = command;
  return page([
    header(`m40-${name}`, version),
    section("NAME"),
    `${escape(`m40-${name}`)} \\- ${escape(summary)}`,
    section("SYNOPSIS"),
    `\\fB${escape(synopsis(command))}\\fR`,
    ...(description === undefined
      ? []
      : [section("DESCRIPTION"), ...description.split("\n").map(paragraph)]),
    ...(words.length === 0 ? [] : [
      section("ARGUMENTS"),
      ...words.map(({ name, help }) => term(name, `${help}.`)),
    ]),
    section("OPTIONS"),
    ...Object.entries(options).map(([name, option]) =>
      term(optionName(name, option), `${optionHelp(option)}.`)
    ),
    term("-h, --help", "Show all that the command takes."),
    exitStatus(),
    section("EXAMPLES"),
    ...Object.entries(examples).flatMap(([line, about]) => [paragraph(`${about}:`), typed(line)]),
    seeAlso(["m40"]),
  ]);
}

/** No date: the same version gives the same pages. */
function header(name: string, version: string): string {
  return `.TH ${escape(name.toUpperCase())} 1 "" "m40 ${escape(version)}" "m40"`;
}

function exitStatus(): string {
  return [section("EXIT STATUS"), ...EXIT_CODES.map(([code, meaning]) => term(code, `${meaning}.`))]
    .join("\n");
}

function seeAlso(names: readonly string[]): string {
  const references = names.map((name) => `\\fB${escape(name)}\\fR(1)`);
  return [section("SEE ALSO"), references.join(", ")].join("\n");
}

function page(parts: readonly string[]): string {
  return parts.join("\n") + "\n";
}
