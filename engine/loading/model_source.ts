import type { EngineOptions } from "../engine_options.ts";
import { M40Error } from "../errors.ts";
import { type Gguf, readGguf, unknownKeysWarning } from "../gguf/mod.ts";
import { type Model, readModel } from "../models/mod.ts";
import {
  type Arithmetic,
  PACKED_TYPES,
  possibleArithmetic,
  withArithmetic,
} from "../program/mod.ts";
import { modelSamplingDefaults, type SamplingParameters } from "../sampling/mod.ts";
import { describeSuppressed, readTokenizer, type Tokenizer } from "../tokenizer/mod.ts";
import { describeModel, type ModelInfo } from "./model_info.ts";

/** What a model's file says, on whatever devices it is put, and however often. */
export interface ModelSource extends Model {
  readonly gguf: Gguf;
  readonly info: ModelInfo;
  /** What the products of its program are computed in: "exact" also where no weight could be packed. */
  readonly arithmetic: Arithmetic;
  readonly tokenizer: Tokenizer;
  /** The requested pre-tokenizer, instead of the file's. */
  readonly preTokenizer?: string;
  /** What its file recommends, and before that what came with it. */
  readonly samplingDefaults: Partial<SamplingParameters>;
  /** What ends an answer where a request names nothing. */
  readonly stopDefaults: readonly string[];
}

/**
 * Reads a GGUF file, but for its tensors.
 *
 * @throws {M40Error} "invalid_model", "unsupported" or "io", naming what is wrong with it.
 */
export async function readModelSource(path: string, options: EngineOptions): Promise<ModelSource> {
  const gguf = await readGguf(path, { overrides: options.overrides });
  // Layers and vocabulary are warned of together.
  const unknown: string[] = [];
  const onUnknownKeys = (keys: readonly string[]) => void unknown.push(...keys);
  const model = readModel(gguf, { ...options, onUnknownKeys });
  for (const warning of model.warnings) options.onWarning?.(warning);
  const tokenizer = readTokenizer(gguf, {
    preTokenizer: options.preTokenizer,
    onWarning: options.onWarning,
    onUnknownKeys,
  });
  for (const warning of unknownKeysWarning(unknown)) options.onWarning?.(warning);
  const { vocabSize } = model.shape;
  if (tokenizer.vocabSize > vocabSize) {
    throw new M40Error(
      "invalid_model",
      `${path}: the vocabulary has ${tokenizer.vocabSize} tokens, but the embeddings ${vocabSize} rows`,
    );
  }
  const info = describeModel(gguf, model, options.name);
  const note = describeSuppressed(tokenizer);
  const { arithmetic: wanted = "exact" } = options;
  const arithmetic = possibleArithmetic(model.program, wanted);
  if (arithmetic !== wanted) {
    options.onWarning?.(
      `${path}: ${wanted} arithmetic changes nothing, and products stay ${arithmetic}: no weight of a product is ` +
        `${PACKED_TYPES.slice(0, -1).join(", ")} or ${PACKED_TYPES.at(-1)}`,
    );
  }
  return {
    ...model,
    program: withArithmetic(model.program, arithmetic),
    arithmetic,
    gguf,
    info: { ...info, notes: note === undefined ? info.notes : [...info.notes, note] },
    tokenizer,
    preTokenizer: options.preTokenizer,
    samplingDefaults: {
      ...modelSamplingDefaults(gguf.metadata, options.onWarning),
      ...options.defaults?.sampling,
    },
    stopDefaults: options.defaults?.stop ?? [],
  };
}
