import { M40Error } from "../../../engine/errors.ts";
import { CompiledConstraint, type Constraint } from "../../../engine/grammar/constraint.ts";
import type { FuzzTarget } from "../target.ts";

/** A target of texts that constrain an answer: each is compiled, or refused in words. */
function constraintTarget(
  name: string,
  seeds: readonly string[],
  dictionary: readonly string[],
  constraintOf: (text: string) => Constraint,
): FuzzTarget {
  return {
    name,
    within: ["/engine/grammar/"],
    dictionary,
    maxBytes: 4 * 1024,
    seeds: () => seeds.map((text) => new TextEncoder().encode(text)),
    run(input) {
      try {
        new CompiledConstraint(constraintOf(new TextDecoder().decode(input)));
      } catch (error) {
        if (!(error instanceof M40Error) || error.code !== "invalid_request") throw error;
      }
    },
  };
}

/** Grammars in GBNF. */
export const GBNF: FuzzTarget = constraintTarget(
  "gbnf",
  [
    'root ::= "a" b* ("c" | [^d-f\\n]){2,3} .\nb ::= "\\x41" # note\n',
    'root ::= item (", " item)*\nitem ::= [a-z]+ | "\\"" root "\\""?\n',
  ],
  [
    "::=",
    "|",
    "*",
    "+",
    "?",
    "{1,}",
    "{0,9}",
    "[^",
    "]",
    "(",
    ")",
    '"',
    "\\u0041",
    "\\",
    "root",
    "\n",
    "#",
    ".",
  ],
  (text) => ({ kind: "gbnf", text }),
);

/** Regular expressions. */
export const REGEX: FuzzTarget = constraintTarget(
  "regex",
  ["^(a|b)*?[^c-e]{2,4}\\d\\w\\s.$", "(?:x|(?<n>y))+\\p{L}\\u{1F600}?"],
  [
    "(",
    ")",
    "(?:",
    "(?=",
    "|",
    "*",
    "+",
    "?",
    "{1,}",
    "{0,9}",
    "[^",
    "]",
    "\\d",
    "\\p{L}",
    "\\b",
    "^",
    "$",
    "\\",
  ],
  (pattern) => ({ kind: "regex", pattern }),
);

/** JSON Schemas; what is no JSON is passed over. */
export const JSON_SCHEMA: FuzzTarget = constraintTarget(
  "json-schema",
  [
    '{"type":"object","properties":{"a":{"type":"integer","minimum":-3},"b":{"enum":["x",null,1.5]}},"required":["a"]}',
    '{"$ref":"#/$defs/t","$defs":{"t":{"anyOf":[{"type":"string","pattern":"^a+$","maxLength":9},{"$ref":"#/$defs/t"}]}}}',
    '{"type":"array","prefixItems":[{"const":{"a":[]}}],"items":{"format":"date-time"},"minItems":1,"maxItems":4}',
  ],
  [
    ...[
      '"type"',
      '"object"',
      '"array"',
      '"string"',
      '"number"',
      '"integer"',
      '"null"',
      '"properties"',
      '"items"',
    ],
    ...[
      '"required"',
      '"enum"',
      '"const"',
      '"anyOf"',
      '"allOf"',
      '"oneOf"',
      '"not"',
      '"$ref"',
      '"#/"',
      '"pattern"',
    ],
    ...[
      '"minLength"',
      '"maxLength"',
      '"minItems"',
      '"maxItems"',
      '"minimum"',
      '"maximum"',
      '"multipleOf"',
    ],
    ...[
      '"additionalProperties"',
      '"patternProperties"',
      '"format"',
      "true",
      "false",
      "null",
      "{}",
      "[]",
      "1e400",
    ],
  ],
  (text) => ({ kind: "json_schema", schema: parsed(text) }),
);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return true;
  }
}
