import { isJsonObject } from "../../json/mod.ts";
import { Document, type Fields, type Place } from "./document.ts";
import { type Budget, MAX_DEPTH, refusal, shown, wrong } from "./limits.ts";
import { ARRAY_GROUPS } from "./read_arrays.ts";
import { LOGIC_GROUPS } from "./read_logic.ts";
import { NUMBER_GROUPS } from "./read_numbers.ts";
import { OBJECT_GROUPS } from "./read_objects.ts";
import { STRING_GROUPS } from "./read_strings.ts";
import { UNEVALUATED } from "./read_unevaluated.ts";
import { VALUE_GROUPS } from "./read_values.ts";
import {
  ALL,
  type Alternatives,
  intersection,
  type Literal,
  NONE,
  union,
  unseen,
} from "./shapes.ts";
import { ListedNumbers } from "./number_values.ts";
import { type At, type Group, keyOf, type SchemaReader } from "./reading.ts";
import { StringSets } from "./string_sets.ts";

const GROUPS: readonly Group[] = [
  ...VALUE_GROUPS,
  ...NUMBER_GROUPS,
  ...STRING_GROUPS,
  ...ARRAY_GROUPS,
  ...OBJECT_GROUPS,
  ...LOGIC_GROUPS,
];
const REFERENCE = LOGIC_GROUPS.filter((group) => group.keywords.includes("$ref"));
const REFERENCES = ["$ref", "$dynamicRef"];
/** Of other drafts, or of OpenAPI: they would change what is accepted, and are not understood. */
const FOREIGN = ["$recursiveRef", "disallow", "divisibleBy", "extends"];

/** Reads schemas: what one says, or its opposite, as alternatives. */
export class Reader implements SchemaReader {
  readonly document: Document;
  readonly strings: StringSets;
  readonly numbers = new ListedNumbers();
  readonly looksAtEvaluated: boolean;
  private readonly known = new Map<number, Alternatives>();
  private readonly underWay = new Map<number, Place>();

  constructor(schema: unknown, readonly budget: Budget) {
    this.document = new Document(schema, this.budget);
    this.strings = new StringSets(this.budget);
    this.looksAtEvaluated = this.document.keywords.has("unevaluatedItems") ||
      this.document.keywords.has("unevaluatedProperties");
  }

  literal(place: Place, ...tokens: (string | number)[]): Literal {
    return { place: this.document.inside(place, ...tokens), negated: false };
  }

  read(literal: Literal): Alternatives {
    const key = keyOf(literal);
    const known = this.known.get(key);
    if (known) return known;
    const { pointer } = literal.place;
    if (this.underWay.has(key)) {
      throw wrong(
        this.wayBack() ?? pointer,
        "the schema leads back to itself without a property or item between",
      );
    }
    if (this.underWay.size >= MAX_DEPTH) {
      throw refusal(pointer, `schemas refer to each other more than ${MAX_DEPTH} deep`);
    }
    this.budget.spend(1, pointer);
    this.underWay.set(key, literal.place);
    try {
      const found = literal.negated
        ? unseen(this.opposite(literal.place), this.budget.at(pointer))
        : this.says(literal.place);
      this.known.set(key, found);
      return found;
    } finally {
      this.underWay.delete(key);
    }
  }

  /** The reference that was followed last, without which a schema would not lead back to itself. */
  private wayBack(): string | undefined {
    for (const { schema, pointer } of [...this.underWay.values()].reverse()) {
      const keyword = isJsonObject(schema) && REFERENCES.find((one) => Object.hasOwn(schema, one));
      if (keyword) return `${pointer}/${keyword}`;
    }
  }

  readAll(literals: readonly Literal[]): Alternatives {
    return literals.reduce(
      (all, literal) =>
        intersection(all, this.read(literal), this.budget.at(literal.place.pointer)),
      ALL,
    );
  }

  private says(place: Place): Alternatives {
    if (place.schema === true) return ALL;
    if (place.schema === false) return NONE;
    const at = this.at(place);
    const costs = this.budget.at(place.pointer);
    const said = this.groups(at.schema)
      .reduce((all, group) => intersection(all, group.holds(at), costs), ALL);
    return UNEVALUATED.filter((late) => Object.hasOwn(at.schema, late.keyword))
      .reduce((all, late) => late.add(at, all), said);
  }

  private opposite(place: Place): Alternatives {
    if (place.schema === true) return NONE;
    if (place.schema === false) return ALL;
    const at = this.at(place);
    const late = UNEVALUATED.find((one) => Object.hasOwn(at.schema, one.keyword));
    if (late) {
      throw refusal(
        `${place.pointer}/${late.keyword}`,
        "the opposite of it is wanted here (by not, oneOf or if), which no grammar can be made of",
      );
    }
    const wrong = this.groups(at.schema).map((group) => group.fails(at));
    return union(wrong, this.budget.at(place.pointer));
  }

  private at(place: Place): At {
    const { schema, pointer } = place;
    if (schema === null) throw refusal(pointer, "a schema is an object or a boolean, not null");
    if (!isJsonObject(schema)) {
      throw wrong(pointer, `a schema is an object or a boolean, not ${shown(schema)}`);
    }
    const foreign = FOREIGN.find((keyword) => Object.hasOwn(schema, keyword));
    if (foreign !== undefined) {
      throw refusal(
        `${pointer}/${foreign}`,
        "this keyword is not supported; use those of draft 2020-12",
      );
    }
    return { place, schema, reader: this };
  }

  private groups(schema: Fields): readonly Group[] {
    const among = this.document.refStandsAlone && Object.hasOwn(schema, "$ref")
      ? REFERENCE
      : GROUPS;
    return among.filter((group) => group.keywords.some((name) => Object.hasOwn(schema, name)));
  }
}
