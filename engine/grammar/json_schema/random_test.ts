import { assert, assertEquals } from "@std/assert";
import { M40Error } from "../../mod.ts";
import { randomNumbers } from "../../../tests/fixtures/grammar_random.ts";
import { SchemaTexts } from "../../../tests/fixtures/json_schema_agreement.ts";
import { validatorOf } from "../../../tests/fixtures/json_schema_validator.ts";

const CASES = Number(Deno.env.get("M40_FUZZ_CASES") ?? 300);

/** Makes random schemas with conflicting keywords, and values that might follow them. */
class RandomSchemas {
  private readonly random: () => number;

  constructor(seed: number) {
    this.random = randomNumbers(seed);
  }

  below(count: number): number {
    return Math.floor(this.random() * count);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  value(depth: number): unknown {
    switch (this.below(depth > 0 ? 7 : 5)) {
      case 0:
        return null;
      case 1:
        return this.below(2) === 0;
      case 2:
        return this.below(7) - 2;
      case 3:
        return this.pick([0.5, 1.5, -0.5, 2.25]);
      case 4:
        return this.pick(["", "a", "ab", "abc", "b", "é"]);
      case 5:
        return Array.from({ length: this.below(4) }, () => this.value(depth - 1));
      default:
        return this.named(() => this.value(depth - 1));
    }
  }

  schema(depth: number): unknown {
    if (this.below(12) === 0) return this.below(4) > 0;
    const keywords = Array.from({ length: 1 + this.below(3) }, () => this.keyword(depth));
    return Object.assign({}, ...keywords);
  }

  private keyword(depth: number): unknown {
    const inner = () => this.schema(depth - 1);
    const simple: (() => unknown)[] = [
      () => ({
        type: this.pick(["null", "boolean", "integer", "number", "string", "array", "object"]),
      }),
      () => ({ type: [this.pick(["integer", "string"]), this.pick(["array", "object"])] }),
      () => ({ const: this.value(1) }),
      () => ({ enum: [this.value(1), this.value(0), this.value(0)] }),
      () => ({ minimum: this.pick([-1, 0, 0.5, 1, 2]) }),
      () => ({ maximum: this.pick([0, 1, 1.5, 3]) }),
      () => ({ exclusiveMinimum: this.pick([-1, 0, 0.5, 1, 2]) }),
      () => ({ multipleOf: this.pick([2, 3, 0.5]) }),
      () => ({ minLength: this.below(3) }),
      () => ({ maxLength: this.below(3) }),
      () => ({ pattern: this.pick(["a", "^a", "b$", "^a?b*$"]) }),
      () => ({ required: [this.pick(["a", "b", "c"])] }),
      () => ({ [this.pick(["minItems", "maxItems", "maxProperties"])]: this.below(3) }),
      () => ({ dependentRequired: { a: ["b"] } }),
    ];
    const nested: (() => unknown)[] = [
      () => ({ properties: this.named(inner) }),
      () => ({ additionalProperties: inner() }),
      () => ({ patternProperties: { [this.pick(["^a", "b", "c$"])]: inner() } }),
      () => ({ propertyNames: this.schema(0) }),
      () => ({ items: inner() }),
      () => ({ prefixItems: [inner(), inner()].slice(this.below(2)) }),
      // By itself, as the validator accepts empty arrays where there are prefixItems too.
      () => ({ allOf: [{ contains: inner(), minContains: this.below(3) }] }),
      () => ({ allOf: [{ contains: inner(), maxContains: 1 + this.below(2) }] }),
      () => ({ allOf: [inner(), inner()] }),
      () => ({ anyOf: [inner(), inner()] }),
      () => ({ oneOf: [inner(), inner()] }),
      () => ({ not: inner() }),
      () => ({ if: inner(), then: inner(), else: inner() }),
      () => ({ dependentSchemas: { b: inner() } }),
    ];
    return this.pick(depth > 0 ? [...simple, ...nested] : simple)();
  }

  private named(make: () => unknown): Record<string, unknown> {
    const names = ["a", "b", "c"].filter(() => this.below(2) === 0);
    return Object.fromEntries(names.map((name) => [name, make()]));
  }
}

/** What the validator says; nothing where it fails, as its code of some schemas does. */
function ask(validate: (value: unknown) => unknown, value: unknown): boolean | undefined {
  try {
    return validate(value) === true;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

Deno.test("JSON Schema: random schemas accept what a validator accepts, and have only texts that it does", () => {
  let accepted = 0;
  let refused = 0;
  let missed = 0;
  for (let seed = 1; seed <= CASES; seed++) {
    const schemas = new RandomSchemas(seed * 7919);
    const schema = schemas.schema(2);
    const where = `seed ${seed}, ${JSON.stringify(schema)}`;
    const validate = validatorOf(schema);
    const values = Array.from({ length: 40 }, () => schemas.value(2));
    let texts: SchemaTexts;
    try {
      texts = new SchemaTexts(schema, seed);
    } catch (error) {
      assert(error instanceof M40Error, `${where}: ${error}`);
      const empty = error.message.includes("no value follows");
      assert(!empty || !values.some((value) => ask(validate, value)), `${where}: ${error.message}`);
      if (!empty) refused++;
      continue;
    }
    accepted++;
    for (let i = 0; i < 20; i++) {
      const text = texts.sample();
      const valid = ask(validate, JSON.parse(text));
      assert(valid !== false, `${where}: ${text} is of the grammar, but not valid`);
      assert(texts.accepts(text), `${where}: the automaton refuses ${text}`);
    }
    for (const value of values) {
      const valid = ask(validate, value);
      if (valid === undefined) continue;
      const found = texts.acceptsValue(value);
      assert(valid || !found, `${where}: accepts ${JSON.stringify(value)}`);
      // Objects of at least that many names that no schema knows: `not` with `maxProperties` asks for them.
      if (valid && !found && JSON.stringify(schema).includes("maxProperties")) missed++;
      else assertEquals(found, valid, `${where}: refuses ${JSON.stringify(value)}`);
    }
  }
  assert(
    accepted > 0.8 * CASES && refused < 0.1 * CASES,
    `${accepted} accepted, ${refused} refused`,
  );
  assert(missed <= CASES / 100, `${missed} valid values missed`);
});
