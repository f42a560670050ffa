/**
 * The fields by which a request says what its answer must be like: llama.cpp's and vLLM's names for the same,
 * and OpenAI's `response_format`.
 *
 * @module
 */
import { z } from "zod";
import { isJsonObject, parseJson } from "../../engine/json/mod.ts";
import type { Constraint } from "../../engine/mod.ts";
import { invalid, unsupported } from "../errors.ts";
import { boolean, describe, string, strings, typeName, wants } from "./fields.ts";

const anything = (description: string) => z.unknown().optional().describe(description);

/** Fields whose empty text says nothing, as frontends always send it. vLLM's and SGLang's empty grammar has no rule. */
const NONE_IF_EMPTY: ReadonlySet<string> = new Set(["grammar", "grammar_string", "regex_pattern"]);

const schema = (description: string) =>
  z.unknown().optional().meta({
    anyOf: [{ type: "object" }, { type: "boolean" }, { type: "string" }, { type: "null" }],
    description,
  });

const structuredOutputs = z.object({
  grammar: string("A grammar in GBNF."),
  regex: string("A regular expression."),
  choice: strings("Texts, of which the answer is one."),
  json_object: boolean("Whether the answer is a JSON object."),
  json: schema("A JSON Schema, or the text of one."),
  structural_tag: anything("Not supported: absent."),
  whitespace_pattern: anything("Not supported: absent."),
  disable_any_whitespace: anything("Not supported but for false."),
  disable_additional_properties: boolean(
    "Whether objects have only the members that the schema names, unless it has additionalProperties. It counts " +
      "for every field that brings a schema. Absent: true.",
  ),
}, wants("an object")).nullish().describe(
  "vLLM's name for one of these. At most one may be there.",
);

/** What an answer must be like, alike in every route that generates. At most one of them may be there. */
export const constraintFields = {
  response_format: z.looseObject({ type: z.string(wants("a string")) }, wants("an object"))
    .nullish().describe(
      '{"type": "json_schema", "json_schema": {"schema": …}}: the answer is JSON that the schema accepts. ' +
        '{"type": "json_object"}: it is a JSON object, or with "schema" (llama.cpp) or "value" (Hugging Face) JSON ' +
        'by that schema. {"type": "text"}: it is free. With "strict" and a schema, one that no grammar can ensure ' +
        "is refused; without it, what no grammar can enforce is left to the model.",
    ),
  grammar: string(
    "A grammar in GBNF, llama.cpp's notation, that the answer matches; its text begins with the rule root.",
  ),
  regex: string("A regular expression that all of the answer matches."),
  choice: strings("Texts, of which the answer is one."),
  json_schema: schema(
    "A JSON Schema that the answer, which is JSON, is valid by; llama.cpp's name. Objects have no members that it " +
      "does not name, unless it says otherwise.",
  ),
  structured_outputs: structuredOutputs,
  guided_grammar: string("vLLM's older name of grammar."),
  ebnf: string("SGLang's name of grammar."),
  grammar_string: string("TabbyAPI's name of grammar."),
  regex_pattern: string("TabbyAPI's name of regex."),
  guided_regex: string("vLLM's older name of regex."),
  guided_choice: strings("vLLM's older name of choice."),
  guided_json: schema("vLLM's older name of json_schema."),
  guided_whitespace_pattern: anything("Not supported: absent."),
};

/** What a schema with {@link constraintFields} gives of them. */
export type ConstraintFields = {
  [Field in keyof typeof constraintFields]?: z.output<(typeof constraintFields)[Field]>;
};

/** Options of vLLM's that change what a JSON Schema allows. */
const REFUSED_OPTIONS = [
  "structural_tag",
  "whitespace_pattern",
  "disable_any_whitespace",
] as const;

/**
 * What the answer must be like; undefined where the fields say nothing of it.
 *
 * @throws {HttpError} 400 naming the field: for more than one of them, and for what is not supported.
 */
export function constraintOf(fields: ConstraintFields): Constraint | undefined {
  for (const name of NAMES) if (fields[name] != null) return onlyConstraint(fields);
  return undefined;
}

const NAMES = Object.keys(constraintFields) as readonly (keyof ConstraintFields)[];

function onlyConstraint(fields: ConstraintFields): Constraint | undefined {
  const found = [...constraintsOf(fields)];
  if (found.length > 1) {
    const [first, second] = found;
    throw invalid(
      second.param!,
      `${first.param} and ${second.param} both say what the answer must be like. Send one of them.`,
    );
  }
  const [constraint] = found;
  const onlyNamed = fields.structured_outputs?.disable_additional_properties;
  if (onlyNamed == null || constraint?.kind !== "json_schema") return constraint;
  return { ...constraint, onlyNamed };
}

function* constraintsOf(fields: ConstraintFields): Generator<Constraint> {
  yield* formatConstraint(fields.response_format);
  const { structured_outputs: outputs } = fields;
  const names: [string, string | null | undefined, "gbnf" | "regex"][] = [
    ["grammar", fields.grammar, "gbnf"],
    ["guided_grammar", fields.guided_grammar, "gbnf"],
    ["ebnf", fields.ebnf, "gbnf"],
    ["grammar_string", fields.grammar_string, "gbnf"],
    ["structured_outputs.grammar", outputs?.grammar, "gbnf"],
    ["regex", fields.regex, "regex"],
    ["guided_regex", fields.guided_regex, "regex"],
    ["regex_pattern", fields.regex_pattern, "regex"],
    ["structured_outputs.regex", outputs?.regex, "regex"],
  ];
  for (const [param, text, kind] of names) {
    if (text == null || (text === "" && NONE_IF_EMPTY.has(param))) continue;
    yield kind === "gbnf" ? { kind, text, param } : { kind, pattern: text, param };
  }
  const choices: [string, readonly string[] | undefined][] = [
    ["choice", fields.choice],
    ["guided_choice", fields.guided_choice],
    ["structured_outputs.choice", outputs?.choice],
  ];
  for (const [param, texts] of choices) {
    if (texts !== undefined) yield { kind: "choice", texts, param };
  }
  if (outputs?.json_object) yield { kind: "json_object", param: "structured_outputs.json_object" };
  const schemas: [string, unknown][] = [
    ["json_schema", fields.json_schema],
    ["guided_json", fields.guided_json],
    ["structured_outputs.json", outputs?.json],
  ];
  for (const [param, value] of schemas) {
    if (value == null) continue;
    yield { kind: "json_schema", schema: parsedSchema(param, value), param };
  }
  for (const option of REFUSED_OPTIONS) {
    const value = outputs?.[option];
    if (value != null && value !== false) refuse(`structured_outputs.${option}`);
  }
  if (fields.guided_whitespace_pattern != null) refuse("guided_whitespace_pattern");
}

function* formatConstraint(format: ConstraintFields["response_format"]): Generator<Constraint> {
  if (format == null || format.type === "text") return;
  const param = "response_format";
  if (format.type === "json_schema") {
    const { json_schema: named } = format;
    const { schema, strict } = isJsonObject(named) ? named : {};
    if (schema == null) {
      throw invalid(
        "response_format.json_schema",
        `response_format.json_schema: wanted an object with the JSON Schema as schema; got ${
          describe(isJsonObject(named) ? schema : named)
        }.`,
      );
    }
    yield { kind: "json_schema", schema, param, ...strict === true ? { strict } : {} };
  } else if (format.type === "json_object") {
    // The clients of llama.cpp and of Hugging Face say more of it in these ways.
    const schema = format.schema ?? format.value;
    if (schema != null) yield { kind: "json_schema", schema, param };
    else yield { kind: "json_object", param };
  } else {
    throw unsupported(
      param,
      `response_format: the type ${
        typeName(format.type)
      } is not supported. Ask for "json_schema" or "json_object", or send a grammar.`,
    );
  }
}

/** A schema that may have come as the text of one. */
function parsedSchema(param: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return parseJson(value);
  } catch (error) {
    throw invalid(
      param,
      `${param}: wanted a JSON Schema, or the text of one; got ${describe(value)}: ${
        (error as Error).message
      }.`,
    );
  }
}

function refuse(param: string): never {
  throw unsupported(param, `${param} is not supported. Leave it out.`);
}
