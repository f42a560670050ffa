import { arrayEntry, entry } from "../../engine/gguf/entries.ts";
import type { MetadataEntry } from "../../engine/gguf/metadata.ts";

/** The types of tokens in `tokenizer.ggml.token_type`. */
const NORMAL = 1;
const UNKNOWN = 2;
const CONTROL = 3;
const BYTE = 6;

/** Space as SentencePiece writes it. */
const SPACE = "\u2581";
const LETTERS = "etaoinshrdlcumwfgypbvkjxqz";

/**
 * Metadata of a made-up SentencePiece vocabulary of any size from 355 on: `<unk>`, `<s>`, `</s>`, the
 * 256 bytes, every printable character, and then pieces of two letters, three letters and so on.
 * Every piece is a shorter piece and a letter, with a lower score: so all of them can be reached by
 * merging, and any text can be written.
 *
 * @throws {RangeError} where `size` is too small for the tokens that there must be.
 */
export function madeUpVocabulary(size: number): [string, MetadataEntry][] {
  const special = ["<unk>", "<s>", "</s>"];
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
  );
  const characters = Array.from({ length: 94 }, (_, i) => String.fromCharCode(0x21 + i));
  const tokens = [...special, ...bytes, SPACE, ...characters];
  if (size < tokens.length) {
    throw new RangeError(`a vocabulary of ${size} tokens, wanted at least ${tokens.length}`);
  }
  const pieces = tokens.length - 95;
  let shorter = [SPACE, ...LETTERS];
  while (tokens.length < size) {
    const longer = shorter.flatMap((piece) => Array.from(LETTERS, (letter) => piece + letter));
    for (let i = 0; i < longer.length && tokens.length < size; i++) tokens.push(longer[i]);
    shorter = longer;
  }
  const types = tokens.map((_, id) =>
    id === 0 ? UNKNOWN : id < special.length ? CONTROL : id < pieces ? BYTE : NORMAL
  );
  return [
    ["tokenizer.ggml.model", entry("string", "llama")],
    ["tokenizer.ggml.pre", entry("string", "default")],
    ["tokenizer.ggml.tokens", arrayEntry("string", tokens)],
    [
      "tokenizer.ggml.scores",
      arrayEntry("float32", tokens.map((_, id) => Math.min(0, pieces - id))),
    ],
    ["tokenizer.ggml.token_type", arrayEntry("int32", types)],
    ["tokenizer.ggml.unknown_token_id", entry("uint32", 0)],
    ["tokenizer.ggml.bos_token_id", entry("uint32", 1)],
    ["tokenizer.ggml.eos_token_id", entry("uint32", 2)],
    ["tokenizer.ggml.add_bos_token", entry("bool", true)],
    ["tokenizer.ggml.add_eos_token", entry("bool", false)],
  ];
}
