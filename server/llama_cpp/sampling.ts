import type { z } from "zod";
import type { GenerateRequest } from "../../engine/mod.ts";
import {
  type ConstraintFields,
  constraintFields,
  engineRequest,
  integer,
  samplingFields,
} from "../request/mod.ts";

const { repetition_penalty, seed, ...sameFields } = samplingFields;

/** How tokens are sampled, by llama.cpp's names. */
export const llamaSampling = {
  ...sameFields,
  seed: seed.describe("The same seed samples the same tokens; -1: a new one each time."),
  repetition_penalty,
  ...constraintFields,
  n_predict: integer(
    -1,
    2 ** 31,
    "Tokens sampled at most; default -1: as many as there is room for.",
  ),
};

type Fields =
  & {
    [F in Exclude<keyof typeof llamaSampling, keyof ConstraintFields>]?: z.output<
      (typeof llamaSampling)[F]
    >;
  }
  & ConstraintFields;

/**
 * What the engine is asked for by these fields.
 *
 * @throws {HttpError} 400 for what the answer cannot be held to.
 */
export function llamaRequest(fields: Fields): Omit<GenerateRequest, "prompt"> {
  return engineRequest(fields, { limits: ["n_predict"], randomSeed: true });
}
