import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { ChatMessage } from "./conversation.ts";
import type { OutputFormat } from "./reasoning.ts";
import { REASONING_TAGS, TaggedReasoning } from "./tagged_reasoning.ts";

/**
 * How reasoning is told from content in what follows a prompt.
 *
 * @param template The template of the prompt.
 * @param prompt The prompt's text.
 * @param unfinished The message that the prompt ends with, if it is one that goes on.
 */
export function formatOf(
  tokenizer: Tokenizer,
  template: string,
  prompt: string,
  unfinished?: ChatMessage,
): OutputFormat {
  const end = prompt.trimEnd();
  const said = unfinished === undefined ? "" : textOf(unfinished).trimStart();
  const opened = REASONING_TAGS.find(({ open, close }) =>
    end.endsWith(open) || said.startsWith(open) && !said.includes(close)
  );
  return new TaggedReasoning(tokenizer, opened);
}

function textOf({ content }: ChatMessage): string {
  if (content === null || typeof content === "string") return content ?? "";
  return content.map(({ text }) => text).join("\n");
}
