import type { ChatMessage } from "../../engine/mod.ts";
import type { CalledTool } from "./called_tools.ts";

/** What the model said: to the user, and to itself before. */
export interface Said {
  readonly text: string;
  readonly reasoning: string;
}

/** What the model said before it called tools, and what they answered. */
export interface ToolStep extends Said {
  readonly called: readonly CalledTool[];
}

/** A question and its answer. */
interface Turn {
  readonly question: string;
  readonly steps: readonly ToolStep[];
  readonly answer: Said;
}

/**
 * What was said so far. Questions come in with their answers, so that the two alternate whatever fails:
 * templates want it so.
 */
export class Conversation {
  #turns: Turn[] = [];

  /** @param system What the model gets before the first question. */
  constructor(public system?: string) {}

  /** How many questions were answered. */
  get turns(): number {
    return this.#turns.length;
  }

  /** Takes in a question, the calls of tools on the way to its answer, and what was said to it. */
  add(question: string, answer: Said, steps: readonly ToolStep[] = []): void {
    this.#turns.push({ question, steps, answer });
  }

  /** Forgets what was said; the system prompt stays. */
  clear(): void {
    this.#turns = [];
  }

  /** All messages, and a question that is not answered yet, with the calls that were made for it. */
  messages(question?: string, steps: readonly ToolStep[] = []): ChatMessage[] {
    const system: ChatMessage[] = this.system === undefined
      ? []
      : [{ role: "system", content: this.system }];
    const turns = this.#turns.flatMap(({ question, steps, answer }): ChatMessage[] => [
      { role: "user", content: question },
      ...steps.flatMap(stepMessages),
      assistantMessage(answer),
    ]);
    const last: ChatMessage[] = question === undefined
      ? []
      : [{ role: "user", content: question }, ...steps.flatMap(stepMessages)];
    return [...system, ...turns, ...last];
  }
}

function assistantMessage({ text, reasoning }: Said): ChatMessage {
  return {
    role: "assistant",
    content: text,
    ...(reasoning === "" ? {} : { reasoning }),
  };
}

function stepMessages(step: ToolStep): ChatMessage[] {
  return [
    { ...assistantMessage(step), toolCalls: step.called.map(({ call }) => call) },
    ...step.called.map(({ call, result }): ChatMessage => ({
      role: "tool",
      content: result,
      name: call.name,
      toolCallId: call.id,
    })),
  ];
}
