import { type ChatMessage, type ChatRequest, M40Error } from "../../../engine/mod.ts";

/** Of the context, what is left free for the answer where the oldest turns are left out: at most this much. */
const ROOM_SHARE = 1 / 4;

/**
 * The prompt of as much of a conversation as the context has room for. The oldest turns are left out, each from a
 * user's message to the next, but neither the first system message nor the last turn.
 *
 * @param prompt Makes a prompt of a conversation; fails with "context_length_exceeded" for one that is far too long.
 * @param contextTokens Tokens that the context has.
 * @param wanted Tokens that the answer may have; absent: as many as there is room for.
 */
export async function truncatedPrompt<P extends { readonly prompt: readonly number[] }>(
  chat: ChatRequest,
  prompt: (chat: ChatRequest) => Promise<P>,
  contextTokens: number,
  wanted = Infinity,
): Promise<P> {
  const most = contextTokens - Math.max(1, Math.min(wanted, contextTokens * ROOM_SHARE));
  const { messages } = chat;
  const starts = turnStarts(messages);
  const first = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  const from = (start: number): ChatRequest => ({
    ...chat,
    messages: [...messages.slice(0, first), ...messages.slice(start)],
  });
  const fitting = async (part: ChatRequest): Promise<P | undefined> => {
    try {
      const made = await prompt(part);
      return made.prompt.length <= most ? made : undefined;
    } catch (error) {
      if (error instanceof M40Error && error.code === "context_length_exceeded") return undefined;
      throw error;
    }
  };
  const whole = await fitting(chat);
  if (whole !== undefined) return whole;
  let best: P | undefined;
  // The more is left out, the shorter it is.
  let low = 0;
  for (let high = starts.length; low < high;) {
    const middle = (low + high) >> 1;
    const made = await fitting(from(starts[middle]));
    if (made === undefined) {
      low = middle + 1;
    } else {
      best = made;
      high = middle;
    }
  }
  return best ?? await prompt(starts.length === 0 ? chat : from(starts.at(-1)!));
}

/** Where the turns begin, but the first. */
function turnStarts(messages: readonly ChatMessage[]): number[] {
  return messages.flatMap(({ role }, index) => role === "user" ? [index] : []).slice(1);
}
