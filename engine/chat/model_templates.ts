import type { Metadata } from "../gguf/mod.ts";
import type { Tokenizer } from "../tokenizer/mod.ts";
import { BUILT_IN_TEMPLATES } from "./templates/mod.ts";

const KEY = "tokenizer.chat_template";

/** Named templates that are for something special: others are a file's default before them. */
const SPECIAL_NAMES: readonly string[] = ["tool_use", "rag"];

/** The templates of a model's file. */
export interface ModelTemplates {
  /** What a conversation is rendered with where nothing else is asked for; absent: none is known. */
  readonly template?: string;
  /** "model", or the name of the built-in template that it is. */
  readonly source: string;
  /** Others, by name. */
  readonly named: ReadonlyMap<string, string>;
  /** What was guessed of it. */
  readonly warning?: string;
}

/**
 * The templates of a model's file: its own, or the built-in one that it names or that its vocabulary leaves no doubt
 * about.
 *
 * @param tokenizer Its vocabulary, where that can be read.
 */
export function modelTemplates(metadata: Metadata, tokenizer?: Tokenizer): ModelTemplates {
  const named = namedTemplates(metadata);
  const own = metadata.get(KEY) ?? defaultOf(named);
  if (typeof own !== "string") return { ...guessed(tokenizer), named };
  if (isTemplate(own)) return { template: own, source: "model", named };
  const name = own.trim();
  const builtIn = BUILT_IN_TEMPLATES.get(name);
  if (builtIn !== undefined) return { template: builtIn, source: name, named };
  if (name === "") {
    return { ...chatml("the model's chat template is empty, so chatml is used"), named };
  }
  const { template, source } = guessed(tokenizer);
  return {
    template,
    source,
    named,
    warning:
      `the model's chat template is ${
        JSON.stringify(name.slice(0, 80))
      }, which is neither a template nor ` +
      `the name of a built-in one, so ${template === undefined ? "none" : source} is used ` +
      "(--chat-template chooses another)",
  };
}

/** Whether a text is a template; what is none can only be meant as a name. */
export function isTemplate(text: string): boolean {
  return text.includes("{{") || text.includes("{%");
}

function namedTemplates(metadata: Metadata): Map<string, string> {
  const named = new Map<string, string>();
  for (const key of metadata.keys()) {
    const template = metadata.get(key);
    if (key.startsWith(`${KEY}.`) && typeof template === "string") {
      named.set(key.slice(KEY.length + 1), template);
    }
  }
  return named;
}

/** The one of named templates that is the default where none is said to be. */
function defaultOf(named: ReadonlyMap<string, string>): string | undefined {
  const names = [...named.keys()];
  const name = ["default", ...names.filter((one) => !SPECIAL_NAMES.includes(one)), ...names]
    .find((one) => named.has(one));
  return name === undefined ? undefined : named.get(name);
}

/**
 * The built-in template that a vocabulary leaves no doubt about: one with ChatML's tokens, the second of which ends a
 * turn.
 */
function guessed(tokenizer?: Tokenizer): Omit<ModelTemplates, "named"> {
  const [start, end] = ["<|im_start|>", "<|im_end|>"].map((text) => tokenizer?.tokenId(text));
  const certain = start !== undefined && end !== undefined && tokenizer!.isControl(start) &&
    tokenizer!.endTokens.has(end);
  if (!certain) return { source: "model" };
  return chatml(
    "the model has no chat template; its vocabulary has ChatML's tokens, so chatml is used",
  );
}

function chatml(why: string): Omit<ModelTemplates, "named"> {
  return {
    template: BUILT_IN_TEMPLATES.get("chatml")!,
    source: "chatml",
    warning: `${why} (--chat-template chooses another)`,
  };
}
