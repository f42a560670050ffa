// Schemas that are refused: what no grammar can enforce, and what would cost too much.
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { JsonNumber } from "../../json/json_number.ts";
import { grammarOfSchema } from "./mod.ts";
import { M40Error } from "../../mod.ts";

/** What a schema is refused with. */
function complaint(schema: unknown): string {
  const error = assertThrows(() => grammarOfSchema(schema), M40Error);
  assertEquals(error.code, "invalid_request");
  return error.message;
}

Deno.test("JSON Schema: what cannot be enforced is an error that names the keyword and its place", () => {
  const cases: [schema: unknown, place: string][] = [
    [{ properties: { a: { type: "array", uniqueItems: true } } }, "#/properties/a/uniqueItems"],
    [{ items: { $ref: "https://example.com/other.json" } }, "#/items/$ref"],
    [{ $ref: "#/$defs/none" }, "#/$ref"],
    [{ type: "object", minProperties: 2 }, "#/minProperties"],
    [{ pattern: "(?=a)b" }, "#/pattern"],
    [{ pattern: "(" }, "#/pattern"],
    [{ format: "regex" }, "#/format"],
    [{ not: { format: "date" } }, "#/not/format"],
    [{ not: { format: "path" } }, "#/not/format"],
    [{ type: "text" }, "#/type"],
    [{ anyOf: [{ $recursiveRef: "#" }] }, "#/anyOf/0/$recursiveRef"],
    [{ minLength: -1 }, "#/minLength"],
    [{ $ref: "#" }, "#/$ref"],
    [{ $ref: "#/$defs/n", $defs: { n: { $ref: "#/$defs/n" } } }, "#/$defs/n/$ref"],
    [{ $ref: "#/$defs/n", $defs: { n: { not: { $ref: "#/$defs/n" } } } }, "#/$defs/n/not/$ref"],
    [
      { $ref: "#/$defs/n/allOf/0", $defs: { n: { allOf: [{ $ref: "#/$defs/n" }] } } },
      "#/$defs/n/allOf/0/$ref",
    ],
    [{ properties: { a: { $ref: "#/properties/a" } } }, "#/properties/a/$ref"],
    [{ properties: { a: 5 } }, "#/properties/a"],
    [{ oneOf: [{ format: "date" }, { minLength: 3 }] }, "#/oneOf"],
    [{ anyOf: [{ type: "string" }, null] }, "#/anyOf/1"],
    [{ const: new JsonNumber("1e501") }, "#/const"],
    [{ maximum: new JsonNumber("1e501") }, "#/maximum"],
    [{ $schema: "http://json-schema.org/draft-03/schema#" }, "#/$schema"],
    [{ type: "string", allOf: [{ type: "null" }] }, "#"],
    ["string", "#"],
  ];
  for (const [schema, place] of cases) {
    const message = complaint(schema);
    assert(message.startsWith(`JSON Schema at "${place}": `), `${place}: ${message}`);
  }
});

/** A schema inside itself, that many times. */
function nested(count: number, wrap: (inner: unknown, i: number) => unknown): unknown {
  let schema: unknown = { type: "string" };
  for (let i = 0; i < count; i++) schema = wrap(schema, i);
  return schema;
}

/** How many elements the methods of arrays that go through them have before them while something is done. */
function elementsGoneThrough(work: () => void): number {
  const methods: Record<string, (...given: unknown[]) => unknown> = Array.prototype as never;
  const names = [
    "every",
    "filter",
    "find",
    "findIndex",
    "flatMap",
    "forEach",
    "includes",
    "indexOf",
  ]
    .concat(["join", "map", "reduce", "some", "sort", "toSorted"]);
  const own = names.map((name) => [name, methods[name]] as const);
  let count = 0;
  for (const [name, method] of own) {
    methods[name] = function (this: unknown[], ...given: unknown[]) {
      count += this.length;
      return method.apply(this, given);
    };
  }
  try {
    work();
  } finally {
    for (const [name, method] of own) methods[name] = method;
  }
  return count;
}

/** What a machine with nothing else to do goes through in a fraction of a second. */
const MOST_ELEMENTS = 16_000_000;

const many = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const fields = (count: number, make: (i: number) => [string, unknown]) =>
  Object.fromEntries(many(count, make));
const names = (count: number, prefix: string) => many(count, (i) => `${prefix}${i}`);

/** Refuses all of several schemas, soon. */
function refusesSoon(cases: Record<string, [schema: unknown, message: RegExp]>): void {
  for (const [name, [schema, message]] of Object.entries(cases)) {
    const count = elementsGoneThrough(() => assertMatch(complaint(schema), message, name));
    assert(count < MOST_ELEMENTS, `${name}: ${count} elements were gone through`);
  }
}

Deno.test("JSON Schema: hostile schemas end in an error soon", () => {
  const crossed = (count: number) =>
    fields(count, (i) => {
      const next = { $ref: `#/$defs/s${(i + 1) % count}` };
      const x = { allOf: [next] };
      const y = { allOf: [next, { $ref: "#/$defs/s0" }] };
      return [`s${i}`, { properties: { x, y } }];
    });
  const any = /^JSON Schema at /;
  refusesSoon({
    "a million values": [{ enum: many(1e6, (i) => i) }, any],
    "values that are objects": [{ enum: many(20_000, (i) => ({ a: i })) }, any],
    "deep nesting": [nested(50_000, (inner) => ({ properties: { a: inner } })), any],
    "deep allOf": [nested(240, (inner) => ({ allOf: [inner] })), any],
    "deep oneOf": [nested(120, (inner, i) => ({ oneOf: [inner, { required: [`k${i}`] }] })), any],
    "a giant minItems": [{ type: "array", minItems: 1e9 }, any],
    "a giant minLength": [{ type: "string", minLength: 1e9 }, any],
    "a product of anyOf": [{
      allOf: many(30, (i) => ({ anyOf: [{ required: [`a${i}`] }, { required: [`b${i}`] }] })),
    }, any],
    "a reference to itself": [{ $ref: "#" }, any],
    "a circle of references": [{
      $defs: { a: { $ref: "#/$defs/b" }, b: { not: { $ref: "#/$defs/a" } } },
      $ref: "#/$defs/a",
    }, any],
    "an object without end": [
      { type: "object", properties: { a: { $ref: "#" } }, required: ["a"] },
      any,
    ],
    "products of recursive schemas": [{ $defs: crossed(40), $ref: "#/$defs/s0" }, any],
    "a pattern of many states": [{ pattern: "(a|b)*a(a|b){20}" }, any],
    "nested quantifiers": [{ pattern: "^((a{1,100}){1,100}){1,100}$" }, any],
    "many properties": [{ properties: fields(30_000, (i) => [`p${i}`, {}]) }, any],
    "many patterns of names": [{ patternProperties: fields(40, (i) => [`p${i}`, {}]) }, any],
  });
});

const TOO_COMPLEX = /the schema is too complex/;

Deno.test("JSON Schema: lists of many values, keys and branches cost as much as is gone through", () => {
  const strings = { enum: names(20_000, "s") };
  const numbers = { enum: many(20_000, (i) => i) };
  const lengths = (least: number) => ({ anyOf: many(16, (i) => ({ maxLength: least + i })) });
  const maxima = (least: number) => ({ anyOf: many(16, (i) => ({ maximum: least + i })) });
  const described = {
    properties: fields(10_000, (i) => [`k${i}`, {}]),
    anyOf: many(250, (i) => ({ maxProperties: 5 + i })),
  };
  refusesSoon({
    "strings of many lengths": [
      { allOf: [strings, lengths(200), lengths(100), ...many(60, () => ({ minLength: 0 }))] },
      TOO_COMPLEX,
    ],
    "numbers of many maxima": [
      { allOf: [numbers, maxima(2e6), maxima(1e6), ...many(60, () => ({ minimum: -1 }))] },
      TOO_COMPLEX,
    ],
    "strings of ever smaller lengths": [
      { allOf: [strings, ...many(200, (i) => ({ maxLength: 1000 - i }))] },
      TOO_COMPLEX,
    ],
    "numbers of ever smaller maxima": [
      { allOf: [numbers, ...many(200, (i) => ({ maximum: 1e6 - i }))] },
      TOO_COMPLEX,
    ],
    "values that patterns are looked for in": [
      { allOf: [strings, ...many(100, (i) => ({ pattern: `^s[0-9]*$|${i}` }))] },
      TOO_COMPLEX,
    ],
    "numbers of many multiples": [
      { allOf: [numbers, ...many(50, () => ({ multipleOf: 0.5 }))] },
      TOO_COMPLEX,
    ],
    "required keys": [{ type: "object", required: names(100_000, "k") }, TOO_COMPLEX],
    "more keys than a call has arguments": [
      { type: "object", required: names(300_000, "k") },
      TOO_COMPLEX,
    ],
    "keys that are not all there": [{ not: { required: names(300_000, "k") } }, /#\/not\/required/],
    "keys of many parts": [
      { required: names(50_000, "k"), allOf: many(500, () => ({ properties: { a: {} } })) },
      TOO_COMPLEX,
    ],
    "keys and patterns of names": [{
      properties: fields(10_000, (i) => [`k${i}`, {}]),
      patternProperties: fields(1000, (i) => [`^p${i}`, {}]),
    }, TOO_COMPLEX],
    "evaluated properties of many alternatives": [
      { ...described, unevaluatedProperties: false },
      TOO_COMPLEX,
    ],
    "branches of many values": [
      { oneOf: many(450, (i) => ({ enum: names(400, `${i}.`) })) },
      TOO_COMPLEX,
    ],
    "branches of no value": [{ oneOf: many(20_000, () => false) }, TOO_COMPLEX],
    "items that differ of no value": [
      { type: "array", uniqueItems: true, prefixItems: many(20_000, () => false), items: false },
      TOO_COMPLEX,
    ],
    "items that may be counted": [
      { allOf: many(40, () => ({ type: "array", contains: { type: "null" }, minContains: 0 })) },
      /#\/allOf\/0\/contains.*counted/,
    ],
  });
});

Deno.test("JSON Schema: automata cost the steps that are looked at", () => {
  const characters = many(16_000, (i) => String.fromCharCode(0x3000 + 2 * i));
  refusesSoon({
    "characters that a string is not": [
      { type: "string", not: { enum: characters.concat(names(4000, "")) } },
      /more than 4096 states/,
    ],
    "a class of characters and a long text": [
      { allOf: [{ pattern: "^a{4000}$" }, { pattern: `^[a${characters.join("")}]*$` }] },
      TOO_COMPLEX,
    ],
    "repetitions of nothing": [{ pattern: "^((((){2000}){2000}){2000}){2000}$" }, TOO_COMPLEX],
  });
  const count = elementsGoneThrough(() =>
    grammarOfSchema({ pattern: `^[${characters.join("")}]$` })
  );
  assert(count < MOST_ELEMENTS, `${count} elements were gone through`);
});

Deno.test("JSON Schema: addresses and anchors cost their lengths", () => {
  const $id = `https://example.com/${"a".repeat(1e6)}`;
  refusesSoon({
    "references from a long address": [
      { $id, $defs: { x: {} }, allOf: many(200, () => ({ $ref: "#/$defs/x" })) },
      TOO_COMPLEX,
    ],
    "anchors at a long address": [
      { $id, $defs: fields(200, (i) => [`d${i}`, { $anchor: `a${i}` }]) },
      TOO_COMPLEX,
    ],
    "a long name of many schemas": [
      { properties: { ["k".repeat(1e5)]: { properties: fields(5000, (i) => [`a${i}`, {}]) } } },
      TOO_COMPLEX,
    ],
    "references to an anchor that many have": [{
      $dynamicAnchor: "root",
      $defs: fields(20_000, (i) => [`d${i}`, { $dynamicAnchor: "x" }]),
      allOf: many(100, () => ({ $dynamicRef: "#x" })),
    }, TOO_COMPLEX],
  });
});

Deno.test("JSON Schema: values are nested as deep as schemas may be, and no deeper", () => {
  const inside = (depth: number, wrap: (inner: unknown) => unknown) => {
    let value: unknown = 1;
    for (let i = 0; i < depth; i++) value = wrap(value);
    return value;
  };
  for (const wrap of [(one: unknown) => [one], (one: unknown) => ({ a: one })]) {
    for (const depth of [257, 5000]) {
      const value = inside(depth, wrap);
      const deep = "its arrays and objects are nested more than 256 deep";
      assertEquals(complaint({ const: value }), `JSON Schema at "#/const": ${deep}`);
      const list = { properties: { b: { enum: [null, value] } } };
      assertEquals(complaint(list), `JSON Schema at "#/properties/b/enum": ${deep}`);
    }
    const count = elementsGoneThrough(() => grammarOfSchema({ const: inside(256, wrap) }));
    assert(count < 100_000, `${count} elements were gone through`);
  }
});

Deno.test("JSON Schema: what is large but gone through once is no burden", () => {
  const value = names(20_000, "s");
  for (
    const schema of [
      { enum: value },
      { type: "string", enum: value, minLength: 1, maxLength: 30, pattern: "^s" },
      { allOf: [{ enum: value }, ...many(250, () => ({ minLength: 0 }))] },
      { properties: fields(35, (i) => [`p${i}`, { enum: names(10_000, `${i}-`) }]) },
      { oneOf: many(200, (i) => ({ enum: names(30, `${i}-`) })) },
      { $defs: fields(20_000, (i) => [`d${i}`, { $dynamicAnchor: "x" }]), type: "null" },
    ]
  ) {
    const count = elementsGoneThrough(() => grammarOfSchema(schema));
    assert(count < MOST_ELEMENTS, `${count} elements were gone through`);
  }
});
