// A long text is read in parts; its value, or what is wrong with it, is that of JSON.parse.
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { type JsonLimits, parseInTurns, parseWhole } from "./parse_json.ts";

const LIMITS: JsonLimits = {
  values: Infinity,
  members: Infinity,
  exactValues: Infinity,
  lost: Infinity,
};
const BEARABLE = { ofNumbers: () => true, ofOrder: () => true };

/** The value of a text that is read in parts of a length, and how many turns others had meanwhile. */
async function inParts(text: string, length?: number, bearable?: typeof BEARABLE) {
  let turns = 0;
  const turn = () => Promise.resolve(void turns++);
  const { value } = await parseInTurns(text, turn, LIMITS, bearable, length);
  return { value, turns };
}

const key = fc.oneof(
  fc.constantFrom("__proto__", "", "a", "b", "10", "2", 'a"],[{'),
  fc.string({ unit: "binary" }),
).map((one) => JSON.stringify(one));
const { value: texts } = fc.letrec<{ value: string }>((tie) => {
  const space = fc.constantFrom("", "", " ", "\n\t");
  const all = (one: fc.Arbitrary<string>) => fc.array(one, { maxLength: 6 });
  const member = fc.tuple(space, key, space, tie("value")).map(([s, k, t, v]) =>
    `${s}${k}${t}:${v}`
  );
  return {
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom("true", "null", "1", "-2.5e3", "1.0", "12345678901234567890"),
      key,
      fc.tuple(space, all(tie("value"))).map(([s, v]) => `${s}[${s}${v.join(`${s},`)}${s}]${s}`),
      fc.tuple(space, all(member)).map(([s, v]) => `${s}{${s}${v.join(`${s},`)}${s}}${s}`),
    ),
  };
});

Deno.test("JSON in parts: the value is that of JSON.parse, whatever the parts' length", async () => {
  await fc.assert(
    fc.asyncProperty(texts, fc.integer({ min: 1, max: 30 }), async (text, length) => {
      const { value } = await inParts(text, length, BEARABLE);
      const right = parseWhole(text, undefined, BEARABLE).value;
      assertEquals(value, right);
      assertEquals(JSON.stringify(value), JSON.stringify(right));
      assertEquals(
        JSON.stringify((await inParts(text, length)).value),
        JSON.stringify(parseWhole(text).value),
      );
    }),
    { numRuns: 1000 },
  );
});

Deno.test("JSON in parts: what is none is refused as JSON.parse refuses it", async () => {
  const message = async (work: () => unknown) => {
    try {
      await work();
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`;
    }
  };
  const odd = fc.array(fc.constantFrom(...'{}[],:"\\ 0\n1', '"a":', "[1,", "[]", '"b"', "null"), {
    maxLength: 4,
  });
  await fc.assert(
    fc.asyncProperty(
      texts,
      odd,
      fc.nat(),
      fc.nat(3),
      fc.integer({ min: 1, max: 12 }),
      async (text, inserted, place, removed, length) => {
        const at = place % (text.length + 1);
        const wrong = text.slice(0, at) + inserted.join("") + text.slice(at + removed);
        assertEquals(
          await message(() => inParts(wrong, length, BEARABLE)),
          await message(() => JSON.parse(wrong)),
          wrong,
        );
      },
    ),
    { numRuns: 3000 },
  );
});

Deno.test("JSON in parts: others have their turn all the time, however the text is nested", async () => {
  const ids = `[${new Array(400_000).fill(7).join()}]`;
  const objects = `[${new Array(40_000).fill('{"seed": 123456789}').join()}]`;
  const cases: [name: string, text: string, bearable?: typeof BEARABLE][] = [
    ["an array", ids],
    ["within objects and arrays", `{"a":1,"b":[{"c":${ids}}],"d":[[],[1]]}`],
    ["objects", `{"x":${objects}}`],
    ["members", `{"x":{${Array.from({ length: 60_000 }, (_, i) => `"k${i}":1`).join()}}}`],
    ["numbers that are kept as they are", `[${new Array(200_000).fill("1.0").join()}]`],
  ];
  for (const [name, text, bearable] of cases) {
    const { value, turns } = await inParts(text, undefined, bearable);
    assertEquals(JSON.stringify(value), JSON.stringify(parseWhole(text).value), name);
    // Once for being looked at, once for being read.
    assert(turns >= 2 * Math.floor(text.length / 2 ** 17), `${name}: ${turns}`);
  }
});

Deno.test("JSON in parts: a text that has too much is refused in the part where it has", async () => {
  let turns = 0;
  const turn = () => Promise.resolve(void turns++);
  const text = `[${new Array(2_000_000).fill(1).join()}]`;
  const limits = { ...LIMITS, values: 100_000 };
  const error = await assertRejects(() => parseInTurns(text, turn, limits));
  assertEquals((error as Error).name, "JsonTooMuch");
  assertEquals(turns, 1);
});
