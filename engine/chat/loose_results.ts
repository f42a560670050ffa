import type { OrderAbilities } from "./order_abilities.ts";
import type { RenderMessage } from "./render_job.ts";
import { resultText } from "./tools/tool_texts.ts";

/**
 * Results of calls that are not there as a user's text, where a template shows no such result. Clients that cut the
 * start of a long conversation send them.
 *
 * @param order What the template takes; asked where there is such a result.
 */
export function looseResultsShown(
  messages: readonly RenderMessage[],
  order: Pick<OrderAbilities, "resultAlone">,
): readonly RenderMessage[] {
  let behindCall = false;
  return messages.map((message) => {
    const { role, toolCalls = [] } = message;
    if (role === "tool") {
      if (behindCall || order.resultAlone) return message;
      return { role: "user", content: resultText(message), at: message.at };
    }
    // What a system message says between a call and its result is put elsewhere.
    if (role === "user" || role === "assistant") behindCall = toolCalls.length > 0;
    return message;
  });
}
