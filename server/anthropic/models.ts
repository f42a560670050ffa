import { z } from "zod";
import { type HttpError, invalid } from "../errors.ts";

/** Anthropic's clients say with every request which version of its API they speak. */
export const VERSION_HEADER = "anthropic-version";

/** A model in Anthropic's shape. */
export const AnthropicModel = z.strictObject({
  type: z.literal("model"),
  id: z.string(),
  display_name: z.string().describe("The same."),
  created_at: z.iso.datetime().describe("When the server was started."),
  max_input_tokens: z.int().nullable().describe(
    "Tokens of its context; null for one that is not in memory.",
  ),
  max_tokens: z.int().nullable().describe("The same: the most that an answer has."),
}).meta({ id: "AnthropicModel" });
export type AnthropicModel = z.output<typeof AnthropicModel>;

/** The answer of `GET /v1/models` to Anthropic's clients. */
export const AnthropicModelList = z.strictObject({
  data: z.array(AnthropicModel),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
}).meta({ id: "AnthropicModelList" });
export type AnthropicModelList = z.output<typeof AnthropicModelList>;

/** What is known of a model. */
export interface ModelFacts {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly context_length: number | null;
}

/** A model as Anthropic's clients read it. */
export function anthropicModel({ id, created, context_length }: ModelFacts): AnthropicModel {
  return {
    type: "model",
    id,
    display_name: id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: context_length,
    max_tokens: context_length,
  };
}

const DEFAULT_LIMIT = 20;
const MOST = 1000;

/**
 * The page of a list that a request asks for, by `limit`, `after_id` and `before_id`.
 *
 * @throws {HttpError} 400 for a limit that is none, and for a model that is not in the list.
 */
export function pageOf(
  models: readonly ModelFacts[],
  query: (name: string) => string | undefined,
): AnthropicModelList {
  const limit = Number(query("limit") ?? DEFAULT_LIMIT);
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST) {
    throw refused("limit", `an integer from 1 to ${MOST}`, query("limit"));
  }
  const place = (name: string) => {
    const id = query(name);
    if (id === undefined) return undefined;
    const index = models.findIndex((model) => model.id === id);
    if (index < 0) throw refused(name, "the id of a model that is listed", id);
    return index;
  };
  const before = place("before_id");
  const after = place("after_id");
  const end = before ?? models.length;
  const begin = before === undefined ? (after ?? -1) + 1 : Math.max(0, end - limit);
  const shown = models.slice(begin, Math.min(end, begin + limit));
  return {
    data: shown.map(anthropicModel),
    first_id: shown[0]?.id ?? null,
    last_id: shown.at(-1)?.id ?? null,
    has_more: before === undefined ? begin + shown.length < end : begin > 0,
  };
}

function refused(param: string, wanted: string, got: string | undefined): HttpError {
  return invalid(param, `${param}: wanted ${wanted}; got ${JSON.stringify(got?.slice(0, 100))}.`);
}
