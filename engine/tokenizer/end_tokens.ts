import { TOKEN_TYPE, type Vocabulary } from "./vocabulary.ts";

/** Texts that mean the end of a turn or of a text in the chat formats of today. */
const END_TEXTS = new Set([
  "<|im_end|>",
  "<|eot_id|>",
  "<|eom_id|>",
  "<|end|>",
  "<|end_of_text|>",
  "<|endoftext|>",
  "<|end_of_turn|>",
  "<end_of_turn>",
  "<end_of_utterance>",
  "<｜end▁of▁sentence｜>",
]);

/** The same, but also plain text in some vocabularies (`</s>` is HTML): only as control tokens. */
const END_TEXTS_IF_CONTROL = new Set(["</s>", "<eos>", "[EOS]", "<EOT>", "[EOT]"]);

/**
 * The tokens at which generation stops: EOS, the ids of the metadata, and the special tokens with a
 * well-known text. A file may list the latter as user-defined tokens; they become control tokens, so
 * that a user cannot type them and nobody reads them.
 */
export function findEndTokens(
  vocabulary: Vocabulary,
  ids: { endOfTurn?: number; endOfMessage?: number },
): ReadonlySet<number> {
  const { texts, types, size } = vocabulary;
  const endTokens = new Set<number>();
  for (const id of [vocabulary.eos, ids.endOfTurn, ids.endOfMessage]) {
    if (id !== undefined) endTokens.add(id);
  }
  for (let id = 0; id < size; id++) {
    if (types[id] === TOKEN_TYPE.control) {
      if (END_TEXTS.has(texts[id]) || END_TEXTS_IF_CONTROL.has(texts[id])) endTokens.add(id);
    } else if (types[id] === TOKEN_TYPE.userDefined && END_TEXTS.has(texts[id])) {
      types[id] = TOKEN_TYPE.control;
      endTokens.add(id);
    }
  }
  return endTokens;
}
