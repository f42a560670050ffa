import type { OrderAbilities } from "./order_abilities.ts";
import type { RenderCall, RenderMessage } from "./render_job.ts";
import { resultText } from "./tools/tool_texts.ts";

/**
 * Messages with calls as a template can show them: text next to calls goes to a message before it. Each call with its
 * result goes to messages of its own, one behind the other.
 *
 * @param severalCalls Whether the template shows several calls of one message; asked where there are some.
 */
export function splitCalls(
  messages: readonly RenderMessage[],
  order: OrderAbilities,
  severalCalls: () => boolean,
): RenderMessage[] {
  const shown: RenderMessage[] = [];
  for (let at = 0; at < messages.length;) {
    const message = messages[at++];
    const { toolCalls = [], content, reasoning, ...rest } = message;
    if (toolCalls.length === 0) {
      shown.push(message);
      continue;
    }
    const said = content !== null && content.length > 0;
    const together = !said ||
      (reasoning === undefined ? order.contentWithCall : order.contentWithThoughtAndCall);
    if (!together) shown.push({ ...rest, content });
    const calling: RenderMessage = {
      ...rest,
      content: together ? content : null,
      ...(reasoning === undefined ? {} : { reasoning }),
      toolCalls,
    };
    if (toolCalls.length === 1 || severalCalls()) {
      shown.push(calling);
      continue;
    }
    const results: RenderMessage[] = [];
    while (at < messages.length && messages[at].role === "tool") results.push(messages[at++]);
    for (const one of oneByOne(calling, toolCalls, results)) shown.push(one);
  }
  return shown;
}

/** Calls each with its result; results of no call stand behind the last one. */
function* oneByOne(
  message: RenderMessage,
  calls: readonly RenderCall[],
  results: readonly RenderMessage[],
): Generator<RenderMessage> {
  const byId = Map.groupBy(results, ({ toolCallId }) => toolCallId);
  const used = new Set<RenderMessage>();
  for (const [index, call] of calls.entries()) {
    const { content, reasoning: _, ...rest } = message;
    yield index === 0
      ? { ...message, toolCalls: [call] }
      : { ...rest, content: content === null ? null : "", toolCalls: [call] };
    const result = byId.get(call.id)?.shift();
    if (result === undefined) continue;
    used.add(result);
    yield result;
  }
  for (const result of results) if (!used.has(result)) yield result;
}

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
