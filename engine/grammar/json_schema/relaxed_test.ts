// What is left out of schemas that ask for more than a grammar can enforce, or that cost too much.
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { HERMES } from "../../chat/tools/hermes.ts";
import { heldTools } from "../../chat/tools/held_tools.ts";
import { toolConstraint } from "../../chat/tools/tool_grammar.ts";
import { Automaton } from "../automaton.ts";
import { CompiledConstraint } from "../constraint.ts";
import { type AnswerSchema, compileAnswer } from "../answer_schema.ts";
import { nodesOf } from "../grammar_size.ts";
import { grammarOfSchema } from "./mod.ts";
import { Network } from "../network.ts";
import { loadTokenizer, M40Error, readGguf } from "../../mod.ts";
import { matches } from "../../../tests/fixtures/grammar_texts.ts";

/** Which texts an answer's schema has. */
function check(answer: AnswerSchema, accepted: string[], refused: string[]): void {
  const automaton = new Automaton(compileAnswer(answer).grammar);
  const wrong = [
    ...accepted.filter((text) => !matches(automaton, text)),
    ...refused.filter((text) => matches(automaton, text)).map((text) => `not ${text}`),
  ];
  assertEquals(wrong, [], JSON.stringify(answer));
}

/** What a tool's calls are held to, among other tools. */
function heldBy(parameters: unknown, ...others: unknown[]): unknown[] {
  const tools = [parameters, ...others].map((one, i) => ({ name: `t${i}`, parameters: one }));
  return heldTools(tools, (schema, budget) => grammarOfSchema(schema, { budget, onlyNamed: true }))
    .map((tool) => tool.parameters);
}

const object = (properties: Record<string, unknown>) => ({ type: "object", properties });
const PATTERN = { type: "string", pattern: "^[^<>a]*$" };

Deno.test("a tool loses what costs too much, and no more: the maximum before the pattern", () => {
  const long = object({ s: { ...PATTERN, maxLength: 255 } });
  const small = object({ n: { type: "string", pattern: "^[a-z]+$", maxLength: 8 } });
  // Alone it is held to all of it.
  assertEquals(heldBy(long), [long]);
  const others = ["b", "c", "d", "e"].map((letter) =>
    object({ s: { type: "string", pattern: `^[^<>${letter}]*$`, maxLength: 255 } })
  );
  const held = heldBy(long, small, ...others);
  assertEquals(held[1], small);
  const lost = held.filter((one) => !JSON.stringify(one).includes("255"));
  assert(lost.length < held.length, "one is held to its length still");
  assert(lost.every((one) => JSON.stringify(one).includes("pattern")), "none loses its pattern");
});

Deno.test("formats and patterns with long maxima keep the format", () => {
  const cases: [Record<string, unknown>, string, string][] = [
    [{ format: "uri", maxLength: 2083 }, "https://example.com/a?b=c", "no uri"],
    [{ format: "email", maxLength: 254 }, "a@example.com", "nobody"],
    [{ format: "hostname", maxLength: 253 }, "a.example.com", "-a.-b"],
    [{ format: "uri", minLength: 1, maxLength: 2083 }, "urn:a:b", ":"],
  ];
  for (const [said, right, wrong] of cases) {
    const schema = { type: "string", ...said };
    check({ schema }, [`"${right}"`], [`"${wrong}"`, "1"]);
    const { maxLength: _, ...kept } = schema as Record<string, unknown>;
    assertEquals(heldBy(object({ s: schema })), [object({ s: kept })]);
    assertThrows(() => compileAnswer({ schema, strict: true }), M40Error, "#/format");
  }
});

Deno.test("keywords that no grammar can enforce are left to the model in answers, unless strict", () => {
  const cases: [schema: Record<string, unknown>, accepted: string[], refused: string[]][] = [
    [{ type: "array", items: { type: "integer" }, uniqueItems: true }, ["[1,1]"], ['["a"]']],
    [{ type: "string", format: "regex" }, ['"x"'], ["1"]],
    [
      { type: "object", additionalProperties: { type: "string" }, minProperties: 2 },
      ['{"a":"b"}', '{"a":"b","c":"d"}'],
      ["{}", '{"a":1,"b":2}'],
    ],
    [{ anyOf: [{ type: "string" }, null] }, ['"a"', "null"], ["1"]],
    [{ type: "string", pattern: "^(?=a)a$" }, ['"b"'], ["1"]],
  ];
  for (const [schema, accepted, refused] of cases) {
    check({ schema }, accepted, refused);
    assertThrows(() => compileAnswer({ schema, strict: true }), M40Error, "JSON Schema at ");
  }
});

Deno.test("formats that the specification does not know ask for nothing, strict or not", () => {
  for (const strict of [false, true]) {
    for (const format of ["path", "nanoid", "__proto__", ""]) {
      check({ schema: { type: "string", format }, strict }, ['"x"'], ["1"]);
      check({ schema: { type: "string", format, pattern: "^a$" }, strict }, ['"a"'], ['"x"']);
    }
  }
});

Deno.test("an answer's schema that is none is refused, strict or not", () => {
  for (const schema of [{ type: "text" }, { minLength: -1 }, { properties: 5 }, { $ref: "#/a" }]) {
    assertThrows(() => compileAnswer({ schema }), M40Error, "JSON Schema at ");
  }
});

Deno.test("a schema that leads back to itself is refused as that, and in a tool its reference is left out", () => {
  const endless = { $defs: { n: { $ref: "#/$defs/n" } } };
  for (const strict of [false, true]) {
    for (
      const schema of [{ $ref: "#/$defs/n", ...endless }, object({ a: { $ref: "#/properties/a" } })]
    ) {
      assertThrows(() => compileAnswer({ schema, strict }), M40Error, "leads back to itself");
    }
  }
  const others = { b: { type: "integer" } };
  const schema = { ...object({ a: { $ref: "#/$defs/n" }, ...others }), ...endless };
  const itself = object({ a: { $ref: "#/properties/a" }, ...others });
  assertEquals(heldBy(schema), [{ ...schema, $defs: { n: {} } }]);
  assertEquals(heldBy(itself), [object({ a: {}, ...others })]);
});

Deno.test("a schema that costs too much in all becomes lighter, at last its type alone", () => {
  const items = Object.fromEntries(
    Array.from({ length: 200 }, (_, i) => [`k${i}`, { ...PATTERN, maxLength: 200 }]),
  );
  check({ schema: object(items) }, ['{"k0":"bcd"}'], ["[]", '{"k0":1}']);
  // Each pattern is another automaton of thousands of states.
  const patterns = Object.fromEntries(
    Array.from({ length: 400 }, (_, i) => [
      `k${i}`,
      { type: "string", pattern: `^(a|b)*a(a|b){8}${i}$` },
    ]),
  );
  check({ schema: object(patterns) }, ['{"k0":"x"}'], ["[]"]);
  assertEquals(heldBy(object({ a: {} }), object(patterns), object({ b: {} })).length, 3);
});

Deno.test("OpenAPI's nullable is null or its type", () => {
  const nullable = { type: "string", nullable: true };
  check({ schema: nullable }, ['"a"', "null"], ["1"]);
  check({ schema: { type: "string", nullable: false } }, ['"a"'], ["null"]);
  // It is said of a type, as in OpenAPI 3.0.
  check({ schema: { enum: ["a"], nullable: true } }, ['"a"'], ["null"]);
  check({ schema: { not: nullable } }, ["1"], ['"a"', "null"]);
});

Deno.test("integers have up to 20 digits, and as many as their bounds ask for", () => {
  const nines = (count: number) => "9".repeat(count);
  check({ schema: { type: "integer" } }, [nines(20), `-${nines(20)}`, "18446744073709551615"], [
    `1${nines(20)}`,
  ]);
  check({ schema: { type: "integer", minimum: 0 } }, ["0", nines(20)], ["-1", `1${nines(20)}`]);
  check({ schema: { type: "number" } }, [`${nines(20)}.5`, "1e99"], [`1${nines(20)}`]);
  const far = JSON.parse(`{"type":"integer","minimum":1e25}`);
  check({ schema: far }, [`1${"0".repeat(25)}`, nines(26)], [nines(25)]);
  check({ schema: { type: "integer", maximum: -1e25 } }, [`-1${"0".repeat(25)}`], ["-1"]);
  check({ schema: { type: "integer", multipleOf: 1 } }, ["9007199254740993"], ["1.5"]);
  check({ schema: { type: "integer", format: "uint8" } }, ["0", "255"], ["256", "-1"]);
  check({ schema: { type: "integer", format: "uint64" } }, ["18446744073709551615"], [
    "18446744073709551616",
  ]);
  const fine = JSON.parse('{"minimum":1234567890123456,"multipleOf":0.01,"not":{"const":2e15}}');
  check({ schema: fine }, ["1234567890123456", "1234567890123456.25"], ["1234567890123455.99"]);
  // Exact, though a double is no multiple.
  check({ schema: { multipleOf: 0.01 } }, ["19.99", "1.1"], ["0.001"]);
});

Deno.test("the estimate of a grammar's size is that of its network, about", () => {
  const schemas = [
    { type: "string", maxLength: 2048 },
    { ...PATTERN, maxLength: 255 },
    { type: "array", items: { type: "integer" }, maxItems: 1000 },
    object(
      Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`p${i}`, { type: "number" }])),
    ),
    { type: "string", format: "uri" },
    { enum: Array.from({ length: 5000 }, (_, i) => `value ${i}`) },
    true,
  ];
  for (const schema of schemas) {
    const grammar = grammarOfSchema(schema);
    const ratio = nodesOf(grammar) / new Network(grammar).size;
    assert(ratio > 0.5 && ratio < 2, `${JSON.stringify(schema).slice(0, 80)}: ${ratio}`);
  }
});

Deno.test("strict tools that are too large together are refused, by tool and keyword", async () => {
  const gguf = await readGguf(
    new URL("../../../tests/data/golden/llama.gguf", import.meta.url).pathname,
  );
  const tokenizer = loadTokenizer(gguf.metadata);
  const tools = ["a", "b", "c", "d"].map((name) => ({
    name,
    strict: true,
    parameters: object({ s: { type: "string", pattern: `^[^<>${name}]*$`, maxLength: 255 } }),
  }));
  const compiled = (strict: boolean) =>
    new CompiledConstraint(toolConstraint(tokenizer, {
      format: HERMES,
      tools: tools.map((tool) => ({ ...tool, strict })),
      choice: "auto",
      parallel: true,
    }));
  const { message } = assertThrows(() => compiled(true), M40Error);
  assertMatch(message, /^tools: the parameters of [abcd]: .*too large.*"maxLength": 255/);
  compiled(false);
});
