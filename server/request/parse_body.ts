import type { z } from "zod";
import { HttpError } from "../errors.ts";
import { describe } from "./fields.ts";
import { schemaFor } from "./schema_for.ts";

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
  throw new HttpError(
    400,
    "invalid_request",
    `${param === "" ? "The body" : param}: ${message}.`,
    { param: param === "" ? undefined : param },
  );
}

/** The error of a value that is checked by hand, by its path in the body. */
export function wrongField(param: string, wanted: string, got: unknown): HttpError {
  const message = `${param}: wanted ${wanted}; got ${describe(got)}.`;
  return new HttpError(400, "invalid_request", message, { param });
}
