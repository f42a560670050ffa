import type { Hono } from "hono";
import type { Generation } from "../engine/mod.ts";
import { readJson } from "./body.ts";
import { requestSignal, requireModel, type ServerContext, type ServerEnv } from "./context.ts";
import { chunksOf } from "./generations.ts";
import { route } from "./route.ts";
import { engineRequest, GenerateBody, parseBody } from "./schemas.ts";
import { eventStream } from "./sse.ts";

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
        signal: requestSignal(c.req.raw, c.env),
        timeoutMs: server.timeoutMs,
      });
      if (body.stream) {
        return eventStream(events(generation), () => generation.cancel(), {
          commentMs: server.commentMs,
          halfClosed: c.env.halfClosed,
        });
      }
      let output = "";
      let completionTokens = 0;
      for await (const { chunk } of chunksOf([generation])) {
        output += chunk.text;
        completionTokens += chunk.usage?.completionTokens ?? 0;
      }
      const usage = {
        prompt_tokens: generation.promptTokens,
        completion_tokens: completionTokens,
        total_tokens: generation.promptTokens + completionTokens,
      };
      return c.json({ output, usage });
    },
  });
}

async function* events(generation: Generation): AsyncGenerator<string> {
  for await (const { chunk } of chunksOf([generation])) {
    if (chunk.text !== "") yield `{"output":${JSON.stringify(chunk.text)}}`;
  }
}
