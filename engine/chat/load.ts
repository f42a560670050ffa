import { M40Error } from "../errors.ts";
import type { Metadata } from "../gguf/mod.ts";
import type { Tokenizer } from "../tokenizer/mod.ts";
import { ChatFormat, type ChatTemplates, type DefaultStart } from "./chat_format.ts";
import { isTemplate, modelTemplates } from "./model_templates.ts";
import type { TemplateFile } from "./template_file.ts";
import { BUILT_IN_TEMPLATES } from "./templates/mod.ts";

/** What else a model's chat is made with. */
export interface ChatOptions extends DefaultStart {
  /** Tokens that a prompt may have at most; default: any number. */
  readonly contextTokens?: number;
  /** Reports what was guessed. */
  readonly onWarning?: (warning: string) => void;
}

/**
 * How a model's conversations become prompts; undefined where it has no template, none is given, and its
 * vocabulary does not say which it is.
 *
 * @param given A built-in template's name, the text of a template, or a file with one, which may be edited.
 * @throws {M40Error} "invalid_request" for a name that no template has.
 */
export function loadChat(
  metadata: Metadata,
  tokenizer: Tokenizer,
  given?: string | TemplateFile,
  { contextTokens, onWarning, ...start }: ChatOptions = {},
): ChatFormat | undefined {
  const { warning, ...own } = modelTemplates(metadata, tokenizer);
  if (given === undefined && warning !== undefined) onWarning?.(warning);
  const { template, ...others } = given === undefined ? own : { ...own, ...chosen(given) };
  if (template === undefined) return undefined;
  const templates = { template, ...others, specialTokens: specialTokensOf(metadata, tokenizer) };
  return new ChatFormat(tokenizer, templates, contextTokens, start);
}

function chosen(given: string | TemplateFile): Pick<ChatTemplates, "template" | "source" | "file"> {
  const text = typeof given === "string" ? given : given.last;
  const builtIn = BUILT_IN_TEMPLATES.get(text);
  if (builtIn !== undefined) return { template: builtIn, source: text };
  if (isTemplate(text)) {
    return { template: text, source: "file", file: typeof given === "string" ? undefined : given };
  }
  throw new M40Error(
    "invalid_request",
    `there is no built-in chat template "${text.slice(0, 200)}"; there are ${
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
