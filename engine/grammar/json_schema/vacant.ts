import { M40Error } from "../../errors.ts";
import { firstWhole } from "./number_bounds.ts";
import { allowedValues } from "./finite_values.ts";
import { itemSchemas, schemasOf } from "./property_schemas.ts";
import type { SchemaReader } from "./reading.ts";
import {
  type Alternatives,
  type Literal,
  type NumberShape,
  only,
  type StringShape,
} from "./shapes.ts";

/** How deep properties and items are looked at. */
const DEPTH = 3;
const MOST_ITEMS = 16;

/** What it costs to look whether there is a value, in looks at one. */
const WORK = 4;

/** Whether there is surely no value; false where it is not known. */
export function isVacant(all: Alternatives, reader: SchemaReader, depth = DEPTH): boolean {
  reader.budget.look(WORK, "");
  if (all.null || all.booleans.length > 0) return false;
  if (all.numbers.some((one) => !noNumber(one, reader))) return false;
  if (all.strings.some((one) => !noString(one, reader))) return false;
  const vacant = (literals: readonly Literal[]) =>
    depth > 0 && isVacant(known(() => reader.readAll(literals)) ?? ANYTHING, reader, depth - 1);
  const noArray = all.arrays.every((one) => {
    const looked = Math.min(one.least, MOST_ITEMS);
    return Array.from({ length: looked }, (_, i) => itemSchemas(one, i, reader)).some(vacant);
  });
  return noArray &&
    all.objects.every((one) =>
      one.required.some((key) => vacant(known(() => schemasOf(one, key, reader)) ?? []))
    );
}

const ANYTHING = only({ null: true });

/** What cannot be read now (it may be under way) proves nothing. */
function known<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof M40Error) return undefined;
    throw error;
  }
}

function noNumber(shape: NumberShape, { budget }: SchemaReader): boolean {
  if (shape.values) return allowedValues(shape, budget).length === 0;
  const { kind, least, most } = shape;
  // Bounds that are apart make no shape.
  if (kind !== "integer" || least === undefined || most === undefined) return false;
  return firstWhole(least, true) > firstWhole(most, false);
}

function noString(shape: StringShape, reader: SchemaReader): boolean {
  if (shape.values) return reader.strings.listed(shape)!.length === 0;
  return shape.rules.length > 0 && reader.strings.of(shape).isEmpty;
}
