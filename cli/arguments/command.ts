import type { Completes, ValueType } from "./values.ts";

/** A word on the command line that is no option, such as MODEL. */
export interface Argument {
  /** In capitals, as help shows it. */
  readonly name: string;
  readonly help: string;
  readonly required?: boolean;
  /** Takes all words that are left. Only the last argument may. */
  readonly rest?: boolean;
  readonly completes?: Completes;
}

/** An option; `T` is what the command gets. */
export interface Option<T> {
  readonly help: string;
  /** One letter that stands for the option's name. */
  readonly short?: string;
  /** Undefined for a flag. */
  readonly type?: ValueType<unknown>;
  readonly repeatable?: boolean;
  readonly required?: boolean;
  readonly default: T;
}

/** Options by their name without the dashes. */
// deno-lint-ignore no-explicit-any
export type Options = Record<string, Option<any>>;

/** The values of a command's options. */
export type OptionValues<O extends Options> = {
  readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never;
};

/** A command of the program: all that help, parsing and running it need. */
export interface Command<O extends Options = Options> {
  readonly name: string;
  /** One line, without a full stop. */
  readonly summary: string;
  /** Paragraphs below the summary. */
  readonly description?: string;
  readonly arguments: readonly Argument[];
  readonly options: O;
  /** Options that another command has, and why this one does not, as a sentence goes on behind a semicolon. */
  readonly refused?: Readonly<Record<string, string>>;
  /** Lines that may be typed, and what they are for. */
  readonly examples: Readonly<Record<string, string>>;
  /**
   * Does the work.
   *
   * @param words The arguments, in the order of {@link arguments}; an optional one may be missing.
   * @param given The names of the options that the command line has; the others have their defaults.
   * @returns The exit code; nothing stands for 0.
   */
  run(
    words: readonly string[],
    options: OptionValues<O>,
    given: ReadonlySet<string>,
  ): Promise<number | void>;
}

/** A command, its option values typed after its options. */
export function command<O extends Options>(definition: Command<O>): Command {
  return definition as unknown as Command;
}

/** An option without a value, false unless given. */
export function flag(help: string, extra: { short?: string } = {}): Option<boolean> {
  return { help, default: false, ...extra };
}

/** An option with a value and a default. */
export function option<T>(
  type: ValueType<T>,
  help: string,
  extra: { short?: string; default: NoInfer<T> },
): Option<T>;
/** An option with a value that must be given. */
export function option<T>(
  type: ValueType<T>,
  help: string,
  extra: { short?: string; required: true },
): Option<T>;
/** An option with a value, undefined unless given. */
export function option<T>(
  type: ValueType<T>,
  help: string,
  extra?: { short?: string },
): Option<T | undefined>;
export function option<T>(
  type: ValueType<T>,
  help: string,
  extra: { short?: string; default?: T; required?: boolean } = {},
): Option<T | undefined> {
  return { help, type, default: undefined, ...extra };
}

/** An option with a value that may be given more than once. */
export function repeatable<T>(type: ValueType<T>, help: string): Option<readonly T[]> {
  return { help, type, repeatable: true, default: [] };
}
