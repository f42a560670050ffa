import { M40Error } from "../../engine/errors.ts";
import type { ChatRequest, Engine, GenerateRequest } from "../../engine/mod.ts";
import { note, write } from "../terminal/mod.ts";
import { type Answer, type Display, giveAnswer } from "./answer.ts";
import type { Conversation, ToolStep } from "./conversation.ts";
import { chatRequest, type ChatSettings } from "./options.ts";
import type { ConversationTools } from "./tools.ts";

/** An answer, and the calls of tools on the way to it. */
export interface AnswerWithTools {
  readonly answer: Answer;
  readonly steps: readonly ToolStep[];
}

/**
 * Writes the answer to a question: the model is asked, the tools that it calls are called, and it is asked again with
 * what they say, until it answers without a call. After a number of rounds it has to.
 */
export async function answerWithTools(
  engine: Engine,
  conversation: Conversation,
  question: string,
  settings: ChatSettings,
  display: Display,
  tools?: ConversationTools,
): Promise<AnswerWithTools> {
  const steps: ToolStep[] = [];
  for (;;) {
    const offer: Offered = tools === undefined ? {} : await offered(tools, steps.length);
    const answer = await giveAnswer(
      engine,
      (signal): Promise<GenerateRequest> => {
        const messages = conversation.messages(question, steps);
        return chatRequest(engine.chat!, { messages, ...offer }, settings, signal);
      },
      display,
    );
    const { calls, text, reasoning, error } = answer;
    if (error instanceof M40Error && error.code === "context_length_exceeded" && offer.tools) {
      await note(
        `The descriptions of ${offer.tools.length} tools, and their results, take part of the context.`,
      );
    }
    // Calls of an answer that was cut or stopped may be cut themselves.
    const complete = answer.finishReason === "stop" && error === undefined;
    if (tools === undefined || calls.length === 0 || !complete) return { answer, steps };
    // On a terminal each text ends its line.
    if (text !== "" && !text.endsWith("\n") && !Deno.stdout.isTerminal()) await write("\n");
    const { called, stopped } = await tools.carryOut(calls);
    steps.push({ text, reasoning, called });
    if (stopped) return { answer: { ...NOTHING, tokens: answer.tokens, interrupted: true }, steps };
  }
}

const NOTHING = { text: "", reasoning: "", calls: [] } as const;

type Offered = Pick<ChatRequest, "tools" | "toolChoice">;

async function offered(
  tools: ConversationTools,
  round: number,
): Promise<Offered> {
  await tools.mcp.refresh();
  const { offered } = tools;
  if (offered.length === 0) return {};
  return { tools: offered, toolChoice: round < tools.rounds ? "auto" : "none" };
}
