import { bind, string } from "./arguments.ts";
import { Cycler, Joiner } from "./cycler.ts";
import { overflowError, TemplateRefusal, typeError, valueError } from "./errors.ts";
import { iterate } from "./iterate.ts";
import { hashOf } from "./operators.ts";
import { ELEMENT, type Rendering } from "./rendering.ts";
import { formatTime } from "./strftime.ts";
import { type Args, Dict, Func, Namespace, Range, typeName, type Value } from "./values.ts";
import { display } from "./write.ts";

/** Elements of a range, as the sandbox of `transformers` has it. */
const LONGEST_RANGE = 100_000;

/** Characters that a new mapping counts as. */
const NEW_MAPPING = 128;

/** Characters that one of a date's format counts as. */
const DATE_CHARACTER = 40;

function range({ positional, named }: Args): Value {
  if (named.size > 0 || positional.length < 1 || positional.length > 3) {
    throw typeError("range wants one to three whole numbers");
  }
  const [a, b, step = 1] = positional.map((value) => {
    if (typeof value === "number") return value;
    if (typeof value === "boolean") return Number(value);
    if (typeof value === "bigint") throw overflowError(`range takes no ${value}`);
    throw typeError(`range wants whole numbers, got ${typeName(value)}`);
  });
  if (step === 0) throw valueError("the step of range must not be 0");
  const found = b === undefined ? new Range(0, a, 1) : new Range(a, b, step);
  if (found.length > LONGEST_RANGE) {
    throw overflowError(`got a range of ${found.length} numbers; wanted at most ${LONGEST_RANGE}`);
  }
  return found;
}

/** The mapping that `dict` and `namespace` are made from. */
function mapping(rendering: Rendering, { positional, named }: Args): Dict {
  if (positional.length > 1) throw typeError("dict wants one mapping or list of pairs");
  rendering.budget.scan(NEW_MAPPING);
  const dict = new Dict();
  const [source] = positional;
  if (source instanceof Dict) {
    rendering.budget.scan(ELEMENT * source.size);
    for (const [hash, key] of source.hashes()) dict.set(hash, key, source.get(hash)!);
  } else if (source !== undefined) {
    for (const pair of iterate(rendering, source)) {
      const [key, value, more] = iterate(rendering, pair);
      if (key === undefined || value === undefined || more !== undefined) {
        throw valueError("pairs of a key and a value are wanted");
      }
      rendering.budget.list(1);
      dict.set(hashOf(rendering, key), key, value);
    }
  }
  for (const [key, value] of named) dict.set(key, key, value);
  rendering.budget.list(dict.size);
  return dict;
}

function raise(rendering: Rendering, args: Args): never {
  const [message] = bind("raise_exception", args, ["message"]);
  throw new TemplateRefusal(
    message === undefined ? "" : rendering.marks.plain(display(rendering, message)).slice(0, 2000),
  );
}

/** The names that every template can use, those of Jinja and of Hugging Face's chat templates. */
export function globals(rendering: Rendering): Map<string, Value> {
  const functions: Record<string, (args: Args) => Value> = {
    range,
    dict: (args) => mapping(rendering, args),
    namespace: (args) => new Namespace(mapping(rendering, args)),
    cycler: ({ positional, named }) => {
      if (named.size > 0) throw typeError("cycler takes no arguments by name");
      return new Cycler(positional);
    },
    joiner: (args) => new Joiner(args),
    raise_exception: (args) => raise(rendering, args),
    strftime_now: (args) => {
      const [format] = bind("strftime_now", args, ["format"], 1);
      const plain = rendering.marks.plain(string(format, "strftime_now")).slice(0, 1000);
      rendering.budget.scan(DATE_CHARACTER * plain.length);
      return rendering.string(formatTime(rendering.now, plain));
    },
  };
  return new Map(Object.entries(functions).map(([name, work]) => [name, new Func(name, work)]));
}
