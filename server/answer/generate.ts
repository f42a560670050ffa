import type { Hono } from "hono";
import { z } from "zod";
import { Generation, type Usage as EngineUsage } from "../../engine/mod.ts";
import {
  boolean,
  constraintFields,
  engineRequest,
  mostTokens,
  parseBody,
  prompt,
  readJson,
  samplingFields,
  wants,
} from "../request/mod.ts";
import { type Answer, modelFields, ModelRequest } from "./answer.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { post } from "../route.ts";
import { Usage, usageOf } from "./usage.ts";

/** The body of `POST /v1/generate`. */
export const GenerateBody = z.object({
  ...modelFields,
  prompt: prompt().describe("A text, or the ids of its tokens."),
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
  post(app, "/v1/generate", async (c) => {
    const body = parseBody(GenerateBody, await readJson(c.req.raw, server.maxBodyBytes));
    const request = new ModelRequest(c, server, body);
    return await request.respond(generatedAnswer(request, body));
  });
}

async function generatedAnswer(
  request: ModelRequest,
  body: z.output<typeof GenerateBody>,
): Promise<GeneratedAnswer> {
  const { engine } = await request.lease();
  const ready = await engine.ready({
    ...engineRequest(body),
    ...request.ends,
    prompt: body.prompt,
  });
  return new GeneratedAnswer([engine.generate(ready)]);
}

/** A text on its way. */
class GeneratedAnswer implements Answer {
  /** @param work The one generation. */
  constructor(readonly work: readonly Generation[]) {}

  async whole(): Promise<Generated> {
    let output = "";
    let usage: EngineUsage | undefined;
    for await (const { chunks } of Generation.together(this.work)) {
      for (const { text } of chunks) output += text;
      usage = chunks.at(-1)!.usage;
    }
    return { output, usage: usageOf(this.work, [usage]) };
  }

  async *events(): AsyncGenerator<readonly string[]> {
    for await (const { chunks } of Generation.together(this.work)) {
      const events: string[] = [];
      for (const { text } of chunks) {
        if (text !== "") events.push(`{"output":${JSON.stringify(text)}}`);
      }
      yield events;
    }
  }
}
