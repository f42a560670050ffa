import type { Hono } from "hono";
import type { GenerateRequest } from "../../engine/mod.ts";
import { readJson } from "../body.ts";
import { requestSignal, requireModel, type ServerContext, type ServerEnv } from "../context.ts";
import { HttpError, unsupported } from "../errors.ts";
import { parseBody } from "../parse_body.ts";
import { route } from "../route.ts";
import { engineRequest } from "../sampling_fields.ts";
import { eventStream } from "../sse.ts";
import { CompletionAnswer } from "./completion_answer.ts";
import { CompletionRequest, DEFAULT_MAX_TOKENS, MAX_CHOICES } from "./completion_schemas.ts";
import { answerHead } from "./head.ts";

/** `POST /v1/completions`: OpenAI's legacy completions, with m40's own fields beside theirs. */
export function completionsRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  route(app, "/v1/completions", {
    POST: async (c) => {
      const body = parseBody(CompletionRequest, await readJson(c.req.raw, server.maxBodyBytes));
      requireModel(server, body.model ?? undefined);
      const requests = requestsOf(body, {
        signal: requestSignal(c.req.raw, c.env),
        timeoutMs: server.timeoutMs,
      });
      const head = answerHead(server, "cmpl", "text_completion");
      const answer = new CompletionAnswer(server.engine, body, requests);
      if (body.stream) {
        const withUsage = body.stream_options?.include_usage ?? false;
        return eventStream(
          answer.events(JSON.stringify(head), withUsage),
          () => answer.cancel(),
          { commentMs: server.commentMs, halfClosed: c.env.halfClosed },
        );
      }
      return Response.json({ ...head, ...await answer.whole() });
    },
  });
}

/**
 * What the engine is asked for: for each prompt `n` requests, in the order of the choices.
 *
 * @throws {HttpError} 400 for what m40 does not support, by its name.
 */
function requestsOf(
  body: CompletionRequest,
  ends: Pick<GenerateRequest, "signal" | "timeoutMs">,
): GenerateRequest[] {
  const n = body.n ?? 1;
  if (body.best_of != null && body.best_of !== n) {
    throw unsupported("best_of", "best_of is not supported other than equal to n. Leave it out.");
  }
  if (body.suffix != null && body.suffix !== "") {
    throw unsupported("suffix", "suffix is not supported. Put all of the text into the prompt.");
  }
  if (body.echo && body.logprobs != null) {
    throw unsupported(
      "echo",
      "echo together with logprobs is not supported: the prompt's tokens have none. Leave one out.",
    );
  }
  if (body.prompt.length * n > MAX_CHOICES) {
    throw new HttpError(
      400,
      "invalid_request",
      `${body.prompt.length} prompts times n = ${n} are more than ${MAX_CHOICES} completions. Send fewer at a time.`,
      { param: "n" },
    );
  }
  const common: Omit<GenerateRequest, "prompt"> = {
    ...engineRequest(body),
    maxTokens: body.max_tokens ?? DEFAULT_MAX_TOKENS,
    topLogprobs: body.logprobs ?? undefined,
    ...ends,
  };
  return body.prompt.flatMap((prompt) =>
    Array.from({ length: n }, (_, i) => ({
      ...common,
      prompt,
      // Each answer to a prompt has a stream of its own, the first the one that it has without n.
      sampling: { ...common.sampling, stream: i },
    }))
  );
}
