import { Generation, type GenerationChunk, type Usage } from "../../../engine/mod.ts";
import { type Answer, begun } from "../../answer/mod.ts";
import { type HttpError, toHttpError } from "../../errors.ts";
import { OutputItems, type OutputOptions } from "./output_items.ts";
import { withPauses } from "./pauses.ts";
import type { ResponseObject, ResponseUsage, UncountedEvent } from "./response_schemas.ts";

/** What an answer is made with. */
export interface ResponseOptions extends OutputOptions {
  /** Called with the response when it is done, before the client has its end. */
  readonly keep: (response: ResponseObject) => void;
  /** After how much silence a stream has an event that says nothing, in milliseconds. */
  readonly keepAliveMs: number;
}

/** A response on its way: the running generation, as one answer or as events. */
export class ResponseAnswer implements Answer {
  readonly work: readonly Generation[];
  private readonly output: OutputItems;

  /** @param head The response as it begins. */
  constructor(
    private readonly head: ResponseObject,
    generation: Generation,
    private readonly options: ResponseOptions,
  ) {
    this.work = [generation];
    this.output = new OutputItems(options);
  }

  async whole(): Promise<ResponseObject> {
    let whole: ResponseObject | undefined;
    for await (const { chunks } of Generation.together(this.work)) {
      for (const chunk of chunks) for (const _ of this.output.push(chunk));
      const ended = this.ended(chunks.at(-1)!);
      if (ended === undefined) continue;
      for (const _ of this.output.end(ended.status));
      whole = ended;
    }
    // A generation that ends without a last chunk throws.
    this.options.keep(whole!);
    return whole!;
  }

  /** The response's events as JSON; each begins with its type. */
  async *events(holdMs = 0): AsyncGenerator<readonly string[]> {
    let count = 0;
    const numbered = ({ type, ...rest }: UncountedEvent) =>
      JSON.stringify({ type, sequence_number: count++, ...rest });
    const chunks = Generation.together(this.work);
    const held = holdMs === 0 ? chunks : await begun(chunks, holdMs);
    // Clients of agents give up streams that are silent for minutes, whatever comments say.
    const { head: response } = this;
    yield [
      numbered({ type: "response.created", response }),
      numbered({ type: "response.in_progress", response }),
    ];
    try {
      for await (const next of withPauses(held, this.options.keepAliveMs)) {
        const events: string[] = [];
        if (next === undefined) {
          events.push(numbered({ type: "keepalive" }));
        } else {
          for (const chunk of next.chunks) {
            for (const event of this.output.push(chunk)) events.push(numbered(event));
          }
          const ended = this.ended(next.chunks.at(-1)!);
          if (ended !== undefined) {
            for (const event of this.output.end(ended.status)) events.push(numbered(event));
            this.options.keep(ended);
            events.push(numbered({ type: `response.${ended.status}`, response: ended }));
          }
        }
        yield events;
      }
    } catch (error) {
      yield [numbered({ type: "response.failed", response: this.failed(toHttpError(error)) })];
    }
  }

  /** The response as the last chunk ends it; undefined for the others. Its output is that of the moment. */
  private ended(
    { finishReason, usage }: GenerationChunk,
  ): ResponseObject & { status: "completed" | "incomplete" } | undefined {
    if (finishReason === undefined || usage === undefined) return undefined;
    const complete = finishReason !== "length";
    return {
      ...this.head,
      status: complete ? "completed" : "incomplete",
      completed_at: complete ? Math.floor(Date.now() / 1000) : null,
      incomplete_details: complete ? null : { reason: "max_output_tokens" },
      output: this.output.items,
      usage: usageOf(usage),
    };
  }

  private failed(error: HttpError): ResponseObject {
    const { status, message } = error;
    const code = status === 429
      ? "rate_limit_exceeded"
      : status < 500
      ? "invalid_prompt"
      : "server_error";
    return {
      ...this.head,
      status: "failed",
      error: { code, message },
      output: this.output.failed(),
    };
  }
}

function usageOf(
  { promptTokens, cachedTokens, completionTokens, reasoningTokens }: Usage,
): ResponseUsage {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  };
}
