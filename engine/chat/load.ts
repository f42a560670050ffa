import { M40Error } from "../errors.ts";
import type { Metadata } from "../gguf/metadata.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { ChatFormat } from "./chat_format.ts";
import { BUILT_IN_TEMPLATES } from "./templates/mod.ts";

const KEY = "tokenizer.chat_template";

/** What else a model's chat is made with. */
export interface ChatOptions {
  /** Tokens that a prompt may have at most; default: any number. */
  readonly contextTokens?: number;
  /** The system message of conversations that bring none. */
  readonly system?: string;
  /** Told what was guessed. */
  readonly onWarning?: (warning: string) => void;
}

/**
 * How a model's conversations become prompts; undefined where it has no template, none is given, and its
 * vocabulary does not say which it is.
 *
 * @param given A built-in template's name or the text of a template.
 * @throws {M40Error} "invalid_request" for a name that no template has.
 */
export function loadChat(
  metadata: Metadata,
  tokenizer: Tokenizer,
  given?: string,
  { contextTokens, system, onWarning }: ChatOptions = {},
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
    const templates = { ...chosen(given), named, specialTokens };
    return new ChatFormat(tokenizer, templates, contextTokens, system);
  }
  const own = metadata.get(KEY) ?? named.get("default");
  const templates = typeof own === "string"
    ? { template: own, source: "model" }
    : guessed(tokenizer);
  if (templates?.source === "chatml") {
    onWarning?.(
      "the model has no chat template; its vocabulary has ChatML's tokens, so chatml is used " +
        "(--chat-template chooses another)",
    );
  }
  return templates &&
    new ChatFormat(tokenizer, { ...templates, named, specialTokens }, contextTokens, system);
}

/**
 * The built-in template that a vocabulary leaves no doubt about: one with ChatML's tokens, the second of
 * which ends a turn.
 */
function guessed(tokenizer: Tokenizer): { template: string; source: string } | undefined {
  const [start, end] = ["<|im_start|>", "<|im_end|>"].map((text) => tokenizer.tokenId(text));
  const certain = start !== undefined && end !== undefined && tokenizer.isControl(start) &&
    tokenizer.endTokens.has(end);
  return certain ? chosen("chatml") : undefined;
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
