import { assert } from "@std/assert";
import { validatorOf } from "../fixtures/json_schema_validator.ts";
import { readError, startServer } from "../fixtures/server_fixture.ts";

/** Answers to a request, how often each schema is asked for, and tokens of each answer at most. */
const ANSWERS = 4;
const TIMES = Number(Deno.env.get("M40_SCHEMA_TIMES") ?? 1);
const TOKENS = Number(Deno.env.get("M40_SCHEMA_TOKENS") ?? 60);

/** Whether a number as it is written is a multiple; the validator divides doubles, and misses some large ones. */
function isMultiple(text: string, of: number): boolean {
  const scaled = (decimal: string) => {
    const [whole, places = ""] = decimal.split(".");
    return BigInt(whole + places.padEnd(20, "0"));
  };
  return scaled(text) % scaled(of.toFixed(10)) === 0n;
}

Deno.test("JSON Schema: what a model samples under the test suite's schemas is valid, as far as it is complete", async () => {
  const path = new URL("../data/json_schema_suite/draft2020-12.json", import.meta.url);
  const suite: Record<string, { description: string; schema: unknown }[]> = JSON.parse(
    await Deno.readTextFile(path),
  );
  await using server = await startServer({ engine: { parallel: ANSWERS } });
  let complete = 0;
  let cut = 0;
  let refused = 0;
  let seed = 0;
  let schemas = 0;
  for (const [keyword, groups] of Object.entries(suite)) {
    // What the validator is known to be wrong about.
    if (keyword === "dynamicRef" || keyword.startsWith("unevaluated")) continue;
    for (const { description, schema } of groups) {
      const where = `${keyword}, ${description}`;
      const ask = () =>
        server.post("/v1/completions", {
          prompt: "Say",
          temperature: 1.5,
          seed: ++seed,
          n: ANSWERS,
          max_tokens: TOKENS,
          // Otherwise the model would have to keep to what no grammar can ensure.
          response_format: { type: "json_schema", json_schema: { schema, strict: true } },
        });
      const response = await ask();
      schemas++;
      if (response.status !== 200) {
        const error = await readError(response, 400);
        assert(error.message.includes("JSON Schema at "), `${where}: ${error.message}`);
        refused++;
        continue;
      }
      const { choices } = await response.json();
      for (let i = 1; i < TIMES; i++) choices.push(...(await (await ask()).json()).choices);
      let validate;
      try {
        validate = validatorOf(schema);
      } catch {
        // It does not know the dialect, or has no end of the schema.
        continue;
      }
      for (const { text, finish_reason } of choices) {
        if (finish_reason !== "stop") {
          cut++;
          continue;
        }
        complete++;
        const isValid = validate(JSON.parse(text)) ||
          validate.errors!.every(({ keyword, params }) =>
            keyword === "multipleOf" && isMultiple(text, params.multipleOf)
          );
        assert(isValid, `${where}: ${text}`);
      }
    }
    if (TIMES > 1) console.log(keyword, JSON.stringify({ schemas, refused, complete, cut }));
  }
  assert(complete > 300, `${complete} answers were complete`);
});
