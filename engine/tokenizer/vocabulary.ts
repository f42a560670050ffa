import { M40Error } from "../errors.ts";
import type { Metadata } from "../gguf/mod.ts";

/** What of the metadata a tokenizer reads. */
export type TokenizerMetadata = Pick<
  Metadata,
  "has" | "string" | "number" | "boolean" | "strings" | "numbers"
>;

/** What a token is, by its number in `tokenizer.ggml.token_type`. */
export const TOKEN_TYPE = {
  undefined: 0,
  normal: 1,
  /** Stands for whatever the vocabulary cannot spell. */
  unknown: 2,
  /** Steers the model; stands for no text. */
  control: 3,
  /** Stands for its text, which is never spelled in any other way. */
  userDefined: 4,
  unused: 5,
  /** Stands for one byte; its text is `<0x00>` to `<0xFF>`. */
  byte: 6,
} as const;

/** A file whose tokenizer cannot be: the message says why. */
export function invalidModel(message: string): M40Error {
  return new M40Error("invalid_model", message);
}

/** Whether text can be spelled with tokens of a type: not with those that steer, are unknown or stand for a byte. */
export function isSpellable(type: number): boolean {
  return type !== TOKEN_TYPE.control && type !== TOKEN_TYPE.unknown && type !== TOKEN_TYPE.byte;
}

/** The tokens of a model, as its file has them, checked against each other. */
export interface Vocabulary {
  /** The number of tokens. */
  readonly size: number;
  /** The text of each token. A text may be empty or occur twice. */
  readonly texts: ArrayLike<string>;
  /** The {@link TOKEN_TYPE} of each token. */
  readonly types: Uint8Array;
  /** The score of each token: the higher, the earlier it is merged. Absent where the file has none. */
  readonly scores?: Float32Array;
  /** The token of each of the 256 bytes, or -1. */
  readonly byteTokens: Int32Array;
  readonly bos?: number;
  readonly eos?: number;
  readonly unknown?: number;
}

/**
 * Reads and checks the `tokenizer.ggml.*` arrays and ids.
 *
 * @throws {M40Error} `invalid_model` when a part is missing or contradicts another.
 */
export function readVocabulary(
  metadata: TokenizerMetadata,
  onWarning?: (warning: string) => void,
): Vocabulary {
  if (!metadata.has("tokenizer.ggml.tokens")) {
    throw invalidModel(
      "The file has no vocabulary (tokenizer.ggml.tokens is missing). Convert the model again together with its tokenizer.",
    );
  }
  const texts = metadata.strings("tokenizer.ggml.tokens");
  const size = texts.length;
  if (size === 0) {
    throw invalidModel("The vocabulary (tokenizer.ggml.tokens) is empty.");
  }
  const ids = specialIds(metadata, texts, new TokenIds(metadata, size, onWarning));
  const types = readTypes(metadata, texts) ?? inferTypes(texts, ids);
  const byteTokens = new Int32Array(256).fill(-1);
  for (let id = 0; id < size; id++) {
    if (types[id] !== TOKEN_TYPE.byte) continue;
    const byte = byteOf(texts[id]);
    if (byte === undefined) {
      throw invalidModel(
        `Token ${id} is a byte token (tokenizer.ggml.token_type) but its text is ${
          JSON.stringify(texts[id])
        }; wanted <0x00> to <0xFF>.`,
      );
    }
    byteTokens[byte] = id;
  }
  const unknown = types.indexOf(TOKEN_TYPE.unknown);
  return {
    size,
    texts,
    types,
    scores: readScores(metadata, size),
    byteTokens,
    bos: ids.bos,
    eos: ids.eos,
    unknown: ids.unknown ?? (unknown < 0 ? undefined : unknown),
  };
}

/** BOS, EOS and the unknown token; BERT calls the first two CLS and SEP, and its older files name no ids. */
function specialIds(metadata: TokenizerMetadata, texts: readonly string[], tokens: TokenIds) {
  const ids = {
    bos: tokens.special("bos"),
    eos: tokens.special("eos"),
    unknown: tokens.special("unknown"),
  };
  if (metadata.string("tokenizer.ggml.model", "") !== "bert") return ids;
  const textAt = (text: string) => {
    const id = texts.indexOf(text);
    return id < 0 ? undefined : id;
  };
  return {
    bos: ids.bos ?? tokens.special("cls") ?? textAt("[CLS]"),
    // The misspelling is the format's.
    eos: ids.eos ?? tokens.special("seperator") ?? textAt("[SEP]"),
    unknown: ids.unknown ?? textAt("[UNK]"),
  };
}

/** Reads ids of tokens out of the metadata, and warns of those that are not in the vocabulary. */
export class TokenIds {
  /** @param size Tokens of the vocabulary. */
  constructor(
    private readonly metadata: TokenizerMetadata,
    private readonly size: number,
    private readonly onWarning: (warning: string) => void = () => {},
  ) {}

  /**
   * The id in `tokenizer.ggml.NAME_token_id`. Undefined where the key is missing or says "none" (-1, of either
   * signedness), or, with a warning, names a token that is not in the vocabulary.
   *
   * @throws {M40Error} `invalid_model` for what is no whole number.
   */
  special(name: string): number | undefined {
    const key = `tokenizer.ggml.${name}_token_id`;
    const last = this.size - 1;
    if (!this.metadata.has(key)) return undefined;
    const id = this.metadata.number(key);
    if (isNone(id)) return undefined;
    if (!Number.isInteger(id)) {
      throw invalidModel(`${key} is ${id}; wanted 0 to ${last}.`);
    }
    if (this.has(id)) return id;
    this.onWarning(
      `${key} is ${id}, which is not in the vocabulary (0 to ${last}): the model runs without such a token.`,
    );
    return undefined;
  }

  /**
   * The tokens that a list of ids names, each once; of ids that are not in the vocabulary one is warned of.
   *
   * @throws {M40Error} `invalid_model` for what is no list of numbers.
   */
  list(key: string): number[] {
    if (!this.metadata.has(key)) return [];
    const ids = [...this.metadata.numbers(key)].filter((id) => !isNone(id));
    const strange = ids.filter((id) => !this.has(id));
    if (strange.length > 0) {
      const more = strange.length > 1 ? ` and ${strange.length - 1} more` : "";
      this.onWarning(
        `${key} names ${strange[0]}${more}, which ${
          more ? "are" : "is"
        } not in the vocabulary (0 to ${this.size - 1}).`,
      );
    }
    return [...new Set(ids.filter((id) => this.has(id)))];
  }

  private has(id: number): boolean {
    return Number.isInteger(id) && id >= 0 && id < this.size;
  }
}

const isNone = (id: number) => id === -1 || id === 0xffffffff;

function readTypes(metadata: TokenizerMetadata, texts: ArrayLike<string>): Uint8Array | undefined {
  const key = "tokenizer.ggml.token_type";
  const numbers = numbersOf(metadata, key, texts.length);
  if (numbers === undefined) return undefined;
  const types = new Uint8Array(numbers.length);
  let hasBytes = false;
  for (let id = 0; id < types.length; id++) {
    const type = Number(numbers[id]);
    if (!Number.isInteger(type) || type < 0 || type > TOKEN_TYPE.byte) {
      throw invalidModel(`${key} of token ${id} is ${type}; wanted 0 to ${TOKEN_TYPE.byte}.`);
    }
    types[id] = type;
    hasBytes ||= type === TOKEN_TYPE.byte;
  }
  // Some converters write the byte tokens as normal ones. All 256 of them cannot be a coincidence.
  if (!hasBytes) markBytes(texts, types, 256);
  return types;
}

function inferTypes(
  texts: ArrayLike<string>,
  ids: { bos?: number; eos?: number; unknown?: number },
): Uint8Array {
  const types = new Uint8Array(texts.length).fill(TOKEN_TYPE.normal);
  markBytes(texts, types, 1);
  if (ids.bos !== undefined) types[ids.bos] = TOKEN_TYPE.control;
  if (ids.eos !== undefined) types[ids.eos] = TOKEN_TYPE.control;
  if (ids.unknown !== undefined) types[ids.unknown] = TOKEN_TYPE.unknown;
  return types;
}

/** Makes byte tokens of the tokens with the text of one, if they stand for that many bytes or more. */
function markBytes(texts: ArrayLike<string>, types: Uint8Array, atLeast: number): void {
  const found: number[] = [];
  const bytes = new Set<number>();
  for (let id = 0; id < texts.length; id++) {
    const byte = byteOf(texts[id]);
    if (byte === undefined) continue;
    found.push(id);
    bytes.add(byte);
  }
  if (bytes.size >= atLeast) { for (const id of found) types[id] = TOKEN_TYPE.byte; }
}

function readScores(metadata: TokenizerMetadata, size: number): Float32Array | undefined {
  const key = "tokenizer.ggml.scores";
  const numbers = numbersOf(metadata, key, size);
  if (numbers === undefined) return undefined;
  const scores = new Float32Array(size);
  for (let id = 0; id < size; id++) {
    scores[id] = Number(numbers[id]);
    if (Number.isNaN(scores[id])) {
      throw invalidModel(`${key} of token ${id} is not a number.`);
    }
  }
  return scores;
}

/** The number that a key has for each token; undefined where it is missing. */
function numbersOf(metadata: TokenizerMetadata, key: string, size: number) {
  if (!metadata.has(key)) return undefined;
  const numbers = metadata.numbers(key);
  if (numbers.length === size) return numbers;
  throw invalidModel(
    `${key} has ${numbers.length} elements, but there are ${size} tokens (tokenizer.ggml.tokens).`,
  );
}

/** The byte that a text such as `<0x0A>` names. */
export function byteOf(text: string): number | undefined {
  if (text.length !== 6 || !text.startsWith("<0x")) return undefined;
  return /^<0x[0-9A-Fa-f]{2}>$/.test(text) ? parseInt(text.slice(3, 5), 16) : undefined;
}
