/**
 * What a GGUF file is, where it is no model: files that accompany models and only serve them. Names say little
 * (`MTP/gemma-4-Q8_0.gguf`), so headers decide.
 *
 * @module
 */
import { M40Error } from "../errors.ts";
import type { MetadataEntry, MetadataValue } from "./metadata.ts";
import { readName, readVersion } from "./header.ts";
import type { Gguf } from "./header.ts";
import { bytesSource, HeaderCursor } from "./source.ts";
import { readEntry } from "./values.ts";

/** A file that is no model by itself. */
export interface Companion {
  /** What it is, in a word or two. */
  readonly kind: keyof typeof COMPANIONS;
  /** The same for a sentence, with what it is for. */
  readonly what: string;
  /** What to do instead, as a sentence. */
  readonly advice: string;
}

/** What in a header distinguishes a model from its companions. */
export interface HeaderFacts {
  /** The value of a metadata key. */
  readonly get: (key: string) => MetadataValue | undefined;
  readonly tensors: number;
  /** Whether it is one of several files: it may have few tensors then, or none. */
  readonly isPart: boolean;
}

const TAKE_MODEL = "Take the model's own file.";

/** What each kind is for a sentence, and what to do instead. */
const COMPANIONS = {
  "projector": [
    "a projector (mmproj), which turns pictures or sound into a model's inputs",
    `m40 runs models as text and does without it. ${TAKE_MODEL}`,
  ],
  "LoRA adapter": [
    "a LoRA adapter, which changes another model",
    "m40 does not apply adapters. Merge it into its model with llama.cpp's " +
    "llama-export-lora, or take a model that has it merged.",
  ],
  "importance matrix": [
    "an importance matrix (imatrix), which is for quantising a model",
    TAKE_MODEL,
  ],
  "drafter": [
    "a drafter, which drafts tokens for a larger model (speculative decoding)",
    `m40 does without drafters. ${TAKE_MODEL}`,
  ],
  "control vector": [
    "a control vector, which steers another model",
    `m40 does not apply control vectors. ${TAKE_MODEL}`,
  ],
  "vocabulary": [
    "a vocabulary without weights",
    "`m40 tokenize` can use it; to generate text, take a file that has the weights.",
  ],
} as const;

/** Architectures of drafters: Gemma 4's assistants, EAGLE, DFlash, DSpark, heads that predict tokens. */
const DRAFTER = /(^|[-_])(assistant|eagle\d*|d-?flash|d-?spark|medusa|mtp|draft(er)?)([-_]|$)/;

/** What a file is, where it is no model; undefined for a model. */
export function companionOf(facts: HeaderFacts): Companion | undefined {
  const kind = kindOf(facts);
  if (kind === undefined) return undefined;
  const [what, advice] = COMPANIONS[kind];
  return { kind, what, advice };
}

function kindOf({ get, tensors, isPart }: HeaderFacts): Companion["kind"] | undefined {
  const type = get("general.type");
  const architecture = get("general.architecture");
  if (type === "imatrix" || get("imatrix.datasets") !== undefined) return "importance matrix";
  if (type === "adapter" || get("adapter.type") !== undefined) return "LoRA adapter";
  if (type === "mmproj" || architecture === "clip") return "projector";
  if (architecture === "controlvector") return "control vector";
  if (typeof architecture === "string" && DRAFTER.test(architecture)) return "drafter";
  if (isPart) return undefined;
  if (tensors === 0) return "vocabulary";
  // Files of only the layers that predict further tokens have their model's architecture and its number of
  // layers. A whole model has several tensors a layer.
  const layers = get(`${architecture}.block_count`);
  const predicting = get(`${architecture}.nextn_predict_layers`);
  if (typeof layers !== "number" || typeof predicting !== "number") return undefined;
  return predicting > 0 && tensors < layers - predicting ? "drafter" : undefined;
}

/** A file that was to be a model is a {@link Companion}. */
export class CompanionError extends M40Error {
  /** @param path What to call the file. */
  constructor(path: string, readonly companion: Companion) {
    super(
      "unsupported",
      `${path}: this is no model but ${companion.what}. ${companion.advice}`,
    );
  }
}

/**
 * Checks that a file is a model, whether m40 knows its architecture or not.
 *
 * @throws {CompanionError} Where it is a file that accompanies models.
 */
export function assertModel({ path, files, metadata, tensors }: Gguf): void {
  const companion = companionOf({
    get: (key) => metadata.get(key),
    tensors: tensors.size,
    isPart: files.length > 1,
  });
  if (companion !== undefined) throw new CompanionError(path, companion);
}

/** Bytes from the start of a file that say what it is: those keys come before the vocabulary. */
export const PEEK_BYTES = 64 * 1024;

/**
 * What a file is, by its first {@link PEEK_BYTES} bytes or fewer. What is behind them, and what is damaged, says
 * nothing: then the file counts as a model, and reading it whole reports what is wrong.
 *
 * @param isPart Whether its name says that it is one of several files.
 */
export function peekCompanion(bytes: Uint8Array, isPart: boolean): Companion | undefined {
  const cursor = new HeaderCursor(bytesSource(bytes), "");
  const entries = new Map<string, MetadataEntry>();
  let tensors: number;
  try {
    readVersion(cursor);
    tensors = cursor.size("the number of tensors");
  } catch {
    return undefined;
  }
  try {
    const pairs = cursor.size("the number of key-value pairs");
    for (let i = 0; i < pairs; i++) {
      const key = readName(cursor, "a key");
      entries.set(key, readEntry(cursor, key));
    }
  } catch (error) {
    // The bytes end before the header does.
    if (!(error instanceof M40Error)) throw error;
  }
  return companionOf({ get: (key) => entries.get(key)?.value, tensors, isPart });
}
