import type { Engine, Generation, Scoring, ScoringOptions, Tokenizer } from "../../engine/mod.ts";
import type { Prompt } from "../request/mod.ts";
import { CompletionLogprobsWriter } from "./completion_logprobs.ts";
import type { CompletionLogprobs } from "./completion_schemas.ts";

/** A prompt as its answers begin with it, where they do. */
export class Echo {
  readonly text: string;
  /** Resolves when nothing is computed for it any more. */
  readonly done: Promise<unknown>;
  private readonly tokens: readonly number[];
  private written?: Promise<CompletionLogprobs | null>;

  /**
   * @param prompt The prompt, as the client wrote it.
   * @param generation One that has it for its prompt.
   * @param scoring Where the prompt's tokens have log-probabilities: where those come from.
   */
  private constructor(
    private readonly tokenizer: Tokenizer,
    private readonly prompt: Prompt,
    generation: Generation,
    private readonly scoring?: Scoring,
  ) {
    this.text = typeof prompt === "string" ? prompt : tokenizer.decode(prompt);
    this.tokens = generation.sequence.prompt;
    this.done = scoring?.result.catch(() => {}) ?? Promise.resolve();
  }

  /**
   * The echoes of prompts; where log-probabilities are wanted, their computation begins, of all or none.
   *
   * @param generations One of each prompt.
   * @param scored How log-probabilities are computed; absent: the echoes have none.
   * @throws {M40Error} What {@link Engine.score} throws.
   */
  static start(
    engine: Engine,
    prompts: readonly Prompt[],
    generations: readonly Generation[],
    scored?: ScoringOptions,
  ): Echo[] {
    const echoes: Echo[] = [];
    try {
      for (const [index, prompt] of prompts.entries()) {
        const generation = generations[index];
        const scoring = scored && engine.score(generation.sequence.prompt, scored);
        echoes.push(new Echo(engine.tokenizer, prompt, generation, scoring));
      }
    } catch (error) {
      for (const echo of echoes) echo.cancel();
      throw error;
    }
    return echoes;
  }

  /** The log-probabilities of the prompt's tokens; null where none are wanted. */
  logprobs(): Promise<CompletionLogprobs | null> {
    return this.written ??= this.write();
  }

  /** Ends what is computed for it. */
  cancel(): void {
    this.scoring?.cancel();
  }

  private async write(): Promise<CompletionLogprobs | null> {
    if (this.scoring === undefined) return null;
    const { tokenizer, prompt } = this;
    const isText = typeof prompt === "string";
    const writer = new CompletionLogprobsWriter(tokenizer, {
      decoder: { skipSpecial: !isText },
      added: isText && tokenizer.addBos ? 1 : 0,
    });
    const rest = await this.scoring.result;
    return writer.write([{ token: this.tokens[0], text: "" }, ...rest]);
  }
}
