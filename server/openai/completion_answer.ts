import type { Engine, GenerateRequest, Generation } from "../../engine/mod.ts";
import { cancelAll, chunksOf, startAll } from "../generations.ts";
import { type Usage, UsageSum } from "../usage.ts";
import { append, CompletionLogprobsWriter } from "./completion_logprobs.ts";
import type { CompletionChoice, CompletionRequest } from "./completion_schemas.ts";

/** A completion on its way: the running generations, as one answer or as events. */
export class CompletionAnswer {
  private readonly generations: Generation[];
  /** What each choice begins with: the prompt where it is echoed. */
  private readonly echoes: string[];
  private readonly writers?: CompletionLogprobsWriter[];
  /** Generations of each prompt. */
  private readonly n: number;

  /** @throws {M40Error} What {@link Engine.generate} throws. */
  constructor(engine: Engine, body: CompletionRequest, requests: readonly GenerateRequest[]) {
    const { tokenizer } = engine;
    this.n = body.n ?? 1;
    this.echoes = requests.map(({ prompt }) => {
      if (!body.echo) return "";
      return typeof prompt === "string" ? prompt : tokenizer.decode(prompt);
    });
    this.generations = startAll(engine, requests);
    if (body.logprobs != null) {
      this.writers = requests.map(() => new CompletionLogprobsWriter(tokenizer));
    }
  }

  /** The whole answer, when it is done. */
  async whole(): Promise<{ choices: CompletionChoice[]; usage: Usage }> {
    const choices = this.echoes.map((text, index): CompletionChoice => ({
      text,
      index,
      logprobs: this.writers?.[index].write([]) ?? null,
      finish_reason: null,
    }));
    const sum = this.usageSum();
    for await (const { index, chunk } of chunksOf(this.generations)) {
      const choice = choices[index];
      choice.text += chunk.text;
      choice.finish_reason = chunk.finishReason ?? null;
      if (chunk.usage !== undefined) sum.add(chunk.usage, index % this.n === 0);
      if (choice.logprobs !== null) {
        append(choice.logprobs, this.writers![index].write(chunk.tokens));
      }
    }
    return { choices, usage: sum.usage };
  }

  /**
   * The answer's events as JSON.
   *
   * @param head The JSON of what all events begin with. Events are pieced together around it: this is
   * what the server spends on every token.
   * @param withUsage Whether the last event tells the usage, and the others that they do not.
   */
  async *events(head: string, withUsage: boolean): AsyncGenerator<string> {
    const start = head.slice(0, -1) + ',"choices":[';
    const end = withUsage ? '],"usage":null}' : "]}";
    for (const [index, echo] of this.echoes.entries()) {
      if (echo !== "") {
        yield `${start}{"text":${JSON.stringify(echo)},"index":${index},` +
          `"logprobs":null,"finish_reason":null}${end}`;
      }
    }
    const sum = this.usageSum();
    for await (const { index, chunk } of chunksOf(this.generations)) {
      const { text, tokens, finishReason } = chunk;
      if (chunk.usage !== undefined) sum.add(chunk.usage, index % this.n === 0);
      const logprobs = this.writers !== undefined && tokens.length > 0
        ? this.writers[index].write(tokens)
        : null;
      // Text that is held back needs no event.
      if (text === "" && finishReason === undefined && logprobs === null) continue;
      yield `${start}{"text":${JSON.stringify(text)},"index":${index},"logprobs":${
        logprobs === null ? "null" : JSON.stringify(logprobs)
      },"finish_reason":${finishReason === undefined ? "null" : `"${finishReason}"`}}${end}`;
    }
    if (withUsage) yield `${start}],"usage":${JSON.stringify(sum.usage)}}`;
  }

  /** Ends the generations that run or wait. */
  cancel(): void {
    cancelAll(this.generations);
  }

  private usageSum(): UsageSum {
    const prompts = this.generations.filter((_, index) => index % this.n === 0);
    return new UsageSum(prompts.reduce((sum, { promptTokens }) => sum + promptTokens, 0));
  }
}
