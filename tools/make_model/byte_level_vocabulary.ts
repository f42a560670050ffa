import { arrayEntry, entry } from "../../engine/gguf/entries.ts";
import type { MetadataEntry } from "../../engine/gguf/metadata.ts";
import trained from "../demo_model/vocabulary.json" with { type: "json" };

/** The types of tokens in `tokenizer.ggml.token_type`. */
const NORMAL = 1;
const CONTROL = 3;
const USER_DEFINED = 4;

/** Space as GPT-2 writes it. */
const SPACE = "\u0120";
const LETTERS = "etaoinshrdlcumwfgypbvkjxqz";

/**
 * The tokens behind the merged ones, those of Qwen's models: the ends of a text and of a turn, the parts of
 * fill-in-the-middle, and a reasoning block that a reader may see as text.
 */
const SPECIAL: readonly { text: string; type: number; key?: string }[] = [
  { text: "<|endoftext|>", type: CONTROL, key: "bos" },
  { text: "<|im_start|>", type: CONTROL },
  { text: "<|im_end|>", type: CONTROL, key: "eos" },
  { text: "<|fim_prefix|>", type: CONTROL, key: "fim_pre" },
  { text: "<|fim_suffix|>", type: CONTROL, key: "fim_suf" },
  { text: "<|fim_middle|>", type: CONTROL, key: "fim_mid" },
  { text: "<|fim_pad|>", type: CONTROL, key: "fim_pad" },
  { text: "<|repo_name|>", type: CONTROL, key: "fim_rep" },
  { text: "<|file_sep|>", type: CONTROL, key: "fim_sep" },
  { text: "<think>", type: USER_DEFINED },
  { text: "</think>", type: USER_DEFINED },
];

/** ChatML, with an empty reasoning block where the caller wants no reasoning. */
const CHAT_TEMPLATE = "{%- for message in messages -%}" +
  "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{%- endfor -%}" +
  "{%- if add_generation_prompt -%}" +
  "{{ '<|im_start|>assistant\\n' }}" +
  "{%- if enable_thinking is defined and enable_thinking is false -%}" +
  "{{ '<think>\\n\\n</think>\\n\\n' }}" +
  "{%- endif -%}" +
  "{%- endif -%}";

/** The smallest vocabulary: every byte, and the special tokens. */
export const SMALLEST_BYTE_LEVEL = 256 + SPECIAL.length;

/**
 * Metadata of a byte-level BPE vocabulary ("gpt2") of any size from 267 on, with the pre-tokenizer of
 * Qwen 2 and a ChatML template: the 256 bytes, the merges that the demo model's vocabulary was trained
 * to, made-up merges of letters where more are asked for, and {@link SPECIAL} at the end.
 *
 * @throws {RangeError} where `size` is too small for the tokens that there must be.
 */
export function byteLevelVocabulary(size: number): [string, MetadataEntry][] {
  if (size < SMALLEST_BYTE_LEVEL) {
    throw new RangeError(
      `a byte-level vocabulary of ${size} tokens, wanted at least ${SMALLEST_BYTE_LEVEL}`,
    );
  }
  const first = size - SPECIAL.length;
  const { tokens, merges } = mergedTokens(first);
  const types = new Array<number>(first).fill(NORMAL);
  const ids: [string, MetadataEntry][] = [];
  for (const [i, { text, type, key }] of SPECIAL.entries()) {
    tokens.push(text);
    types.push(type);
    if (key !== undefined) ids.push([`tokenizer.ggml.${key}_token_id`, entry("uint32", first + i)]);
  }
  return [
    ["tokenizer.ggml.model", entry("string", "gpt2")],
    ["tokenizer.ggml.pre", entry("string", "qwen2")],
    ["tokenizer.ggml.tokens", arrayEntry("string", tokens)],
    ["tokenizer.ggml.token_type", arrayEntry("int32", types)],
    ["tokenizer.ggml.merges", arrayEntry("string", merges)],
    ...ids,
    ["tokenizer.ggml.add_bos_token", entry("bool", false)],
    ["tokenizer.chat_template", entry("string", CHAT_TEMPLATE)],
  ];
}

/** The bytes and `size - 256` tokens merged from them, each with its merge ("left right"). */
function mergedTokens(size: number): { tokens: string[]; merges: string[] } {
  const tokens = byteCharacters();
  const known = new Set(tokens);
  const merges: string[] = [];
  const add = (left: string, right: string) => {
    const text = left + right;
    if (tokens.length >= size || known.has(text)) return;
    known.add(text);
    tokens.push(text);
    merges.push(`${left} ${right}`);
  };
  const ranks = new Map<string, number>();
  for (const piece of trained.pieces) {
    const text = piece.replaceAll("\u2581", SPACE);
    const pair = lastPair(text, ranks);
    if (pair === undefined) continue;
    ranks.set(`${pair[0]} ${pair[1]}`, ranks.size);
    add(...pair);
  }
  for (let shorter = [SPACE, ...LETTERS]; tokens.length < size;) {
    const longer = shorter.flatMap((text) => Array.from(LETTERS, (letter) => [text, letter]));
    for (const [left, right] of longer) add(left, right);
    shorter = longer.map(([left, right]) => left + right);
  }
  return { tokens, merges };
}

/** The two parts that the merges so far make of a text; undefined where they make one or more than two. */
function lastPair(text: string, ranks: Map<string, number>): [string, string] | undefined {
  const parts = [...text];
  for (;;) {
    let best = -1;
    let bestRank = Infinity;
    for (let at = 0; at + 1 < parts.length; at++) {
      const rank = ranks.get(`${parts[at]} ${parts[at + 1]}`) ?? Infinity;
      if (rank < bestRank) [best, bestRank] = [at, rank];
    }
    if (best < 0) return parts.length === 2 ? [parts[0], parts[1]] : undefined;
    parts.splice(best, 2, parts[best] + parts[best + 1]);
  }
}

/**
 * The characters that GPT-2 writes the 256 bytes as, in the order of its vocabulary: first the printable
 * bytes as themselves, then the others from U+0100 on.
 */
function byteCharacters(): string[] {
  const isPrintable = (byte: number) =>
    byte >= 0x21 && byte !== 0xad && (byte < 0x7f || byte > 0xa0);
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  const others = bytes.filter((byte) => !isPrintable(byte));
  return [
    ...bytes.filter(isPrintable).map((byte) => String.fromCharCode(byte)),
    ...others.map((_, i) => String.fromCharCode(0x100 + i)),
  ];
}
