/** Schemas and expressions that are long, deep or ambiguous. */
import {
  chat,
  completion,
  type Input,
  MOST,
  nestedSchema,
  properties,
  repeat,
  times,
  tool,
} from "./input.ts";

const schema = (name: string, schema: unknown): Input =>
  completion(`schema: ${name}`, { json_schema: schema, max_tokens: 24 });
const regex = (name: string, regex: string): Input =>
  completion(`regex: ${name}`, { regex, max_tokens: 24 });
const grammar = (name: string, grammar: string): Input =>
  completion(`GBNF: ${name}`, { grammar, max_tokens: 24 });

export const SCHEMAS: readonly Input[] = [
  schema("1,500 optional properties", { type: "object", properties: properties(1500) }),
  schema("1,500 optional properties of other names", {
    type: "object",
    properties: Object.fromEntries(
      times(1500, (i) => [`${(7919 * i + 13) % 99_991}x${i}`, {}]),
    ),
  }),
  schema("an array of an enum of 5,000 texts", {
    type: "array",
    items: { enum: times(5000, (i) => `value ${i}`) },
  }),
  schema("3,000 required properties", {
    type: "object",
    properties: properties(3000),
    required: Object.keys(properties(3000)),
  }),
  schema("an enum of 20,000 texts", {
    enum: times(20_000, (i) => `value ${i}`),
  }),
  schema("an enum of 100,000 numbers", { enum: times(100_000, (i) => i) }),
  schema("an enum of one text of 3 MB", { enum: ["x".repeat(3_000_000)] }),
  schema("a constant nested 200 deep", {
    const: repeat(200, 0).reduce<unknown>((inner) => [inner], 1),
  }),
  schema("anyOf of 200 objects", {
    anyOf: times(200, (i) => ({ properties: properties(i % 20) })),
  }),
  schema("allOf of anyOf, 16 by 16", {
    allOf: times(2, (i) => ({
      anyOf: times(16, (j) => ({
        properties: { [`a${i}${j}`]: { type: "integer", minimum: j } },
      })),
    })),
  }),
  schema("nested 200 deep", nestedSchema(200)),
  schema("a pattern of counts", { type: "string", pattern: "^((a{1,40}){1,40}){1,40}$" }),
  schema("a pattern with a long maxLength", {
    type: "string",
    pattern: "^[a-z]+(-[a-z0-9]+)*$",
    maxLength: 2000,
  }),
  schema("patterns met with patterns", {
    allOf: times(12, (i) => ({ type: "string", pattern: `[a-z]{${i}}.*x` })),
  }),
  schema("a number between many digits", {
    type: "number",
    minimum: -1.123456789012345e-200,
    maximum: 9.87654321e250,
  }),
  schema("an integer of many digits", { type: "integer", minimum: 123456789, multipleOf: 1 }),
  schema("2,048 items", {
    type: "array",
    maxItems: 2048,
    minItems: 2000,
    items: { type: "object" },
  }),
  schema("refs to refs", {
    $ref: "#/$defs/d0",
    $defs: Object.fromEntries(
      times(1000, (i) => [`d${i}`, { $ref: `#/$defs/d${(i + 1) % 1000}` }]),
    ),
  }),
  schema("refs that branch", {
    $ref: "#/$defs/d0",
    $defs: Object.fromEntries(
      times(60, (i) => [
        `d${i}`,
        { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { items: { $ref: `#/$defs/d${i + 1}` } }] },
      ]).concat([["d60", { type: "null" }]] as [string, never][]),
    ),
  }),
  schema("not of much", {
    not: { anyOf: [{ enum: times(5000, (i) => `${i}`) }] },
  }),
  schema("4 MB of descriptions", {
    type: "object",
    properties: { a: { type: "string", description: "x".repeat(MOST - 1000) } },
  }),
  schema("patternProperties", {
    type: "object",
    patternProperties: Object.fromEntries(
      times(60, (i) => [`^a${i}.*b`, { type: "string" }]),
    ),
  }),
  chat("tools: 120 of 8 enums of 300", {
    tools: times(120, (i) =>
      tool(`tool_${i}`, {
        type: "object",
        properties: properties(8, {
          enum: times(300, (j) => `value ${i} ${j}`),
        }),
      })),
  }),
  chat("tools: one with 1,500 optional properties", {
    tools: [tool("a", { type: "object", properties: properties(1500) })],
    tool_choice: "required",
  }),
  chat("tools: 2,000 of them", {
    tools: times(2000, (i) => tool(`tool_${i}`, { type: "object" })),
  }),
];

const nestedCount = (item: string, levels: number, count: string) =>
  repeat(levels, 0).reduce<string>((inner) => `(${inner})${count}`, item);

export const EXPRESSIONS: readonly Input[] = [
  regex("((a{1,100}){1,100}){1,100}", "((a{1,100}){1,100}){1,100}"),
  regex("(a|b|ab)* 100 deep", `${"(".repeat(100)}a|b${")*".repeat(100)}`),
  regex(".{1,2000}.{1,2000}", ".{1,2000}.{1,2000}"),
  regex("(.*a){20}", "(.*a){20}"),
  regex("[unicode]{2000}", "\\p{L}{1,2000}"),
  regex("many classes", "[a-z\\d\\p{Greek}]?".repeat(3000)),
  regex("100 KB of letters", "a".repeat(100_000)),
  regex("4 MB of letters", "a".repeat(MOST - 100)),
  regex(
    "alternatives of 10,000 words",
    times(10_000, (i) => `w${i}`).join("|"),
  ),
  regex("parentheses 100,000 deep", "(".repeat(100_000) + "a" + ")".repeat(100_000)),
  grammar("4 MB of one text", `root ::= "${"x".repeat(MOST - 100)}"`),
  grammar(
    "50,000 rules",
    "root ::= r0\n" +
      times(50_000, (i) => `r${i} ::= "a" r${i + 1} | "b"`).join("\n") +
      '\nr50000 ::= "c"',
  ),
  grammar("counts of counts", 'root ::= ((("a"{1,100}){1,100}){1,100}){1,100}'),
  grammar("a rule that is ambiguous", 'root ::= a\na ::= a a a a | "a" | ""'),
  grammar("ambiguous to the right", 'root ::= a a a a a a a a\na ::= "a" a | "a" a a | "a" | ""'),
  grammar("nested 50,000 deep", `root ::= ${"(".repeat(50_000)}"a"${")".repeat(50_000)}`),
  grammar("100,000 alternatives", `root ::= ${repeat(100_000, '"ab"').join(" | ")}`),
  grammar("large classes", `root ::= ${repeat(3000, "[^a-z\\u1000-\\u5000]").join(" ")}`),
  grammar("{2,3} nested 9 times", `root ::= ${nestedCount("[a-z ]", 9, "{2,3}")}`),
  grammar("{0,3} nested 8 times", `root ::= ${nestedCount("[a-z ]?", 8, "{0,3}")}`),
  grammar("ambiguous everywhere", 'root ::= a a a\na ::= [a-z ] a | [a-z ] a a | [^0] | ""'),
  grammar(
    "900 rules that begin with each other, in two ways",
    "root ::= r0\n" +
      times(900, (i) => `r${i} ::= r${i + 1} [a-z ]* | "x" r${i + 1}`)
        .join("\n") +
      "\nr900 ::= [a-z ]*",
  ),
  grammar(
    "3,000 rules of any letters",
    `root ::= (${times(3000, (i) => `r${i}`).join("|")})*\n` +
      times(3000, (i) => `r${i} ::= [a-z ]+ "${i}" r${(7 * i + 1) % 3000}?`)
        .join("\n"),
  ),
  grammar(
    "3,000 rules that may be empty",
    "root ::= r0\n" +
      times(3000, (i) => `r${i} ::= [a-z ]* r${i + 1}?`).join("\n") +
      "\nr3000 ::= [a-z ]*",
  ),
  grammar(
    "20,000 alternatives that begin alike",
    `root ::= (${times(20_000, (i) => `"a" [a-z] "${i}"`).join("|")})*`,
  ),
  regex("(.{0,50}){0,50}", "(.{0,50}){0,50}"),
  regex("(.{1,30}x?){300}", "(.{1,30}x?){300}"),
  regex(".*a.{1000}", ".*a.{1000}"),
  completion("choice of 100,000 texts", {
    choice: times(100_000, (i) => `text ${i * 7919}`),
  }),
  completion("choice of two texts of 2 MB", { choice: ["a".repeat(2e6), "b".repeat(2e6)] }),
];
