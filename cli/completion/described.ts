import {
  type Argument,
  type Command,
  type Completes,
  type Option,
  optionHelp,
} from "../arguments/mod.ts";

/** What a shell offers for one value. */
export interface Offer {
  readonly words: readonly string[];
  readonly lookUp?: Completes["lookUp"];
}

/** An option as shells know it. */
export interface DescribedOption {
  /** Without dashes. */
  readonly name: string;
  readonly short?: string;
  readonly help: string;
  readonly repeatable: boolean;
  /** Undefined for a flag. */
  readonly value?: Offer & { readonly label: string };
}

/** An argument as shells know it. */
export interface DescribedArgument extends Offer {
  readonly name: string;
  readonly rest: boolean;
}

/** A command as shells know it. */
export interface DescribedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly DescribedOption[];
  readonly arguments: readonly DescribedArgument[];
}

/** What can be completed of commands, the words of their values found out. */
export function describeCommands(commands: readonly Command[]): Promise<DescribedCommand[]> {
  return Promise.all(commands.map(async (command) => ({
    name: command.name,
    summary: command.summary,
    options: [
      ...await Promise.all(Object.entries(command.options).map(describeOption)),
      { name: "help", short: "h", help: "Show what the command takes", repeatable: false },
    ],
    arguments: await Promise.all(command.arguments.map(describeArgument)),
  })));
}

async function describeOption(
  [name, option]: readonly [string, Option<unknown>],
): Promise<DescribedOption> {
  const { short, type, repeatable = false } = option;
  const value = type && { label: type.label, ...await offer(type.completes) };
  return { name, short, help: optionHelp(option), repeatable, value };
}

async function describeArgument(
  { name, rest = false, completes }: Argument,
): Promise<DescribedArgument> {
  return { name, rest, ...await offer(completes) };
}

async function offer({ words, lookUp }: Completes = {}): Promise<Offer> {
  return { words: await words?.() ?? [], lookUp };
}

/** The option's spellings, with their dashes. */
export function spellings({ name, short }: { name: string; short?: string }): string[] {
  return short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];
}

/** Whether there is anything to offer. */
export function offersSome({ words, lookUp }: Offer): boolean {
  return words.length > 0 || lookUp !== undefined;
}
