import type { z } from "zod";
import {
  type GenerateRequest,
  MAX_STOP_TOKENS,
  NAMED_PARAMETERS,
  type NamedParameter,
  type Range,
  type SAMPLING_PARAMETERS,
  type SamplingParameters,
  type Separated,
} from "../../engine/mod.ts";
import { type ConstraintFields, constraintOf } from "./constraint_fields.ts";
import { boolean, logitBias, number, seed, stop, strings, tokenIds } from "./fields.ts";

/** The parameters of sampling that requests may name. */
const PARAMETERS = NAMED_PARAMETERS.filter(({ internal }) => !internal) as readonly (
  & NamedParameter
  & { readonly field: Separated<Parameter, "_">; readonly alias?: "repeat_penalty" }
)[];

type Parameter = Exclude<NamedParameter["name"], "stream">;

/** What a parameter of each type is read by. */
const FIELDS = {
  number,
  boolean,
  texts: strings,
  biases: logitBias,
  seed,
};

type Field<P extends Parameter> = ReturnType<
  (typeof FIELDS)[(typeof SAMPLING_PARAMETERS)[P]["type"]]
>;

/** The fields that say how tokens are sampled, alike in every route that generates: the engine's, by their names. */
export const samplingFields = {
  ...Object.fromEntries(
    PARAMETERS.flatMap((one) => {
      const own = FIELDS[one.type](one.description, one as Range);
      if (one.alias === undefined) return [[one.field, own]];
      const description = `llama.cpp's name of ${one.field}.`;
      return [[one.field, own], [one.alias, FIELDS[one.type](description, one as Range)]];
    }),
  ) as
    & { [P in Parameter as Separated<P, "_">]: Field<P> }
    & { repeat_penalty: Field<"repetitionPenalty"> },
  stop: stop(),
  stop_token_ids: tokenIds().nullish().describe(
    `Up to ${MAX_STOP_TOKENS} tokens that end the output, which does not have them.`,
  ),
};

/** What a schema with {@link samplingFields} gives of them. */
export type SamplingFields = {
  [Field in keyof typeof samplingFields]?: z.output<(typeof samplingFields)[Field]>;
};

/** The names under which fields say how many tokens are sampled at most; a number below 0 is no limit. */
type Limits = Partial<
  Record<
    "max_completion_tokens" | "max_tokens" | "max_output_tokens" | "n_predict" | "num_predict",
    number | null
  >
>;

/** What a dialect's fields mean. */
interface Meanings {
  /** Its names of the limit, the one that counts first before the others; default: `max_tokens` alone. */
  readonly limits?: readonly (keyof Limits)[];
  /** The limit where none is said; default: what the context has room for. */
  readonly otherwise?: number;
  /** Whether the seed -1 is a new one each time. */
  readonly randomSeed?: boolean;
}

/**
 * What the engine is asked for by the fields that all routes share.
 *
 * @throws {HttpError} 400 for what the answer cannot be held to.
 */
export function engineRequest(
  fields: SamplingFields & ConstraintFields & Limits,
  { limits = ["max_tokens"], otherwise, randomSeed = false }: Meanings = {},
): Omit<GenerateRequest, "prompt"> {
  const sampling: Partial<Record<NamedParameter["name"], unknown>> = {};
  const names: Record<string, string> = {};
  for (const { name, field, alias } of PARAMETERS) {
    const isAlias = alias !== undefined && fields[field] == null;
    const value = fields[isAlias ? alias : field];
    if (value == null || (value === -1 && name === "seed" && randomSeed)) continue;
    sampling[name] = value;
    if (isAlias) names[field] = alias;
  }
  const limit = limits.find((one) => fields[one] != null);
  const most = limit === undefined ? otherwise : fields[limit]!;
  if (limit !== undefined || limits.length === 1) names.max_tokens = limit ?? limits[0];
  return {
    stop: fields.stop,
    stopTokens: fields.stop_token_ids ?? undefined,
    sampling: sampling as Partial<SamplingParameters>,
    constraint: constraintOf(fields),
    maxTokens: most === undefined || most < 0 ? undefined : most,
    names,
  };
}
