import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { JsonNumber } from "./json_number.ts";
import { mapMembers, orderedObject } from "./ordered_object.ts";
import { MOST_LEVELS, parseJson, parseWhole } from "./parse_json.ts";

const written = (text: string) => JSON.stringify(parseJson(text));

Deno.test("JSON: numbers keep their digits and keys their order, however they are spelled", () => {
  const same = [
    "1234567890123456789",
    "-9223372036854775808",
    "9007199254740993",
    "1.0",
    "-0.0",
    "-0",
    "1e400",
    "-1E+400",
    "1e+21",
    "1E5",
    "0.10",
    "0.1000000000000000055511151231257827",
    "9".repeat(60),
    "123456789012345680000",
    '{"b":1,"10":2,"2":3,"a":{"3":{},"1":[{"b":"","0":1.50}]}}',
    '[[],{},[{"":null}],true,false,null,"\\\\",{"1":"1","01":1,"-1":2,"1.5":3}]',
    '{"__proto__":{"constructor":1.0},"toJSON":1,"constructor":2,"9":1}',
  ];
  for (const text of same) {
    assertEquals(written(text), text);
    assertEquals(written(` [ ${text} ,\n{"k"\t: ${text} } ] `), `[${text},{"k":${text}}]`);
  }
});

Deno.test("JSON: of a key that comes twice, the last value stands in the first place", () => {
  assertEquals(written('{"a":1.0,"b":2,"a":{"x":3}}'), '{"a":{"x":3},"b":2}');
  assertEquals(written('{"9":1,"1":2,"9":3}'), '{"9":3,"1":2}');
  const value = parseJson('{"__proto__":{"a":1.0},"1":{}}') as Record<string, unknown>;
  assertEquals(Object.keys(value), ["__proto__", "1"]);
  assertStrictEquals(Object.getPrototypeOf(value), Object.prototype);
});

Deno.test("JSON: what JavaScript's numbers keep is a number of JavaScript", () => {
  for (const text of ["0", "-1", "9007199254740991", "0.5", "1e-7", "-123.25"]) {
    assertStrictEquals(parseJson(text), Number(text));
  }
  const odd = parseJson("[1.0, 1e400, 12345678901234567890, -0]") as JsonNumber[];
  assert(odd.every((one) => one instanceof JsonNumber));
  assertEquals(odd.map((one) => one.value), [1, Infinity, 12345678901234567000, -0]);
  assertEquals(odd.map((one) => one.isInteger), [false, false, true, true]);
  assertEquals(odd.map(String), ["1.0", "1e400", "12345678901234567890", "-0"]);
});

Deno.test("JSON: any text is read as JSON.parse reads it, but for what that loses", () => {
  const number = fc.oneof(
    fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => JSON.stringify(one)),
    fc.tuple(fc.integer(), fc.nat(999), fc.integer({ min: -400, max: 400 })).map(([a, b, e]) =>
      `${a}.${b}e${e}`
    ),
  );
  const key = fc.oneof(fc.nat(20).map(String), fc.string({ unit: "binary" })).map((one) =>
    JSON.stringify(one)
  );
  const space = fc.constantFrom("", " ", "\n\t");
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      number,
      key,
      fc.constantFrom("true", "false", "null"),
      fc.tuple(space, fc.array(tie("value"), { maxLength: 4 })).map(([s, all]) =>
        `[${s}${all.join(`${s},${s}`)}${s}]`
      ),
      fc.tuple(
        space,
        fc.uniqueArray(fc.tuple(key, tie("value")), { maxLength: 4, selector: ([k]) => k }),
      ).map(([s, all]) => `{${s}${all.map(([k, v]) => `${s}${k}${s}:${s}${v}`).join(",")}${s}}`),
    ),
  }));
  const plain = (value: unknown): unknown =>
    value instanceof JsonNumber
      ? value.value
      : Array.isArray(value)
      ? value.map(plain)
      : typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]))
      : value;
  fc.assert(
    fc.property(value, (text) => {
      const read = parseJson(text);
      assertEquals(plain(read), JSON.parse(text));
      const again = JSON.stringify(read);
      assertEquals(JSON.stringify(parseJson(again)), again);
      // Strings may be spelled in several ways; all else but white space is as it was.
      const bare = (text: string) => text.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/\s/g, "");
      assertEquals(bare(again), bare(text));
    }),
    { numRuns: 500 },
  );
});

Deno.test("JSON: what is none is refused as JSON.parse refuses it", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...'{}[],:"\\ 01.e-+tn', "true", '"1"', "1.0"), { maxLength: 12 }),
      (pieces) => {
        const text = pieces.join("");
        let right: string | undefined;
        try {
          JSON.parse(text);
        } catch (error) {
          right = (error as Error).message;
        }
        if (right === undefined) parseJson(text);
        else assertThrows(() => parseJson(text), SyntaxError, right);
      },
    ),
    { numRuns: 2000 },
  );
});

Deno.test("JSON: nesting is read up to a limit, and refused beyond it however deep", () => {
  const nested = (depth: number) => "[".repeat(depth) + "1.0" + "]".repeat(depth);
  let at = parseJson(nested(MOST_LEVELS));
  for (let i = 0; i < MOST_LEVELS; i++) at = (at as unknown[])[0];
  assertEquals(String(at), "1.0");
  for (const depth of [MOST_LEVELS + 1, 2_000_000]) {
    assertThrows(() => parseJson(nested(depth)), SyntaxError, "nested more than 1000 deep");
  }
  // Brackets in a string nest nothing.
  assertEquals(parseJson(`["${"[".repeat(MOST_LEVELS)}\\"[["]`), [`${"[".repeat(MOST_LEVELS)}"[[`]);
});

Deno.test("JSON: an object in order is changed and copied like others", () => {
  const object = orderedObject([["b", 1], ["10", 2], ["2", 3]]);
  assertEquals(Object.keys(object), ["b", "10", "2"]);
  delete object["10"];
  object["1"] = 4;
  object.b = 5;
  assertEquals(JSON.stringify(object), '{"b":5,"2":3,"1":4}');
  assertEquals(JSON.stringify(mapMembers(object, (value) => [value])), '{"b":[5],"2":[3],"1":[4]}');
});

Deno.test("JSON: a text is read once where no reader needs what is lost, and no value of it changes elsewhere", () => {
  const bearable = {
    ofNumbers: (member: string) => member !== "messages",
    ofOrder: (member: string) => member === "logit_bias",
  };
  const cases: [text: string, isPlain: boolean][] = [
    ['{"temperature":1.0,"top_p":-0.50,"options":{"messages":[1.0]}}', true],
    ['{"a":"messages","b":["messages",1.0],"messages":[1],"c":1e5}', true],
    ['{"messages":[{"n":1.0}],"temperature":1}', false],
    ['{"temperature":1.0, "messages" : 1.0}', false],
    ['{"m\\u0065ssages":[1.0]}', false],
    ['{"logit_bias":{"9":1.0,"2":-100,"a":{"1":0}}}', true],
    ['{"logit_bias":{"9":1},"other":{"9":1,"2":1}}', false],
    ['{"9":1,"temperature":1.0}', false],
    // Seeds of 64 bits.
    ['{"seed":9007199254740993}', false],
    ['{"options":{"seed":-9007199254740993}}', false],
    ['{"n":900719925474099.5}', true],
    ["[1.0]", false],
  ];
  for (const [text, isPlain] of cases) {
    const read = parseWhole(text, undefined, bearable);
    assertEquals(read.isPlain, isPlain, text);
    assertEquals(read.value, isPlain ? JSON.parse(text) : parseJson(text), text);
  }
});

Deno.test("a short text gives the same as one that is looked at token by token", () => {
  const words = ["1", "0", "-0", "-0.0", "-0.5", "1.5", "1.50", "1.0", "0.1", "1e5", "1E5", "12e-3"]
    .concat(["0.000001", "0.0000001", "0.00000012", "123456789012345", "1234567890123456"])
    .concat(["12345678.1234567", "0.123456789012345", "0.1234567890123456", "9007199254740993"])
    .concat([
      "99999999999999.9",
      "100000000000000000000",
      "4.35",
      "179.99",
      "-7",
      "-12.25",
      "300.05",
    ])
    .concat(["5e-324", "1.7976931348623157e308", "72057594037927936", "0.30000000000000004"])
    .concat([
      '"1"',
      '"1.0"',
      '"\\"7\\": "',
      "true",
      "null",
      "[]",
      "{}",
      "[1.0]",
      '{"7":1}',
      "tru",
      "01",
    ]);
  const texts = words.flatMap((word) => [word, `[${word}]`, `{"a": ${word}, "b":[${word}]}`])
    .concat([
      '{"1": 2}',
      '{"x1": 2}',
      '{"1x": 2}',
      '{"b": 1, "12" : 2, "a": 3}',
      '{"12345678901": 1}',
    ])
    .concat(["[".repeat(1000) + "]".repeat(1000), "[".repeat(1001) + "]".repeat(1001)])
    .concat(['{"a":'.repeat(800) + "1" + "}".repeat(800), "[[]]".repeat(9), ""]);
  const outcome = (text: string) => {
    try {
      const { value, isPlain } = parseWhole(text);
      return `${JSON.stringify(value)} ${isPlain}`;
    } catch (error) {
      return (error as Error).name;
    }
  };
  for (const text of texts) assertEquals(outcome(text), outcome(text + " ".repeat(5000)), text);
});
