import { TOKEN_TYPE, type TokenIds, type Vocabulary } from "./vocabulary.ts";

/** Texts that mean the end of a turn or of a text in the chat formats of today. */
const END_TEXTS = new Set(
  ("<|im_end|> <|eot_id|> <|eom_id|> <|end|> <|end_of_text|> <|endoftext|> <|end_of_turn|> " +
    "<|END_OF_TURN_TOKEN|> <end_of_turn> <end_of_utterance> <｜end▁of▁sentence｜> [|endofturn|] <|EOT|> " +
    "<|role_end|>").split(" "),
);

/** The same, but also plain text in some vocabularies (`</s>` is HTML): only as control tokens. */
const END_TEXTS_IF_CONTROL = new Set(
  ("</s> <eos> <|eos|> [EOS] <EOT> _<EOT> ▁<EOT> [EOT] <|return|> <|call|> <|calls|> <|flush|> <turn|> " +
    "<|tool_response> [e~[").split(" "),
);

/** Formats in which a text of the above means something else: where all of `if` are there, `keep` ends nothing. */
const EXCEPTIONS = [
  // Harmony (gpt-oss) and Solar Open: the end of one message of several.
  { if: ["<|return|>", "<|call|>"], keep: "<|end|>" },
  { if: ["<|flush|>", "<|calls|>"], keep: "<|end|>" },
  // Gemma 4 has a tag of HTML.
  { if: ["<|tool_response>"], keep: "</s>" },
];

/** In the format of GLM a turn ends where the next begins. */
const GLM = { if: ["[gMASK]", "<sop>"], ends: ["<|user|>", "<|observation|>"] };

/**
 * The tokens at which generation stops: EOS, the ids of the metadata, and the special tokens with a
 * well-known text. A file may list the latter as normal or user-defined tokens; they become control tokens, so that
 * users can neither type nor read them.
 *
 * @throws {M40Error} `invalid_model` for an id that is no whole number.
 */
export function findEndTokens(vocabulary: Vocabulary, tokens: TokenIds): Set<number> {
  const { types } = vocabulary;
  const listed = tokens.list("tokenizer.ggml.eos_token_ids");
  const ids = [vocabulary.eos, tokens.special("eot"), tokens.special("eom"), ...listed];
  const endTokens = new Set(ids.filter((id) => id !== undefined));
  const named = namedTokens(vocabulary);
  const kept = new Set(
    EXCEPTIONS.filter((exception) => exception.if.every((text) => named.has(text)))
      .map((exception) => exception.keep),
  );
  for (const [text, ids] of named) {
    const ends = END_TEXTS.has(text) && !kept.has(text);
    const endsIfControl = END_TEXTS_IF_CONTROL.has(text) && !kept.has(text);
    for (const id of ids) {
      if (END_TEXTS.has(text)) types[id] = TOKEN_TYPE.control;
      if (ends || (endsIfControl && types[id] === TOKEN_TYPE.control)) endTokens.add(id);
    }
  }
  if (GLM.if.every((text) => named.has(text))) {
    for (const id of GLM.ends.flatMap((text) => named.get(text) ?? [])) {
      if (types[id] === TOKEN_TYPE.control) endTokens.add(id);
    }
  }
  return endTokens;
}

/** The tokens with a text that is known here. */
function namedTokens({ texts, size }: Vocabulary): Map<string, number[]> {
  const known = new Set([...END_TEXTS, ...END_TEXTS_IF_CONTROL, ...GLM.if, ...GLM.ends]);
  const named = new Map<string, number[]>();
  for (let id = 0; id < size; id++) {
    if (known.has(texts[id])) named.getOrInsert(texts[id], []).push(id);
  }
  return named;
}
