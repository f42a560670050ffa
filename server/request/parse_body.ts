import { z } from "zod";
import { HttpError, invalid } from "../errors.ts";
import { describe } from "./fields.ts";

/**
 * Checks a body.
 *
 * @throws {HttpError} 400 `invalid_request`, naming the parameter, what was wanted and what was got.
 */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const result = schemaFor(schema, body).safeParse(body);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0];
  const param = path.join(".");
  if (param !== "") throw invalid(param, `${param}: ${message}.`);
  throw new HttpError(400, "invalid_request", `The body: ${message}.`);
}

/** The error of a value that is checked by hand, by its path in the body. */
export function wrongField(param: string, wanted: string, got: unknown): HttpError {
  return invalid(param, `${param}: wanted ${wanted}; got ${describe(got)}.`);
}

/**
 * Sets of fields of one schema for which a shorter one is kept; a client sends few, and no stranger more than these.
 */
const MOST_SETS = 64;

/** Schemas that say the same of bodies with one set of fields. */
interface Shorter {
  /** Fields that say something where they are absent: that they are missing, or what they are then. */
  readonly always: ReadonlySet<string>;
  readonly bySet: Map<string, z.ZodType>;
}

const known = new WeakMap<z.ZodType, Shorter>();

/**
 * A schema that gives the same for a body: of an object's, the fields that are there alone. A request has a few of
 * a hundred fields, and looking at all others costs more than the rest of the check.
 */
export function schemaFor<S extends z.ZodType>(schema: S, body: unknown): S {
  if (!(schema instanceof z.ZodObject) || schema.def.checks?.length) return schema;
  if (typeof body !== "object" || body === null || Array.isArray(body)) return schema;
  let shorter = known.get(schema);
  if (shorter === undefined) {
    known.set(schema, shorter = { always: saidWhereAbsent(schema), bySet: new Map() });
  }
  const { shape } = schema;
  const present: string[] = [];
  for (const key of Object.keys(body)) if (Object.hasOwn(shape, key)) present.push(key);
  const name = present.join();
  let one = shorter.bySet.get(name);
  if (one === undefined) {
    if (shorter.bySet.size >= MOST_SETS) return schema;
    const fields = new Set([...shorter.always, ...present]);
    // In the schema's order, so that of several faults the same one is reported.
    const mask = Object.keys(shape).filter((key) => fields.has(key)).map((key) => [key, true]);
    one = schema.pick(Object.fromEntries(mask)) as z.ZodType;
    shorter.bySet.set(name, one);
  }
  return one as S;
}

function saidWhereAbsent({ shape }: z.ZodObject): Set<string> {
  const says = ([, field]: [string, z.core.$ZodType]) => {
    const { success, data } = z.safeParse(field, undefined);
    return !success || data !== undefined;
  };
  return new Set(Object.entries(shape).filter(says).map(([key]) => key));
}
