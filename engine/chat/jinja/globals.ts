import {
  Environment,
  isInteger,
  isMapping,
  isNamespace,
  type Key,
  mapOf,
  newFunction,
  newInteger,
  newMapping,
  newNamespace,
  UNDEFINED,
  type Value,
} from "./library.ts";
import { entriesOf, iterate } from "./list_filters.ts";
import { keyOf } from "./operators.ts";
import type { Rendering } from "./rendering.ts";
import { formatTime } from "./strftime.ts";
import { fromJavaScript } from "./from_javascript.ts";
import { display } from "./write.ts";

/** What a template says by `raise_exception`. */
export class TemplateRefusal extends Error {
  override readonly name = "TemplateRefusal";
}

/** Python's `range`, as a list. */
function range(rendering: Rendering, numbers: readonly Value[]): Value {
  const [a, b, step = 1] = numbers.map((value) => {
    if (isInteger(value)) return value.value as number;
    throw new Error("range wants whole numbers");
  });
  if (a === undefined) throw new Error("range wants at least one number");
  if (step === 0) throw new Error("the step of range must not be 0");
  const [start, end] = b === undefined ? [0, a] : [a, b];
  const length = Math.max(0, Math.ceil((end - start) / step));
  rendering.budget.list(length);
  return rendering.list(Array.from({ length }, (_, i) => newInteger(start + i * step)));
}

/** The entries that `dict` and `namespace` are made from. */
function entries(
  rendering: Rendering,
  positional: readonly Value[],
  named: ReadonlyMap<string, Value>,
): Map<Key, Value> {
  const found = new Map<Key, Value>();
  const [source] = positional;
  const pairs = source === undefined
    ? []
    : isMapping(source) || isNamespace(source)
    ? [...mapOf(source)]
    : iterate(rendering, source).map((pair): [Key, Value] => {
      const [key, value] = iterate(rendering, pair);
      if (key === undefined || value === undefined) {
        throw new Error("pairs of a name and a value are wanted");
      }
      return [keyOf(rendering, key), value];
    });
  rendering.budget.list(pairs.length + named.size);
  for (const [key, value] of pairs) found.set(key, value);
  for (const [key, value] of named) found.set(key, value);
  return found;
}

/** The names that every template can use, those of Jinja and of Hugging Face's chat templates. */
export function globals(rendering: Rendering): Map<string, Value> {
  const { marks } = rendering;
  const functions = {
    range: newFunction((args) => range(rendering, args.positional)),
    dict: newFunction(({ positional, named }) => newMapping(entries(rendering, positional, named))),
    namespace: newFunction(({ positional, named }) =>
      newNamespace(entries(rendering, positional, named))
    ),
    raise_exception: newFunction((args) => {
      const message = args.get(0, "message");
      throw new TemplateRefusal(
        message === undefined ? "" : marks.plain(display(rendering, message)).slice(0, 2000),
      );
    }),
    strftime_now: newFunction((args) =>
      rendering.string(
        formatTime(rendering.now, marks.plain(args.text(0, "format", "")).slice(0, 1000)),
      )
    ),
  };
  const constants = { true: true, True: true, false: false, False: false, none: null, None: null };
  return new Map<string, Value>([
    ...Object.entries(functions),
    ...Object.entries(constants).map(([name, value]): [string, Value] => [
      name,
      fromJavaScript(rendering, value),
    ]),
  ]);
}

/** A scope with no variables of its own; those of the library begin with a `namespace`. */
export function newScope(parent?: Environment): Environment {
  const scope = new Environment(parent);
  scope.variables.clear();
  return scope;
}

/** The methods of mappings. */
export function mappingMethod(rendering: Rendering, value: Value, name: string): Value | undefined {
  if (!isMapping(value)) return undefined;
  switch (name) {
    case "items":
      return newFunction(() => rendering.list(entriesOf(rendering, value)));
    case "keys":
      return newFunction(() => rendering.list([...iterate(rendering, value)]));
    case "values":
      return newFunction(() => rendering.list([...mapOf(value).values()]));
    case "get":
      return newFunction((args) => {
        const [key = UNDEFINED] = args.positional;
        const found = mapOf(value).get(keyOf(rendering, key));
        return found ?? args.get(1, "default") ?? fromJavaScript(rendering, null);
      });
    case "copy":
      return newFunction(() => newMapping(new Map(mapOf(value))));
  }
}
