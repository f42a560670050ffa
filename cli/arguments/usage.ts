import type { Command, Option } from "./command.ts";
import { ENVIRONMENT, EXAMPLES, EXIT_CODES, PROGRAM_OPTIONS, SUMMARY } from "./program.ts";
import { style } from "../terminal/mod.ts";

const WIDTH = 100;

/** The program's own help. */
export function programUsage(commands: readonly Command[]): string {
  const options = PROGRAM_OPTIONS.map(({ short, name, help }) => [`-${short}, --${name}`, help]);
  return [
    SUMMARY,
    section("Usage", ["m40 COMMAND [ARGUMENTS] [OPTIONS]"]),
    section("Commands", table(commands.map(({ name, summary }) => [name, summary]))),
    section("Options", table(options)),
    section("Examples", table(EXAMPLES)),
    section("Environment", table(ENVIRONMENT)),
    section("Exit codes", [EXIT_CODES.map(([code, meaning]) => `${code} ${meaning}`).join(", ")]),
  ].join("\n\n") + "\n";
}

/** The help of a command. */
export function commandUsage(command: Command): string {
  const parts = [
    `${command.summary}.`,
    section("Usage", [synopsis(command)]),
  ];
  if (command.description) parts.push(wrap(command.description, WIDTH).join("\n"));
  if (command.arguments.length > 0) {
    parts.push(
      section("Arguments", table(command.arguments.map(({ name, help }) => [name, help]))),
    );
  }
  const options = Object.entries(command.options).map(([name, option]) => [
    optionName(name, option),
    optionHelp(option),
  ]);
  parts.push(section("Options", table([...options, ["-h, --help", "Show this"]])));
  const examples = Object.entries(command.examples).flatMap(([line, about]) => [
    `# ${about}`,
    line,
  ]);
  parts.push(section("Examples", examples));
  return parts.join("\n\n") + "\n";
}

/** What is typed: `m40 run MODEL [PROMPT...] [OPTIONS]`. */
export function synopsis(command: Command): string {
  const words = command.arguments.map(({ name, required, rest }) => {
    const word = rest ? `${name}...` : name;
    return required ? ` ${word}` : ` [${word}]`;
  });
  const required = Object.entries(command.options).filter(([, option]) => option.required)
    .map(([name, option]) => ` --${name} ${option.type?.label}`);
  return `m40 ${command.name}${words.join("")}${required.join("")} [OPTIONS]`;
}

/** How an option is typed: `-m, --model MODEL`. */
export function optionName(name: string, { short, type }: Option<unknown>): string {
  return `${short ? `-${short}, ` : ""}--${name}${type ? ` ${type.label}` : ""}`;
}

/** What an option does, with its default. */
export function optionHelp(
  { help, default: value, repeatable, required }: Option<unknown>,
): string {
  if (required) return `${help} (required)`;
  if (repeatable) return `${help} (may be repeated)`;
  return value === undefined || value === false ? help : `${help} (default ${value})`;
}

function section(title: string, lines: readonly string[]): string {
  const heading = style(Deno.stdout, "bold", `${title}:`);
  return [heading, ...lines.map((line) => `  ${line}`)].join("\n");
}

/** Lines of two columns, the second one wrapped. */
function table(rows: readonly (readonly string[])[]): string[] {
  const width = Math.min(Math.max(...rows.map(([left]) => left.length)), 34);
  return rows.flatMap(([left, right]) => {
    const lines = wrap(right, WIDTH - width - 4);
    const indent = " ".repeat(width + 2);
    if (left.length > width) return [left, ...lines.map((line) => indent + line)];
    return lines.map((line, i) => (i === 0 ? left.padEnd(width + 2) : indent) + line);
  });
}

/** Lines of at most `width` characters, broken between words; paragraphs stay apart. */
function wrap(text: string, width: number): string[] {
  return text.split("\n").flatMap((paragraph) => {
    const lines = [""];
    for (const word of paragraph.split(" ")) {
      const line = lines[lines.length - 1];
      if (line !== "" && line.length + 1 + word.length > width) lines.push(word);
      else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
    }
    return lines;
  });
}
