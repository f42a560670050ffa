// Schemas that are refused: what no grammar can see to, and what would cost too much.
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { grammarOfSchema } from "../engine/grammar/json_schema/mod.ts";
import { M40Error } from "../engine/mod.ts";

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
    [{ type: "text" }, "#/type"],
    [{ anyOf: [{ $recursiveRef: "#" }] }, "#/anyOf/0/$recursiveRef"],
    [{ minLength: -1 }, "#/minLength"],
    [{ properties: { a: 5 } }, "#/properties/a"],
    [{ oneOf: [{ format: "date" }, { minLength: 3 }] }, "#/oneOf"],
    [{ type: "string", nullable: true }, "#/nullable"],
    [{ $schema: "http://json-schema.org/draft-03/schema#" }, "#/$schema"],
    [{ type: "string", allOf: [{ type: "null" }] }, "#"],
    ["string", "#"],
  ];
  for (const [schema, place] of cases) {
    const message = complaint(schema);
    assert(message.startsWith(`JSON Schema at "${place}": `), `${place}: ${message}`);
  }
});

/** A schema inside itself, so many times. */
function nested(count: number, wrap: (inner: unknown, i: number) => unknown): unknown {
  let schema: unknown = { type: "string" };
  for (let i = 0; i < count; i++) schema = wrap(schema, i);
  return schema;
}

Deno.test("JSON Schema: hostile schemas end in an error soon", () => {
  const many = (count: number, make: (i: number) => unknown) =>
    Array.from({ length: count }, (_, i) => make(i));
  const crossed = (count: number) =>
    Object.fromEntries(many(count, (i) => {
      const next = { $ref: `#/$defs/s${(Number(i) + 1) % count}` };
      const x = { allOf: [next] };
      const y = { allOf: [next, { $ref: "#/$defs/s0" }] };
      return [`s${i}`, { properties: { x, y } }];
    }) as [string, unknown][]);
  const cases: Record<string, unknown> = {
    "a million values": { enum: many(1e6, (i) => i) },
    "values that are objects": { enum: many(20_000, (i) => ({ a: i })) },
    "deep nesting": nested(50_000, (inner) => ({ properties: { a: inner } })),
    "deep allOf": nested(240, (inner) => ({ allOf: [inner] })),
    "deep oneOf": nested(120, (inner, i) => ({ oneOf: [inner, { required: [`k${i}`] }] })),
    "a giant minItems": { type: "array", minItems: 1e9 },
    "a giant minLength": { type: "string", minLength: 1e9 },
    "a product of anyOf": {
      allOf: many(30, (i) => ({ anyOf: [{ required: [`a${i}`] }, { required: [`b${i}`] }] })),
    },
    "a reference to itself": { $ref: "#" },
    "a circle of references": {
      $defs: { a: { $ref: "#/$defs/b" }, b: { not: { $ref: "#/$defs/a" } } },
      $ref: "#/$defs/a",
    },
    "an object without end": { type: "object", properties: { a: { $ref: "#" } }, required: ["a"] },
    "products of recursive schemas": { $defs: crossed(40), $ref: "#/$defs/s0" },
    "a pattern of many states": { pattern: "(a|b)*a(a|b){20}" },
    "nested quantifiers": { pattern: "^((a{1,100}){1,100}){1,100}$" },
    "many properties": {
      properties: Object.fromEntries(many(30_000, (i) => [`p${i}`, {}]) as never),
    },
    "many patterns of names": {
      patternProperties: Object.fromEntries(many(40, (i) => [`p${i}`, {}]) as never),
    },
  };
  for (const [name, schema] of Object.entries(cases)) {
    const begun = performance.now();
    assertMatch(complaint(schema), /^JSON Schema at /, name);
    // A second on a machine with nothing else to do.
    assert(performance.now() - begun < 5000, `${name}: ${performance.now() - begun} ms`);
  }
});
