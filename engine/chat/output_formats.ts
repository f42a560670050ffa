import type { Tokenizer } from "../tokenizer/mod.ts";
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
  const opened = REASONING_TAGS.find(({ open }) => end.endsWith(open));
  if (opened !== undefined) return opened;
  // A template that does without reasoning gives the model an empty one.
  if (REASONING_TAGS.some(({ close }) => end.endsWith(close))) return "content";
  const said = unfinished === undefined ? "" : textOf(unfinished).trimStart();
  if (said === "") return "start";
  const open = REASONING_TAGS.find((tags) => said.startsWith(tags.open));
  return open !== undefined && !said.includes(open.close) ? open : "content";
}

function textOf({ content }: ChatMessage): string {
  if (content === null || typeof content === "string") return content ?? "";
  return content.map(({ text }) => text).join("\n");
}
