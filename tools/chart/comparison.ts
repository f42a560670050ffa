/**
 * The shape of `docs/measurements/beside-llama-cpp.json`.
 *
 * @module
 */
import { z } from "zod";

const Figures = z.object({
  /** Day of the measurement. */
  date: z.iso.date(),
  /** Tokens a second of all sequences together, in the order of `sequences`. */
  decode: z.array(z.number().positive()),
  /** Tokens a second of a prompt of `promptTokens`. */
  prefill: z.number().positive(),
}).strict();

const ModelComparison = z.object({
  model: z.string(),
  type: z.string(),
  card: z.string(),
  m40: Figures.extend({
    /** Commit of this repository that was measured, or whose documentation first had the figures. */
    commit: z.string().regex(/^[0-9a-f]{7,40}$/),
  }).strict(),
  "llama.cpp": Figures,
}).strict();

/** What two programs do with the same models under the same conditions. */
export const Comparison = z.object({
  title: z.string(),
  measuredOnM40: z.boolean(),
  conditions: z.array(z.string()).min(1),
  /** Lines below the bars. */
  notes: z.array(z.string()).optional(),
  sequences: z.array(z.int().positive()).min(1),
  promptTokens: z.int().positive(),
  models: z.array(ModelComparison).min(1),
}).strict().refine(
  ({ sequences, models }) =>
    models.every((model) =>
      [model.m40, model["llama.cpp"]].every(({ decode }) => decode.length === sequences.length)
    ),
  { error: "`decode` has one figure for each of `sequences`" },
);
export type Comparison = z.infer<typeof Comparison>;
export type ModelComparison = z.infer<typeof ModelComparison>;
