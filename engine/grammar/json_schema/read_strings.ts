/**
 * `minLength`, `maxLength`, `pattern` and `format`.
 *
 * @module
 */
import { countOf, leastOf, mostOf } from "./counts.ts";
import { FORMATS, NUMBER_FORMATS } from "./formats.ts";
import { refusal, wrong } from "./limits.ts";
import type { At, Group } from "./reading.ts";
import {
  type Alternatives,
  ANY_NUMBER,
  ANY_STRING,
  limited,
  NONE,
  type StringRule,
  type StringShape,
} from "./shapes.ts";

function strings(shape: Partial<StringShape>, at: At, keyword: string) {
  return [{ ...ANY_STRING, ...shape, place: `${at.place.pointer}/${keyword}` }];
}

const minLength: Group = {
  keywords: ["minLength"],
  holds: (at) =>
    limited({ strings: strings({ least: leastOf(at, "minLength") }, at, "minLength") }),
  fails(at) {
    const least = countOf(at, "minLength");
    if (least === 0) return NONE;
    return { ...NONE, strings: strings({ most: mostOf(at, "minLength") - 1 }, at, "minLength") };
  },
};

const maxLength: Group = {
  keywords: ["maxLength"],
  holds: (at) => limited({ strings: strings({ most: mostOf(at, "maxLength") }, at, "maxLength") }),
  fails: (at) => ({
    ...NONE,
    strings: strings({ least: leastOf(at, "maxLength") + 1 }, at, "maxLength"),
  }),
};

function ruled(at: At, kind: StringRule["kind"], negated: boolean): readonly StringShape[] {
  const name = at.schema[kind];
  const place = `${at.place.pointer}/${kind}`;
  if (typeof name !== "string") throw wrong(place, "it must be a string");
  return strings({ rules: [{ kind, name, place, negated }] }, at, kind);
}

const pattern: Group = {
  keywords: ["pattern"],
  holds: (at) => limited({ strings: ruled(at, "pattern", false) }),
  fails: (at) => ({ ...NONE, strings: ruled(at, "pattern", true) }),
};

/** The format of the specification that no grammar is made of: texts that are regular expressions. */
const NO_GRAMMAR = "regex";

const format: Group = {
  keywords: ["format"],
  holds(at): Alternatives {
    const name = at.schema.format;
    const place = `${at.place.pointer}/format`;
    if (typeof name !== "string") throw wrong(place, "it must be a string");
    if (FORMATS.has(name)) return limited({ strings: ruled(at, "format", false) });
    const range = NUMBER_FORMATS.get(name);
    if (range) return limited({ numbers: [{ ...ANY_NUMBER, ...range }] });
    if (name === NO_GRAMMAR) throw refusal(place, `no grammar is made of "${name}"`);
    // The specification lets unknown ones pass; libraries name types of their own languages so ("path", "nanoid").
    return limited({});
  },
  fails(at) {
    throw refusal(
      `${at.place.pointer}/format`,
      "the opposite of a format is wanted here (by not, oneOf or if), which no grammar is made of",
    );
  },
};

export const STRING_GROUPS: readonly Group[] = [minLength, maxLength, pattern, format];
