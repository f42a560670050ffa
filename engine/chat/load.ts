import { M40Error } from "../errors.ts";
import type { Metadata } from "../gguf/metadata.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { ChatFormat } from "./chat_format.ts";
import { BUILT_IN_TEMPLATES } from "./templates/mod.ts";

const KEY = "tokenizer.chat_template";

/**
 * How a model's conversations become prompts; undefined where it has no template and none is given.
 *
 * @param given A built-in template's name or the text of a template.
 * @throws {M40Error} "invalid_request" for a name that no template has.
 */
export function loadChat(
  metadata: Metadata,
  tokenizer: Tokenizer,
  given?: string,
): ChatFormat | undefined {
  const named = new Map<string, string>();
  for (const key of metadata.keys()) {
    const template = metadata.get(key);
    if (key.startsWith(`${KEY}.`) && typeof template === "string") {
      named.set(key.slice(KEY.length + 1), template);
    }
  }
  const specialTokens = specialTokensOf(metadata, tokenizer);
  if (given !== undefined) {
    return new ChatFormat(tokenizer, { ...chosen(given), named, specialTokens });
  }
  const own = metadata.get(KEY) ?? named.get("default");
  if (typeof own !== "string") return undefined;
  return new ChatFormat(tokenizer, { template: own, source: "model", named, specialTokens });
}

function chosen(given: string): { template: string; source: string } {
  const builtIn = BUILT_IN_TEMPLATES.get(given);
  if (builtIn !== undefined) return { template: builtIn, source: given };
  // What is no template can only be meant as a name.
  if (given.includes("{{") || given.includes("{%")) return { template: given, source: "file" };
  throw new M40Error(
    "invalid_request",
    `there is no built-in chat template "${given}"; there are ${
      [...BUILT_IN_TEMPLATES.keys()].join(", ")
    }`,
    "chat_template",
  );
}

/** The names of special tokens in templates, and their ids' in the file. */
const SPECIAL_TOKENS = {
  unk_token: "unknown",
  sep_token: "seperator",
  pad_token: "padding",
  cls_token: "cls",
  mask_token: "mask",
};

/** The special tokens' texts by the names that templates know them by; BOS and EOS always. */
function specialTokensOf(metadata: Metadata, tokenizer: Tokenizer): Record<string, string> {
  const text = (id: number | undefined) => id === undefined ? "" : tokenizer.tokenText(id);
  const tokens: Record<string, string> = {
    bos_token: text(tokenizer.bos),
    eos_token: text(tokenizer.eos),
  };
  for (const [name, key] of Object.entries(SPECIAL_TOKENS)) {
    const id = metadata.get(`tokenizer.ggml.${key}_token_id`);
    if (typeof id === "number" && id < tokenizer.vocabSize) tokens[name] = text(id);
  }
  return tokens;
}
