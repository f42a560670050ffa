import { assert, assertEquals } from "@std/assert";
import { SAMPLING_OPTIONS } from "../../cli/arguments/mod.ts";
import { NAMED_PARAMETERS } from "../../engine/sampling/mod.ts";
import { recordDefaults } from "../../engine/store/mod.ts";
import { samplingFields } from "../../server/request/mod.ts";
import { SAMPLING } from "../../server/page/client/settings/settings.js";

// What is said of sampling parameters where the table of them cannot be used.

const REQUESTED = NAMED_PARAMETERS.filter(({ internal }) => !internal);

/** A default as docs/sampling.md writes it. */
function written(value: unknown): string {
  if (value === undefined) return "a new one";
  if (value instanceof Map) return "none";
  if (!Array.isArray(value)) return String(value);
  return `\`${
    value.map((text) => JSON.stringify(text).slice(1, -1).replace('\\"', '"')).join(" ")
  }\``;
}

Deno.test("the table of docs/sampling.md has every parameter once, with its default", async () => {
  const text = await Deno.readTextFile(new URL("../../docs/sampling.md", import.meta.url));
  const said = new Map<string, string>();
  for (const [, names, defaults] of text.matchAll(/^\|[^|]*\|( `[^|]*)\|([^|]*)\|[^|]*\|$/gm)) {
    const values = defaults.trim().split(", ").map((value) => value.replace(/ \(.*\)$/, ""));
    names.trim().split(", ").forEach((name, i) => {
      assert(!said.has(name), `${name} is there twice`);
      said.set(name.replaceAll("`", ""), values[i]);
    });
  }
  const wanted = REQUESTED.map((one) => [one.field, written(one.default)]);
  assertEquals(Object.fromEntries(said), Object.fromEntries(wanted));
});

Deno.test("the page's settings lie within the ranges of the parameters", () => {
  const known = new Map(REQUESTED.map((one) => [one.field as string, one]));
  const shown = SAMPLING.filter(({ name }) => known.has(name));
  assert(shown.length > 5, "the page has no parameters of sampling");
  for (const { name, min = NaN, max = NaN, kind } of shown) {
    const one = known.get(name)!;
    if (one.type !== "number") continue;
    assertEquals(kind, one.integer ? "integer" : "number", name);
    assert(!(min < one.min!) && !(max > one.max!), `${name}: from ${min} to ${max}`);
  }
});

Deno.test("requests, the command line and Modelfiles have every parameter, by names that follow from its own", () => {
  for (const { field, alias, flag } of REQUESTED) {
    assert(field in samplingFields, field);
    assert(alias === undefined || alias in samplingFields, alias);
    const option = flag ?? field.replaceAll("_", "-");
    assertEquals(option in SAMPLING_OPTIONS, flag !== null, option);
  }
  assert(!("stream" in samplingFields) && !("stream" in SAMPLING_OPTIONS));
  const warnings: string[] = [];
  const parameters = { xtc_probability: 0.5, repeat_penalty: 1.2, min_tokens: 2, stream: 1 };
  const { sampling } = recordDefaults({ parameters }, (warning) => warnings.push(warning));
  assertEquals(sampling, { xtcProbability: 0.5, repetitionPenalty: 1.2, minTokens: 2 });
  assertEquals(warnings, [
    "the parameter stream that comes with the model is not used: m40 has nothing like it",
  ]);
});
