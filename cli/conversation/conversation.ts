import type { ChatMessage } from "../../engine/mod.ts";

/** What the model said: to the user, and to itself before. */
export interface Said {
  readonly text: string;
  readonly reasoning: string;
}

/** A question and its answer. */
interface Turn {
  readonly question: string;
  readonly answer: Said;
}

/**
 * What was said so far. Questions come in with their answers, so that the two alternate whatever fails:
 * templates want it so.
 */
export class Conversation {
  #turns: Turn[] = [];

  /** @param system What the model is told before the first question. */
  constructor(public system?: string) {}

  /** How many questions were answered. */
  get turns(): number {
    return this.#turns.length;
  }

  /** Takes in a question and what was said to it. */
  add(question: string, answer: Said): void {
    this.#turns.push({ question, answer });
  }

  /** Forgets what was said; what the model is told before stays. */
  clear(): void {
    this.#turns = [];
  }

  /** All messages, and a question that is not answered yet. */
  messages(question?: string): ChatMessage[] {
    const system: ChatMessage[] = this.system === undefined
      ? []
      : [{ role: "system", content: this.system }];
    const turns = this.#turns.flatMap(({ question, answer }): ChatMessage[] => [
      { role: "user", content: question },
      {
        role: "assistant",
        content: answer.text,
        ...(answer.reasoning === "" ? {} : { reasoning: answer.reasoning }),
      },
    ]);
    const last: ChatMessage[] = question === undefined ? [] : [{ role: "user", content: question }];
    return [...system, ...turns, ...last];
  }
}
