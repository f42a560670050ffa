import type { Hono } from "hono";
import { z } from "zod";
import type { Generation } from "../../engine/mod.ts";
import {
  boolean,
  constraintFields,
  engineRequest,
  mostTokens,
  parseBody,
  prompt,
  readJson,
  samplingFields,
  tokenLimit,
  wants,
} from "../request/mod.ts";
import { type Answer, answer, modelFields } from "./answer.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { chunksOf } from "./generations.ts";
import { route } from "../route.ts";
import { Usage, UsageSum } from "./usage.ts";

/** The body of `POST /v1/generate`. */
export const GenerateBody = z.object({
  ...modelFields,
  prompt: prompt().meta({ description: "A text, or the ids of its tokens." }),
  max_tokens: mostTokens(
    "Tokens sampled at most; absent: as many as the context has room for.",
  ),
  stream: boolean("Whether the output comes in pieces, as server-sent events."),
  ...samplingFields,
  ...constraintFields,
}, wants("a JSON object")).meta({ id: "GenerateRequest" });

/** The answer of `POST /v1/generate`. */
export const Generated = z.strictObject({ output: z.string(), usage: Usage })
  .meta({ id: "Generated" });
export type Generated = z.output<typeof Generated>;

/** An event of its stream. */
export const GeneratedPiece = z.strictObject({ output: z.string() }).meta({ id: "GeneratedPiece" });

/**
 * `POST /v1/generate`: the shortest way from a prompt to a text. `{"prompt", "max_tokens", …}` gives
 * `{"output", "usage"}`; with `"stream": true` each event is `{"output"}` with a piece of it. Without
 * `max_tokens` the text ends where the model ends it, or the context.
 */
export function generateRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  route(app, "/v1/generate", {
    POST: async (c) => {
      const body = parseBody(GenerateBody, await readJson(c.req.raw, server.maxBodyBytes));
      return await answer(
        c,
        server,
        body,
        async ({ engine }, { signal, deadline, onReport }) => {
          const request = await engine.ready({
            ...engineRequest(body),
            prompt: body.prompt,
            maxTokens: tokenLimit(body.max_tokens),
            signal,
            ...deadline.ofEngine,
            onReport,
          });
          return new GeneratedAnswer(engine.generate(request));
        },
      );
    },
  });
}

/** A text on its way. */
class GeneratedAnswer implements Answer {
  readonly done: Promise<void>;

  constructor(private readonly generation: Generation) {
    this.done = generation.done;
  }

  async whole(): Promise<Generated> {
    let output = "";
    const sum = new UsageSum(this.generation.promptTokens);
    for await (const { chunk } of chunksOf([this.generation])) {
      output += chunk.text;
      if (chunk.usage !== undefined) sum.add(chunk.usage, true);
    }
    return { output, usage: sum.usage };
  }

  async *events(): AsyncGenerator<string> {
    for await (const { chunk } of chunksOf([this.generation])) {
      if (chunk.text !== "") yield `{"output":${JSON.stringify(chunk.text)}}`;
    }
  }

  cancel(): void {
    this.generation.cancel();
  }
}
