// The schema of the fields that a body has says the same as the whole one.
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { z } from "zod";
import { MessagesRequest } from "../../server/anthropic/request_schemas.ts";
import { GenerateBody } from "../../server/answer/generate.ts";
import { ChatCompletionRequest } from "../../server/openai/chat_schemas.ts";
import { CompletionRequest } from "../../server/openai/completion_schemas.ts";
import { schemaFor } from "../../server/request/parse_body.ts";

const SCHEMAS = [ChatCompletionRequest, CompletionRequest, GenerateBody, MessagesRequest];

Deno.test("a body is checked by its own fields as by all, in what is given and what is refused", () => {
  const value = fc.constantFrom<unknown>(
    null,
    "a",
    1,
    -1,
    0.5,
    true,
    [],
    ["a"],
    {},
    { type: "text" },
    [{ role: "user", content: "a" }],
    [{ role: "nobody" }],
  );
  for (const schema of SCHEMAS) {
    const fields = [...Object.keys(schema.shape), "of_nobody", "__proto__", "constructor"];
    // Few sets of fields with many values, as only so many sets are kept.
    const sets = fc.sample(fc.subarray(fields, { maxLength: 8 }), 60);
    const body = fc.constantFrom(...sets).chain((set) =>
      fc.tuple(...set.map((field) => fc.tuple(fc.constant(field), value)))
        .map((members): unknown => Object.fromEntries(members))
    );
    fc.assert(fc.property(body, (body) => {
      const whole = schema.safeParse(body);
      const own = schemaFor(schema, body).safeParse(body);
      assertEquals(own.data, whole.data);
      assertEquals(own.error?.issues, whole.error?.issues);
    }));
  }
});

Deno.test("a body's own schema has few fields, is kept, and there are only so many", () => {
  const schema = z.object(
    Object.fromEntries(
      Array.from({ length: 200 }, (_, i) => [`f${i}`, z.number().nullish()] as const),
    ),
  );
  const own = schemaFor(schema, { f7: 1, other: 2 });
  assert(own !== schema);
  assertEquals(Object.keys(own.shape), ["f7"]);
  assertStrictEquals(schemaFor(schema, { f7: 3 }), own);
  for (let i = 0; i < 200; i++) {
    assert(schemaFor(schema, { [`f${i}`]: 1 }).safeParse({ [`f${i}`]: 1 }).success);
    assert(!schemaFor(schema, { [`f${i}`]: "1" }).safeParse({ [`f${i}`]: "1" }).success);
  }
  assertStrictEquals(schemaFor(schema, { f199: 1 }), schema);
  assertStrictEquals(schemaFor(schema, { f7: 3 }), own);
});

Deno.test("what is no object, and a schema with checks of its own, are left as they are", () => {
  const checked = z.object({ a: z.number().optional() }).refine((value) => value.a !== 1);
  assertStrictEquals(schemaFor(checked, {}), checked);
  for (const body of [null, 1, "a", []]) {
    assertStrictEquals(schemaFor(CompletionRequest, body), CompletionRequest);
  }
});
