import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { Automaton } from "../automaton.ts";
import { grammarOfSchema, type JsonSchemaOptions } from "./mod.ts";
import { parseJson } from "../../json/parse_json.ts";
import { M40Error } from "../../mod.ts";
import { matches } from "../../../tests/fixtures/grammar_texts.ts";
import { SchemaTexts } from "../../../tests/fixtures/json_schema_agreement.ts";

const automatonOf = (schema: unknown, options?: JsonSchemaOptions) =>
  new Automaton(grammarOfSchema(schema, options));

/** Checks which texts a schema has. */
function check(
  schema: unknown,
  accepted: string[],
  refused: string[],
  options?: JsonSchemaOptions,
) {
  const automaton = automatonOf(schema, options);
  const wrong = [
    ...accepted.filter((text) => !matches(automaton, text)),
    ...refused.filter((text) => matches(automaton, text)).map((text) => `not ${text}`),
  ];
  assertEquals(wrong, [], JSON.stringify(schema));
}

Deno.test("JSON Schema: an object has its properties in their order, optional ones or not, then others", () => {
  const schema = {
    type: "object",
    properties: { a: { type: "integer" }, b: { type: "boolean" }, c: { type: "null" } },
    required: ["b"],
  };
  check(
    schema,
    ['{"b":true}', '{"a":1,"b":true,"c":null}', '{"a": 1, "b": false}', '{"b":true,"x":[1,{}]}'],
    [
      "{}",
      '{"a":1}',
      '{"b":true,"a":1}',
      '{"b":1}',
      '{"b":true,}',
      '{,"b":true}',
      '{"b":true,"a":"x"}',
    ],
  );
  check({ ...schema, additionalProperties: false }, ['{"b":true,"c":null}'], ['{"b":true,"x":1}']);
});

Deno.test("JSON Schema: a blank may come behind a comma and a colon, and no other white space", () => {
  const schema = { type: "object", properties: { a: { items: { type: "integer" } } } };
  const [none, single, any] = [
    '{"a":[1,2]}',
    '{"a": [1, 2]}',
    '{\n  "a": [\n    1,\n    2\n  ]\n}',
  ];
  check(schema, [none, single, '{"a":[1, 2]}'], [any, '{"a":  [1]}', '{"a" :[1]}']);
});

Deno.test("JSON Schema: strings follow pattern, length, format and excluded values at once", () => {
  check(
    { type: "string", pattern: "^[a-z]+$", minLength: 2, maxLength: 3, not: { const: "abc" } },
    [
      '"ab"',
      '"xyz"',
    ],
    ['"a"', '"abcd"', '"abc"', '"aB"', '""'],
  );
  check({ type: "string", minLength: 2, maxLength: 2 }, [
    '"é😀"',
    '"\\n\\u00e9"',
    '"\\ud83d\\ude00a"',
  ], [
    '"é"',
    '"abc"',
    '"\\ud83d\\ude00"',
    '"\\ud83da"',
  ]);
  check({ pattern: '\n"' }, ['"a\\n\\""', "1"], ['"a"', '"\n\\""', '"\\u000a\\""']);
  check({ type: "string", format: "date" }, ['"2024-02-29"'], ['"2023-02-29"', '"2023-04-31"']);
  check({ type: "string", format: "uuid", pattern: "^f" }, [
    '"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"',
  ], [
    '"a81d4fae-7dec-11d0-a765-00a0c91e6bf6"',
  ]);
  check({ type: "string", format: "ipv6" }, ['"::1"', '"1:2:3:4:5:6:7:8"', '"::ffff:1.2.3.4"'], [
    '"1:2:3"',
    '":::"',
    '"1::2::3"',
  ]);
});

Deno.test("JSON Schema: integers are within their bounds, and multiples", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -3000, max: 3000 }),
      fc.nat(4000),
      fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
      fc.boolean(),
      (minimum, span, multipleOf, exclusive) => {
        const maximum = minimum + span;
        const bounds = exclusive
          ? { exclusiveMinimum: minimum - 1, exclusiveMaximum: maximum + 1 }
          : { minimum, maximum };
        const divisor = multipleOf === undefined ? {} : { multipleOf };
        const multiples = Math.floor(maximum / (multipleOf ?? 1)) -
          Math.ceil(minimum / (multipleOf ?? 1)) + 1;
        const schema = { type: "integer", ...bounds, ...divisor };
        if (multiples === 0) {
          assertThrows(() => automatonOf(schema), M40Error, "no value follows");
          return;
        }
        const automaton = automatonOf(schema);
        for (let value = minimum - 12; value <= maximum + 12; value += 1 + Math.floor(span / 90)) {
          const wanted = value >= minimum && value <= maximum && value % (multipleOf ?? 1) === 0;
          assertEquals(
            matches(automaton, String(value)),
            wanted,
            `${JSON.stringify(schema)} ${value}`,
          );
        }
        for (const text of ["-0", "01", "1.0", "+1", "1e0", ""]) assert(!matches(automaton, text));
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("JSON Schema: numbers of one value are each written as their own place has them", () => {
  const pair = (...items: string[]) =>
    parseJson(
      `{"type":"array","prefixItems":[${items}],"minItems":${items.length},"maxItems":${items.length}}`,
    );
  check(pair('{"const":1}', '{"const":1.0}'), ["[1,1.0]"], ["[1.0,1.0]", "[1,1]"]);
  check(pair('{"const":1.0}', '{"const":1}'), ["[1.0,1]"], ["[1,1]", "[1.0,1.0]"]);
  check(parseJson('{"const":[1,1.0,1e0]}'), ["[1,1.0,1e0]"], ["[1e0,1e0,1e0]", "[1,1,1]"]);
  check(pair('{"enum":[1,3]}', '{"enum":[3.00,1.0]}'), ["[1,3.00]", "[3,1.0]"], ["[1.0,3.00]"]);
  // Still they are one value.
  check(parseJson('{"enum":[1.0,2.0],"not":{"const":1}}'), ["2.0"], ["1", "1.0", "2"]);
  check(parseJson('{"allOf":[{"enum":[1,2]},{"enum":[2.0,3]}]}'), ["2"], ["1", "3", "2.0"]);
  check(
    parseJson(
      '{"type":"array","items":{"anyOf":[{"const":1},{"const":1.0}]},"uniqueItems":true,"minItems":1}',
    ),
    ["[1]"],
    ["[1,1.0]", "[1,1]"],
  );
});

Deno.test("JSON Schema: decimals are within their bounds, which may be excluded", () => {
  const bound = fc.integer({ min: -5000, max: 5000 }).map((value) => value / 100);
  fc.assert(
    fc.property(bound, bound, fc.boolean(), (a, b, exclusive) => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      const schema = exclusive
        ? { type: "number", exclusiveMinimum: low, exclusiveMaximum: high }
        : { type: "number", minimum: low, maximum: high };
      if (exclusive && low === high) return;
      const automaton = automatonOf(schema);
      for (const base of [low, high, (low + high) / 2, 0, Math.trunc(low), Math.trunc(high)]) {
        for (const delta of [0, 0.001, -0.001, 0.5, -0.5, 1, -1, 10, -10]) {
          const text = (base + delta).toFixed(4);
          const value = Number(text);
          const wanted = exclusive ? value > low && value < high : value >= low && value <= high;
          if (Object.is(value, -0) || text.startsWith("-0.0000")) continue;
          assertEquals(matches(automaton, text), wanted, `${JSON.stringify(schema)} ${text}`);
        }
      }
    }),
    { numRuns: 100 },
  );
  check({ type: "number", multipleOf: 0.25, minimum: 1 }, ["1", "1.25", "7.50", "12.000"], [
    "1.2",
    "0.75",
    "1.250001",
    "1.",
  ]);
});

Deno.test("JSON Schema: arrays have their tuples, counts and what they contain", () => {
  check(
    {
      type: "array",
      prefixItems: [{ type: "integer" }, { type: "null" }],
      items: { const: "x" },
      maxItems: 3,
    },
    ["[]", "[1]", "[1,null]", '[1,null,"x"]'],
    ["[null]", "[1,2]", '[1,null,"y"]', '[1,null,"x","x"]'],
  );
  check({ type: "array", items: { type: "integer" }, minItems: 2, maxItems: 3 }, [
    "[1,2]",
    "[1, 2, 3]",
  ], [
    "[1]",
    "[1,2,3,4]",
    "[1,]",
  ]);
  check(
    {
      type: "array",
      items: { enum: ["a", "b"] },
      contains: { const: "a" },
      minContains: 2,
      maxContains: 3,
      maxItems: 5,
    },
    ['["a","a"]', '["a","b","a","b","a"]'],
    ['["a"]', '["a","a","a","a"]', '["a","a","b","b","b","b"]'],
  );
  check({ type: "array", items: { enum: ["a", "b", 1] }, uniqueItems: true, minItems: 1 }, [
    '["b"]',
    '["b",1,"a"]',
  ], ['["b","b"]', "[]", '["a",1,"a"]']);
});

Deno.test("JSON Schema: branches are distinguished, merged and turned round", () => {
  const shapes = {
    oneOf: [
      {
        type: "object",
        properties: { kind: { const: "circle" }, r: { minimum: 0 } },
        required: ["kind", "r"],
      },
      {
        type: "object",
        properties: { kind: { const: "square" }, side: {} },
        required: ["kind", "side"],
      },
    ],
  };
  check(shapes, ['{"kind":"circle","r":1}', '{"kind":"square","side":null}'], [
    '{"kind":"circle"}',
    '{"kind":"square","r":1}',
    '{"kind":"circle","r":-1}',
  ]);
  check({ oneOf: [{ type: "integer" }, { minimum: 2 }] }, ["1", "2.5"], ["3", "1.5"]);
  check({ allOf: [{ minimum: 3 }, { maximum: 5 }, { type: "integer" }] }, ["3", "5"], [
    "2",
    "6",
    "4.0",
  ]);
  const conditional = {
    type: "object",
    properties: { country: { enum: ["CA", "US"] }, code: { type: "string" } },
    required: ["country", "code"],
    additionalProperties: false,
    if: { properties: { country: { const: "US" } } },
    then: { properties: { code: { pattern: "^[0-9]{5}$" } } },
    else: { properties: { code: { pattern: "^[A-Z][0-9][A-Z]$" } } },
  };
  check(conditional, ['{"country":"US","code":"12345"}', '{"country":"CA","code":"K1M"}'], [
    '{"country":"CA","code":"12345"}',
    '{"country":"US","code":"K1M"}',
  ]);
  check({ dependentRequired: { a: ["b"] }, properties: { a: {}, b: {} } }, [
    "{}",
    '{"b":1}',
    '{"a":1,"b":1}',
  ], [
    '{"a":1}',
  ]);
});

Deno.test("JSON Schema: schemas refer to each other and to themselves", () => {
  const tree = {
    $ref: "#/$defs/node",
    $defs: {
      node: {
        type: "object",
        properties: { value: { type: "integer" }, children: { items: { $ref: "#node" } } },
        required: ["value"],
        additionalProperties: false,
        $anchor: "node",
      },
    },
  };
  check(tree, ['{"value":1}', '{"value":1,"children":[{"value":2,"children":[]}]}'], [
    '{"value":1,"children":[{}]}',
    '{"value":1,"children":[{"value":2},{"value":2,"x":1}]}',
  ]);
  const draft7 = {
    $schema: "http://json-schema.org/draft-07/schema#",
    definitions: { a: { type: "null" } },
  };
  check(
    { ...draft7, items: [{ $ref: "#/definitions/a", type: "string" }], additionalItems: false },
    [
      "[null]",
      "[]",
    ],
    ["[1]", "[null,1]"],
  );
});

Deno.test("JSON Schema: names follow patternProperties and propertyNames", () => {
  check(
    {
      type: "object",
      patternProperties: { "^n_": { type: "integer" } },
      additionalProperties: { type: "null" },
    },
    ['{"n_a":1,"b":null,"n_":2}', "{}"],
    ['{"n_a":null}', '{"b":1}', '{"\\u006e_a":null}'],
  );
  check({ type: "object", propertyNames: { pattern: "^[a-z]$" }, maxProperties: 2 }, [
    '{"a":1,"b":{"C":1}}',
  ], [
    '{"A":1}',
    '{"a":1,"b":1,"c":1}',
  ]);
  check({
    type: "object",
    properties: { a: {}, b: {}, c: {} },
    minProperties: 2,
    additionalProperties: false,
  }, [
    '{"a":1,"c":1}',
  ], ['{"a":1}', "{}"]);
  check({ allOf: [{ properties: { a: {} } }], unevaluatedProperties: { type: "null" } }, [
    '{"a":1,"b":null}',
  ], [
    '{"b":1}',
  ]);
});

Deno.test("JSON Schema: a large maximum is held to what a grammar can count to", () => {
  const texts = new SchemaTexts({ type: "string", maxLength: 1e9 });
  assert(texts.accepts(JSON.stringify("a".repeat(2048))));
  assert(!texts.accepts(JSON.stringify("a".repeat(2049))));
});

Deno.test("JSON Schema: 250 branches of oneOf that a const distinguishes are a grammar of some rules each, not of their names again", () => {
  const branch = (i: number) => ({
    type: "object",
    properties: { kind: { const: `kind ${i}` }, size: { type: "integer" } },
    required: ["kind"],
  });
  const { rules } = grammarOfSchema({ oneOf: Array.from({ length: 250 }, (_, i) => branch(i)) });
  assert(rules.size < 250 * 6, `${rules.size} rules`);
});
