import type { Hono } from "hono";
import { z } from "zod";
import type { Generation } from "../engine/mod.ts";
import { readJson } from "./body.ts";
import { requestSignal, requireModel, type ServerContext, type ServerEnv } from "./context.ts";
import { boolean, number, prompt, string, wants } from "./fields.ts";
import { chunksOf } from "./generations.ts";
import { parseBody } from "./parse_body.ts";
import { route } from "./route.ts";
import { engineRequest, samplingFields } from "./sampling_fields.ts";
import { eventStream } from "./sse.ts";
import { Usage, UsageSum } from "./usage.ts";

/** The body of `POST /v1/generate`. */
export const GenerateBody = z.object({
  model: string("The model that is asked; absent: the one that is served."),
  prompt: prompt().meta({ description: "A text, or the ids of its tokens." }),
  max_tokens: number("Tokens drawn at most; absent: as many as the context has room for.", {
    min: 0,
    max: 2 ** 31,
    integer: true,
  }),
  stream: boolean("Whether the output comes in pieces, as server-sent events."),
  ...samplingFields,
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
      requireModel(server, body.model ?? undefined);
      const generation = server.engine.generate({
        ...engineRequest(body),
        prompt: body.prompt,
        maxTokens: body.max_tokens ?? undefined,
        signal: requestSignal(c.req.raw, c.env),
        timeoutMs: server.timeoutMs,
      });
      if (body.stream) {
        return eventStream(events(generation), () => generation.cancel(), {
          commentMs: server.commentMs,
          halfClosed: c.env.halfClosed,
        });
      }
      return c.json(await whole(generation));
    },
  });
}

async function whole(generation: Generation): Promise<Generated> {
  let output = "";
  const sum = new UsageSum(generation.promptTokens);
  for await (const { chunk } of chunksOf([generation])) {
    output += chunk.text;
    if (chunk.usage !== undefined) sum.add(chunk.usage, true);
  }
  return { output, usage: sum.usage };
}

async function* events(generation: Generation): AsyncGenerator<string> {
  for await (const { chunk } of chunksOf([generation])) {
    if (chunk.text !== "") yield `{"output":${JSON.stringify(chunk.text)}}`;
  }
}
