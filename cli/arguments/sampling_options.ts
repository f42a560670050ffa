import type { Engine, GenerateRequest } from "../../engine/mod.ts";
import {
  NAMED_PARAMETERS,
  type NamedParameter,
  type Range,
  SAMPLING_DEFAULTS,
  type SAMPLING_PARAMETERS,
  type SamplingParameter,
  type SamplingParameters,
  type Separated,
  separated,
} from "../../engine/sampling/mod.ts";
import { flag, type Option, option, type OptionValues, repeatable } from "./command.ts";
import { choice, integer, number, seed, text, type ValueType } from "./values.ts";

/** The parameters that the command line has an option for, by the options' names. */
type Flag<P extends SamplingParameter> = P extends "stream" | "logitBias" ? never
  : Table[P] extends { readonly flag: infer F extends string } ? F
  : Separated<P, "-">;

type Table = typeof SAMPLING_PARAMETERS;

/** The option of a parameter of each type. */
interface OptionOf {
  number: Option<number | undefined>;
  boolean: Option<boolean>;
  texts: Option<readonly string[]>;
  biases: never;
  seed: Option<bigint | undefined>;
}

/** The option's name, and the parameter that it sets. */
const PARAMETERS = NAMED_PARAMETERS
  .filter(({ internal, flag }) => !internal && flag !== null)
  .map((one) => ({ ...one, flag: one.flag ?? separated(one.name, "-") }));

/** A parameter's description as help: other parameters by their options' names, without the last full stop. */
function help({ description, default: value }: NamedParameter): string {
  const text = PARAMETERS.reduce(
    (text, { field, flag }) =>
      field.includes("_") ? text.replaceAll(new RegExp(`\\b${field}\\b`, "g"), `--${flag}`) : text,
    description.replace(/\.$/, ""),
  );
  return typeof value === "number" ? `${text}; default: ${value}` : text;
}

function optionOf(one: NamedParameter): Option<unknown> {
  const { type, choices } = one;
  if (type === "boolean") return flag(help(one));
  if (type === "texts") return repeatable(text(), help(one));
  if (type === "seed") return option(seed(), `${help(one)}; default: another one each time`);
  return option(choices ? oneOf(choices) : number(one as Range), help(one));
}

/** One of a few numbers. */
function oneOf(numbers: readonly number[]): ValueType<number> {
  const words = choice(...numbers.map(String));
  return {
    ...words,
    parse: (text) => words.parse(text) === undefined ? undefined : Number(text),
  };
}

/** How tokens are sampled: an option for each of the engine's parameters. One that is not given is the model's own. */
export const SAMPLING_OPTIONS = Object.fromEntries(
  PARAMETERS.map((one) => [one.flag, optionOf(one)]),
) as { [P in SamplingParameter as Flag<P>]: OptionOf[Table[P]["type"]] };

/** What an answer is made by. */
export const ANSWER_OPTIONS = {
  "max-tokens": option(
    integer(1),
    "Tokens of the answer at most; default: what the context has room for",
  ),
  ...SAMPLING_OPTIONS,
  stop: repeatable(
    text(),
    "A text that ends the answer and is left out of it; default: the model's own",
  ),
};

/** Values of {@link ANSWER_OPTIONS}. */
export type AnswerOptions = OptionValues<typeof ANSWER_OPTIONS>;

/** Whether an option's value is what it has where it was not given. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === false || Array.isArray(value) && value.length === 0;
}

/**
 * The engine's parameters; what was not given is not in it.
 *
 * @param isGiven Whether a value that is there was given; by default not where it is that of an option that was not.
 */
export function samplingOf(
  options: Partial<OptionValues<typeof SAMPLING_OPTIONS>>,
  isGiven = (value: unknown) => !isAbsent(value),
): Partial<SamplingParameters> {
  const values = options as Record<string, unknown>;
  const given = PARAMETERS.filter(({ flag }) => flag in values && isGiven(values[flag]));
  return Object.fromEntries(given.map(({ name, flag }) => [name, values[flag]]));
}

/** What a request says of its answer. */
export function answerRequest(
  options: AnswerOptions,
): Pick<GenerateRequest, "maxTokens" | "stop" | "sampling"> {
  return {
    maxTokens: options["max-tokens"],
    stop: options.stop,
    sampling: samplingOf(options),
  };
}

/** What holds where an option is not given, by the options' names. */
export function answerDefaults(
  { samplingDefaults: model, stopDefaults }: Pick<Engine, "samplingDefaults" | "stopDefaults">,
): Record<string, unknown> {
  const parameters = { ...SAMPLING_DEFAULTS, ...model };
  return {
    ...Object.fromEntries(PARAMETERS.map(({ name, flag }) => [flag, parameters[name]])),
    "max-tokens": "what the context has room for",
    seed: "another one each time",
    stop: stopDefaults.length > 0 ? stopDefaults : "none",
  };
}
