import { Metadata, type MetadataEntry } from "../engine/gguf/metadata.ts";
import { BYTE_CHARACTERS } from "../engine/tokenizer/byte_alphabet.ts";
import { StringArray } from "../engine/gguf/string_array.ts";

/** A token as its text, or with a score and a type (1: normal). */
export type TokenInput = string | { text: string; score?: number; type?: number };

/** `<0x00>` to `<0xFF>`, as byte tokens. */
export const BYTES: TokenInput[] = Array.from({ length: 256 }, (_, byte) => ({
  text: `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
  type: 6,
}));

/** `<unk>`, `<s>`, `</s>` and the byte tokens, as most SentencePiece vocabularies begin. */
export const BASIC: TokenInput[] = [
  { text: "<unk>", type: 2 },
  { text: "<s>", type: 3 },
  { text: "</s>", type: 3 },
  ...BYTES,
];

export const uint32 = (value: number): MetadataEntry => ({ type: "uint32", value });
export const bool = (value: boolean): MetadataEntry => ({ type: "bool", value });
export const string = (value: string): MetadataEntry => ({ type: "string", value });
export const strings = (values: (string | Uint8Array)[]): MetadataEntry => ({
  type: "array",
  element: "string",
  value: StringArray.from(values),
});
export const floats = (values: number[]): MetadataEntry => ({
  type: "array",
  element: "float32",
  value: Float32Array.from(values),
});
export const ints = (values: number[]): MetadataEntry => ({
  type: "array",
  element: "int32",
  value: Int32Array.from(values),
});

/** The 256 tokens of the byte alphabet, in the order of the bytes. */
export const BYTE_TEXTS: readonly string[] = BYTE_CHARACTERS;

/**
 * Metadata of a byte-level BPE vocabulary: the bytes (0 to 255), then `tokens`, then what merges make.
 * `changes` replace keys, or remove them (undefined).
 */
export function byteLevelMetadata(
  merges: readonly string[],
  tokens: readonly TokenInput[] = [],
  changes: Record<string, MetadataEntry | undefined> = {},
): Metadata {
  const merged = new Set(merges.map((merge) => merge.replace(" ", "")));
  return vocabularyMetadata([...BYTE_TEXTS, ...tokens, ...merged], {
    "tokenizer.ggml.model": string("gpt2"),
    "tokenizer.ggml.pre": string("gpt-2"),
    "tokenizer.ggml.merges": strings([...merges]),
    "tokenizer.ggml.scores": undefined,
    "tokenizer.ggml.bos_token_id": undefined,
    "tokenizer.ggml.eos_token_id": undefined,
    "tokenizer.ggml.unknown_token_id": undefined,
    ...changes,
  });
}

/** Metadata of a SentencePiece vocabulary; `changes` replace keys, or remove them (undefined). */
export function vocabularyMetadata(
  tokens: TokenInput[],
  changes: Record<string, MetadataEntry | undefined> = {},
): Metadata {
  const all = tokens.map((token) => typeof token === "string" ? { text: token } : token);
  const entries: Record<string, MetadataEntry | undefined> = {
    "tokenizer.ggml.model": string("llama"),
    "tokenizer.ggml.tokens": strings(all.map((token) => token.text)),
    "tokenizer.ggml.scores": floats(all.map((token) => token.score ?? 0)),
    "tokenizer.ggml.token_type": ints(all.map((token) => token.type ?? 1)),
    "tokenizer.ggml.bos_token_id": uint32(1),
    "tokenizer.ggml.eos_token_id": uint32(2),
    "tokenizer.ggml.unknown_token_id": uint32(0),
    ...changes,
  };
  return new Metadata(
    Object.entries(entries).filter((entry): entry is [string, MetadataEntry] =>
      entry[1] !== undefined
    ),
  );
}

/** Metadata of a vocabulary over characters: every byte, some characters, and what merges make of them. */
export function characterMetadata(
  merges: readonly string[],
  tokens: readonly TokenInput[] = [],
  changes: Record<string, MetadataEntry> = {},
) {
  const merged = new Set(merges.map((merge) => merge.replace(" ", "")));
  return vocabularyMetadata(
    [{ text: "<bos>", type: 3 }, ...BYTES, "\u2581", "a", "b", "é", "\n", ...tokens, ...merged],
    {
      "tokenizer.ggml.model": string("gemma4"),
      "tokenizer.ggml.merges": strings([...merges]),
      "tokenizer.ggml.scores": undefined,
      "tokenizer.ggml.bos_token_id": uint32(0),
      "tokenizer.ggml.eos_token_id": undefined,
      "tokenizer.ggml.unknown_token_id": undefined,
      ...changes,
    },
  );
}
