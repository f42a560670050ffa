import { countKeywords } from "./counts.ts";
import { FORMATS, NUMBER_FORMATS } from "./formats.ts";
import { refusal, wrong } from "./limits.ts";
import { type At, type Group, noOpposite, pointerOf } from "./reading.ts";
import {
  type Alternatives,
  ANY_NUMBER,
  ANY_STRING,
  limited,
  only,
  type StringRule,
  type StringShape,
} from "./shapes.ts";

function strings(at: At, keyword: string, shape: Partial<StringShape>): Partial<Alternatives> {
  return { strings: [{ ...ANY_STRING, ...shape, place: pointerOf(at, keyword) }] };
}

function ruled(at: At, kind: StringRule["kind"], negated: boolean): Partial<Alternatives> {
  const name = at.schema[kind];
  const place = pointerOf(at, kind);
  if (typeof name !== "string") throw wrong(place, "it must be a string");
  return strings(at, kind, { rules: [{ kind, name, place, negated }] });
}

const pattern: Group = {
  keywords: ["pattern"],
  holds: (at) => limited(ruled(at, "pattern", false)),
  fails: (at) => only(ruled(at, "pattern", true)),
};

/** The format of the specification that no grammar is made of: texts that are regular expressions. */
const NO_GRAMMAR = "regex";

const format: Group = {
  keywords: ["format"],
  holds(at): Alternatives {
    const name = at.schema.format;
    const place = pointerOf(at, "format");
    if (typeof name !== "string") throw wrong(place, "it must be a string");
    if (FORMATS.has(name)) return limited(ruled(at, "format", false));
    const range = NUMBER_FORMATS.get(name);
    if (range) return limited({ numbers: [{ ...ANY_NUMBER, ...range }] });
    if (name === NO_GRAMMAR) throw refusal(place, `no grammar is made of "${name}"`);
    // The specification lets unknown ones pass; libraries name types of their own languages so ("path", "nanoid").
    return limited({});
  },
  fails(at) {
    throw noOpposite(at, "format", "a format");
  },
};

/** `minLength`, `maxLength`, `pattern` and `format`. */
export const STRING_GROUPS: readonly Group[] = [
  ...countKeywords("Length", strings),
  pattern,
  format,
];
