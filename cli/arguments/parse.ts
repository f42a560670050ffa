import { parseArgs } from "node:util";
import { nearest } from "../../engine/nearest.ts";
import type { Command, Option } from "./command.ts";
import { UsageError } from "../errors.ts";

/** What a command line says. */
export interface ParsedLine {
  readonly words: string[];
  readonly options: Record<string, unknown>;
  /** The names of the options that it has; the others have their defaults. */
  readonly given: ReadonlySet<string>;
  /** Whether `--help` or `-h` is among the options. */
  readonly help: boolean;
}

type Token = NonNullable<ReturnType<typeof parseArgs>["tokens"]>[number];
type OptionToken = Extract<Token, { kind: "option" }>;

/**
 * Reads a command's words and options.
 *
 * @param args What stands behind the command's name.
 * @throws {UsageError} With what was got and what was wanted.
 */
export function parseLine(command: Command, args: readonly string[]): ParsedLine {
  const words: string[] = [];
  const given = new Map<string, unknown[]>();
  let help = false;
  for (const token of tokenize(command, args)) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    if (token.rawName === "--help" || token.rawName === "-h") {
      help = true;
      continue;
    }
    const option = Object.hasOwn(command.options, token.name) ? command.options[token.name] : null;
    if (option === null) throw unknownOption(command, token);
    const values = given.get(token.name) ?? [];
    if (values.length > 0 && !option.repeatable) {
      throw new UsageError(`--${token.name} is given twice`, command.name);
    }
    given.set(token.name, [...values, readValue(command, token, option)]);
  }
  if (help) return { words, options: {}, given: new Set(), help };
  checkWords(command, words);
  const options: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(command.options)) {
    const values = given.get(name);
    if (values === undefined && option.required) {
      throw new UsageError(`--${name} ${option.type?.label} is missing`, command.name);
    }
    options[name] = values === undefined ? option.default : option.repeatable ? values : values[0];
  }
  return { words, options, given: new Set(given.keys()), help };
}

function tokenize(command: Command, args: readonly string[]): Token[] {
  const options = Object.entries(command.options).map(([name, { type, short }]) => [
    name,
    { type: type ? "string" : "boolean", multiple: true, ...(short && { short }) },
  ]);
  // Not strict: the tokens are checked here, with messages that name what was wanted.
  return parseArgs({
    args: [...args],
    options: Object.fromEntries(options),
    strict: false,
    allowPositionals: true,
    tokens: true,
  }).tokens;
}

function readValue(command: Command, token: OptionToken, option: Option<unknown>): unknown {
  const { type } = option;
  const { value } = token;
  if (!type) {
    if (value === undefined) return true;
    throw new UsageError(`--${token.name} takes no value, got ${quote(value)}`, command.name);
  }
  const isOption = !token.inlineValue && value !== undefined && /^--?[a-z]/i.test(value) &&
    Object.hasOwn(command.options, value.replace(/^--?/, "").split("=", 1)[0]);
  if (value === undefined || isOption) {
    throw new UsageError(`--${token.name} needs a value: wanted ${type.wanted}`, command.name);
  }
  const parsed = type.parse(value);
  if (parsed !== undefined) return parsed;
  throw new UsageError(
    `--${token.name}: got ${quote(value)}, wanted ${type.wanted}`,
    command.name,
  );
}

function unknownOption(command: Command, { name, rawName }: OptionToken): UsageError {
  if (!rawName.startsWith("--")) {
    return new UsageError(
      `m40 ${command.name} has no option ${quote(rawName)}; ` +
        "put -- in front of a text that starts with a dash",
      command.name,
    );
  }
  const reason = command.refused?.[name];
  if (reason !== undefined) {
    return new UsageError(
      `m40 ${command.name} has no option ${quote(rawName)}; ${reason}`,
      command.name,
    );
  }
  const near = nearest(name, [...Object.keys(command.options), "help"]);
  return new UsageError(
    `m40 ${command.name} has no option ${quote(rawName)}` +
      (near === undefined ? "" : `; did you mean --${near}?`),
    command.name,
  );
}

function checkWords(command: Command, words: readonly string[]): void {
  const missing = command.arguments.find((argument, i) => argument.required && i >= words.length);
  if (missing) throw new UsageError(`${missing.name} is missing: ${missing.help}`, command.name);
  const { length } = command.arguments;
  if (words.length > length && !command.arguments.at(-1)?.rest) {
    const hint = command.options.model && length === 0
      ? `; did you mean --model ${words[0]}?`
      : length === 0
      ? ""
      : "; put a text of several words in quotes";
    throw new UsageError(
      `m40 ${command.name} takes ${
        length === 0 ? "no arguments" : command.arguments.map(({ name }) => name).join(" ")
      }, got ${quote(words[length])} as well${hint}`,
      command.name,
    );
  }
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? text.slice(0, 77) + "..." : text);
}
