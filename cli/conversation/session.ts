import { M40Error } from "../../engine/errors.ts";
import type { Engine, GenerateRequest } from "../../engine/mod.ts";
import { answerDefaults, answerRequest } from "../arguments/mod.ts";
import { HeldInterrupt, note, printable, style, writeError } from "../terminal/mod.ts";
import { ClosedOutput } from "../../server/output/mod.ts";
import { EXIT, reportError, UsageError } from "../errors.ts";
import { History } from "./history.ts";
import { giveAnswer } from "./answer.ts";
import { type AnswerWithTools, answerWithTools } from "./answer_with_tools.ts";
import { runCommand } from "./commands.ts";
import type { Conversation } from "./conversation.ts";
import { CHAT_SETTINGS, type ChatSettings, TEXT_SETTINGS, type TextSettings } from "./options.ts";
import { FENCE, readMessage } from "./read_message.ts";
import { Settings } from "./settings.ts";
import type { ConversationTools } from "./tools.ts";

/** Questions and answers on a terminal until the user leaves. */
export class Session {
  private readonly settings: Settings<ChatSettings>;

  /**
   * @param conversation Absent: what is typed is continued, each text by itself.
   * @param settings What holds at first.
   * @param tools What the model may call; absent: nothing.
   */
  constructor(
    private readonly engine: Engine,
    private readonly conversation: Conversation | undefined,
    settings: ChatSettings,
    private readonly tools?: ConversationTools,
  ) {
    const options = conversation ? CHAT_SETTINGS : TEXT_SETTINGS;
    const defaults = {
      ...answerDefaults(engine),
      "reasoning-budget": "no limit",
      "reasoning-effort": "as the template says",
      "chat-template-kwargs": "none",
    };
    this.settings = new Settings(options, settings, defaults);
  }

  /** Asks and answers; returns the exit code. */
  async run(): Promise<number> {
    // One that comes between an answer and the next prompt must not end the session.
    using _held = new HeldInterrupt();
    const { engine, settings, conversation, tools } = this;
    const history = await History.open();
    const context = { model: engine.model.name, conversation, settings, tools };
    for (;;) {
      const typed = await readMessage(history);
      if (typed.kind === "end") return EXIT.success;
      if (typed.kind === "abandoned") {
        await note(`The message is dropped: ${FENCE} did not close it.`);
        continue;
      }
      try {
        if (typed.kind === "command") {
          if (await runCommand(context, typed.name, typed.rest) === "leave") return EXIT.success;
        } else if (typed.text.trim() !== "") await this.answer(typed.text);
      } catch (error) {
        // A mistake must not end the session; a device that is lost, or a terminal that is gone, does.
        if (engine.status().failed !== undefined || error instanceof ClosedOutput) throw error;
        if (error instanceof UsageError) await sayMistake(error.message);
        else await reportError(error);
      }
    }
  }

  private async answer(question: string): Promise<void> {
    const { engine, conversation, settings } = this;
    const { values } = settings;
    const display = { showReasoning: values.reasoning !== "hidden", verbose: values.verbose };
    if (conversation === undefined) {
      const { error } = await giveAnswer(
        engine,
        () => Promise.resolve(textRequest(question, values)),
        display,
      );
      if (error !== undefined) throw error;
      return;
    }
    const given = await answerWithTools(
      engine,
      conversation,
      question,
      values,
      display,
      this.tools,
    );
    await this.keep(conversation, question, given);
    const { answer } = given;
    if (answer.error !== undefined) {
      const full = answer.error instanceof M40Error &&
        answer.error.code === "context_length_exceeded";
      if (!full || (conversation.turns === 0 && given.steps.length === 0)) throw answer.error;
      await reportError(answer.error);
      await note("/clear forgets what was said, and makes room.");
    }
  }

  /** Takes a question and what was said to it into the conversation, where anything was. */
  private async keep(
    conversation: Conversation,
    question: string,
    { answer, steps }: AnswerWithTools,
  ): Promise<void> {
    const { text, reasoning, finishReason, interrupted, tokens, calls } = answer;
    // What tools have done is not forgotten, unless it leaves no room for an answer.
    const nothing = steps.length === 0 || answer.error !== undefined;
    if (finishReason === undefined && text === "" && reasoning === "" && nothing) {
      if (interrupted) await note("Nothing was said; the question is taken back.");
      return;
    }
    conversation.add(question, { text, reasoning }, steps);
    if (calls.length > 0) await note("The answer ends within a call of a tool, which is not made.");
    if (finishReason !== "length") return;
    const most = this.settings.values["max-tokens"];
    await note(
      tokens === most
        ? `The answer is cut at ${tokens} tokens: /set max-tokens changes that.`
        : "The context is full: /clear forgets what was said, and makes room.",
    );
  }
}

/** The request to continue a text. */
export function textRequest(prompt: string, settings: TextSettings): GenerateRequest {
  return { prompt, ...answerRequest(settings) };
}

async function sayMistake(message: string): Promise<void> {
  await writeError(`${style(Deno.stderr, "red", "error:")} ${printable(message)}\n`);
}
