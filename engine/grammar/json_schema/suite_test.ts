import { assert, assertEquals } from "@std/assert";
import { M40Error } from "../../mod.ts";
import { SchemaTexts } from "../../../tests/fixtures/json_schema_agreement.ts";
import { validatorOf } from "../../../tests/fixtures/json_schema_validator.ts";

/** Texts sampled for each schema. */
const SAMPLED = Number(Deno.env.get("M40_FUZZ_CASES") ?? 20);
const FOLDER = new URL("../../../tests/data/json_schema_suite/", import.meta.url);

interface SuiteGroup {
  readonly description: string;
  readonly schema: unknown;
  readonly tests: readonly {
    readonly description: string;
    readonly data: unknown;
    readonly valid: boolean;
  }[];
}

/** The least of a draft's tests that must hold; invalid values and sampled texts have no exceptions. */
interface Draft {
  readonly name: string;
  readonly schemaAddress: string;
  /** Keywords of which a schema is refused, and how many of them; all others are accepted. */
  readonly refused: Readonly<Record<string, number>>;
  /** Keywords of which valid values have no text, and how many. */
  readonly missed: Readonly<Record<string, number>>;
  /** Where the validator is known to be wrong: its verdict on sampled texts is not used. */
  readonly validatorIsWrong: readonly string[];
}

const DRAFTS: readonly Draft[] = [
  {
    name: "draft2020-12",
    schemaAddress: "https://json-schema.org/draft/2020-12/schema",
    refused: {
      "format regex": 1,
      defs: 1,
      dependentSchemas: 1,
      dynamicRef: 8,
      format: 1,
      multipleOf: 1,
      not: 1,
      ref: 1,
      unevaluatedProperties: 2,
      uniqueItems: 3,
    },
    missed: {
      "format date-time": 3,
      "format email": 5,
      "format hostname": 2,
      "format idn-email": 1,
      "format idn-hostname": 16,
      "format iri": 5,
      "format iri-reference": 5,
      "format time": 7,
      "format uri": 2,
      "format uri-template": 2,
      format: 18,
      unevaluatedItems: 6,
    },
    validatorIsWrong: [
      "dynamicRef",
      "unevaluatedItems can see annotations from if without then and else",
      "unevaluatedProperties with if/then/else, then not defined",
    ],
  },
  {
    name: "draft7",
    schemaAddress: "http://json-schema.org/draft-07/schema#",
    refused: { definitions: 1, dependencies: 1, format: 1, multipleOf: 1, ref: 1, uniqueItems: 3 },
    missed: {},
    validatorIsWrong: [
      "ref overrides any sibling keywords",
      "$ref prevents a sibling $id from changing the base uri",
    ],
  },
  {
    name: "draft4",
    schemaAddress: "http://json-schema.org/draft-04/schema#",
    refused: { definitions: 1, dependencies: 1, multipleOf: 1, ref: 1, uniqueItems: 3 },
    missed: {},
    validatorIsWrong: ["ref overrides any sibling keywords"],
  },
];

/** A validator of the draft; undefined where it cannot read the schema. */
function verdictsOf(draft: Draft, schema: unknown): ((value: unknown) => boolean) | undefined {
  try {
    const { $schema: _, ...rest } = schema as Record<string, unknown>;
    const validate = validatorOf(
      typeof schema === "object" ? rest : schema,
      draft.name !== "draft2020-12",
    );
    return (value) => {
      try {
        return validate(value) === true;
      } catch (error) {
        // It has no end of some recursive schemas.
        if (error instanceof RangeError) return true;
        throw error;
      }
    };
  } catch {
    return undefined;
  }
}

function count(counts: Record<string, number>, keyword: string): void {
  counts[keyword] = (counts[keyword] ?? 0) + 1;
}

function checkGroup(draft: Draft, keyword: string, group: SuiteGroup, found: Counts): void {
  const { schema } = group;
  const where = `${draft.name}, ${keyword}, ${group.description}`;
  found.schemas++;
  let texts: SchemaTexts;
  try {
    texts = new SchemaTexts(
      typeof schema === "object" ? { $schema: draft.schemaAddress, ...schema } : schema,
      found.schemas,
    );
  } catch (error) {
    assert(error instanceof M40Error, `${where}: ${error}`);
    assert(error.code === "invalid_request" && error.message.startsWith("JSON Schema at "));
    // That no value is valid is said by refusing the schema.
    const nothing = group.tests.every(({ valid }) => !valid);
    if (nothing && error.message.includes("no value follows")) found.empty++;
    else count(found.refused, keyword);
    return;
  }
  for (const { data, valid, description } of group.tests) {
    const accepted = texts.acceptsValue(data);
    if (valid) found.valid++;
    else found.invalid++;
    if (valid && !accepted) count(found.missed, keyword);
    assert(valid || !accepted, `${where}, ${description}: accepted, though it is invalid`);
  }
  const isWrong = [keyword, group.description].some((one) => draft.validatorIsWrong.includes(one));
  const validate = isWrong ? undefined : verdictsOf(draft, schema);
  for (let i = 0; validate && i < SAMPLED; i++) {
    const text = texts.sample();
    assert(texts.accepts(text), `${where}: the automaton refuses ${text}`);
    assert(validate(JSON.parse(text)), `${where}: ${text} is of the grammar, but not valid`);
    found.sampled++;
  }
}

class Counts {
  schemas = 0;
  /** Schemas that no value follows, and that are refused for it. */
  empty = 0;
  valid = 0;
  invalid = 0;
  sampled = 0;
  refused: Record<string, number> = {};
  missed: Record<string, number> = {};
}

for (const draft of DRAFTS) {
  Deno.test(`JSON Schema: grammars agree with the test suite and a validator, ${draft.name}`, () => {
    const suite: Record<string, SuiteGroup[]> = JSON.parse(
      Deno.readTextFileSync(new URL(`${draft.name}.json`, FOLDER)),
    );
    const found = new Counts();
    const rows: string[] = [];
    for (const [keyword, groups] of Object.entries(suite)) {
      const before = { ...found };
      for (const group of groups) checkGroup(draft, keyword, group, found);
      rows.push(row(keyword, before, found));
    }
    if (Deno.env.get("M40_SUITE_TABLE")) console.log(rows.join("\n"));
    assertEquals(found.refused, draft.refused);
    assertEquals(found.missed, draft.missed);
    assert(found.sampled > 100 * SAMPLED);
  });
}

/** A row of the table in docs/structured-output.md. */
function row(keyword: string, before: Counts, after: Counts): string {
  const cells = [
    "`" + keyword + "`",
    after.schemas - before.schemas,
    after.refused[keyword] ?? 0,
    `${after.valid - before.valid - (after.missed[keyword] ?? 0)} of ${after.valid - before.valid}`,
    `${after.invalid - before.invalid} of ${after.invalid - before.invalid}`,
    after.sampled - before.sampled,
  ];
  return `| ${cells.join(" | ")} |`;
}
