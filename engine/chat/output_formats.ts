import type { Tokenizer } from "../tokenizer/mod.ts";
import { textOf } from "./arrange_messages.ts";
import type { ChatMessage } from "./conversation.ts";
import { HarmonyReasoning } from "./harmony_reasoning.ts";
import type { OutputFormat } from "./reasoning.ts";
import { REASONING_TAGS, TaggedReasoning, type TaggedStart } from "./tagged_reasoning.ts";

/** A prompt, and what it was made with. */
interface Prompt {
  readonly template: string;
  readonly text: string;
  readonly tokens: readonly number[];
  /** The message that it ends with, if that goes on. */
  readonly unfinished?: ChatMessage;
}

/** How the output after a prompt separates reasoning from content. */
export function formatOf(tokenizer: Tokenizer, prompt: Prompt): OutputFormat {
  const harmony = prompt.template.includes("<|channel|>")
    ? HarmonyReasoning.of(tokenizer, prompt.tokens)
    : undefined;
  return harmony ?? new TaggedReasoning(tokenizer, startAfter(prompt));
}

function startAfter({ text, unfinished }: Prompt): TaggedStart {
  const end = text.trimEnd();
  for (const tags of REASONING_TAGS) {
    if (end.endsWith(tags.open)) return tags;
    // A template that does without reasoning gives the model an empty one.
    if (end.endsWith(tags.close)) return "content";
  }
  const said = unfinished === undefined ? "" : textOf(unfinished.content).trimStart();
  if (said === "") return "start";
  const open = REASONING_TAGS.find((tags) => said.startsWith(tags.open));
  return open !== undefined && !said.includes(open.close) ? open : "content";
}
