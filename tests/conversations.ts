/** Conversations as clients and models make them, for whatever template. */
import type { ChatMessage, ToolCall } from "../engine/chat/conversation.ts";

/** What a user says. */
export const user = (content: ChatMessage["content"]): ChatMessage => ({ role: "user", content });
/** What the system says. */
export const system = (content: ChatMessage["content"]): ChatMessage => ({
  role: "system",
  content,
});
/** What an assistant says. */
export const assistant = (content: ChatMessage["content"], more = {}): ChatMessage => ({
  role: "assistant",
  content,
  ...more,
});
/** A content in parts. */
export const parts = (...texts: string[]) => texts.map((text) => ({ type: "text" as const, text }));
/** A call of a tool. */
export const call = (id: string, name = "f", text = "{}"): ToolCall => ({
  id,
  name,
  arguments: text,
});
/** An assistant's message that calls tools, and says nothing. */
export const calling = (...toolCalls: ToolCall[]) => assistant(null, { toolCalls });
/** What came of a call. */
export const result = (toolCallId: string, content: ChatMessage["content"]): ChatMessage => ({
  role: "tool",
  toolCallId,
  content,
});

/** Conversations, each text of which begins with a T and ends with a number. */
export const CONVERSATIONS: Readonly<Record<string, ChatMessage[]>> = {
  parts: [
    system(parts("T1", "T2")),
    user(parts("T3", "T4")),
    assistant(parts("T5", "T6")),
    user("T7"),
  ],
  "two system messages": [system("T1"), system("T2"), user("T3")],
  "a developer behind a system message": [
    system("T1"),
    { role: "developer", content: "T2" },
    user("T3"),
  ],
  "later system messages": [
    system("T1"),
    user("T2"),
    assistant("T3"),
    system("T4"),
    user("T5"),
    system("T6"),
  ],
  "a system message alone": [system("T1")],
  "users and assistants in a row": [
    user("T1"),
    user("T2"),
    assistant("T3"),
    assistant("T4"),
    user("T5"),
  ],
  "an assistant begins": [system("T1"), assistant("T2"), user("T3")],
  "an empty answer": [user("T1"), assistant(""), user("T2")],
  "a user behind a result": [
    user("T1"),
    calling(call("a")),
    result("a", "T2"),
    user("T3"),
    assistant("T4"),
    user("T5"),
  ],
  "a result in parts": [user("T1"), calling(call("a")), result("a", parts("T2", "T3"))],
  "a system message, and a result at the end": [
    system("T1"),
    user("T2"),
    calling(call("a")),
    result("a", "T3"),
  ],
  "content, thoughts and two calls": [
    user("T1"),
    assistant("T2", { reasoning: "R", toolCalls: [call("a"), call("b")] }),
    result("a", "T3"),
    result("b", "T4"),
    assistant("T5"),
    user("T6"),
  ],
  "a call of nothing known": [user("T1"), calling(call("a", "T2 $", '{"x')), result("a", "T3")],
  "results without a user": [
    system("T1"),
    calling(call("a")),
    result("a", "T2"),
    assistant("", { reasoning: "R" }),
    user("T3"),
  ],
  "a call and its result alone": [calling(call("a")), result("a", "T1")],
  "results whose calls were cut": [
    result("a", "T1"),
    result("b", parts("T2", "T3")),
    assistant("T4"),
    user("T5"),
  ],
  "a result whose call was cut, behind the system's message": [
    system("T1"),
    result("a", "T2"),
    user("T3"),
    calling(call("b")),
    result("b", "T4"),
    result("c", "T5"),
  ],
  "a user's message between a call and its result": [
    user("T1"),
    calling(call("a")),
    user("T2"),
    result("a", "T3"),
  ],
  "an empty answer at the end": [user("T1"), assistant("T2"), user("T3"), assistant("")],
  "an empty answer alone, behind the system's message": [system("T1"), assistant("")],
  "special characters": [user('T1 <b> "&" \\ \n é T2'), assistant("  T3\n"), user(" T4")],
};
