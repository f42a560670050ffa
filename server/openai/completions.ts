import type { Context, Hono } from "hono";
import type { Engine, GenerateRequest } from "../../engine/mod.ts";
import { ModelRequest } from "../answer/mod.ts";
import {
  encodeGap,
  engineRequest,
  gapTokens,
  parseBody,
  type Prompt,
  readJson,
  requireFim,
} from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { invalid, unsupported } from "../errors.ts";
import { post } from "../route.ts";
import { CompletionAnswer } from "./completion_answer.ts";
import {
  CompletionRequest,
  DEFAULT_MAX_TOKENS,
  LIMITS,
  MAX_CHOICES,
} from "./completion_schemas.ts";
import { answerHead } from "./head.ts";
import { refuseOthersFields } from "./others_fields.ts";

/** `POST /v1/completions`: OpenAI's legacy completions, with m40's own fields next to theirs. */
export function completionsRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  post(
    app,
    "/v1/completions",
    async (c) => await answerCompletion(c, server, await readJson(c.req.raw, server.maxBodyBytes)),
  );
}

/** Answers the JSON of a body. */
export async function answerCompletion(
  c: Context<ServerEnv>,
  server: ServerContext,
  json: unknown,
): Promise<Response> {
  const body = parseBody(CompletionRequest, json);
  const counts = checkCounts(body);
  const request = new ModelRequest(c, server, body);
  return await request.respond(completionAnswer(request, body, counts));
}

/**
 * Has the engine begin: for each prompt as many generations as it has candidates, in the order of the choices.
 *
 * @throws {HttpError} 400 for a suffix where the model cannot fill gaps.
 */
async function completionAnswer(
  request: ModelRequest,
  body: CompletionRequest,
  { n, candidates }: { n: number; candidates: number },
): Promise<CompletionAnswer> {
  const model = await request.lease();
  const { engine } = model;
  const common: Omit<GenerateRequest, "prompt"> = {
    ...engineRequest(body, { limits: LIMITS, otherwise: DEFAULT_MAX_TOKENS }),
    ...request.ends,
    parseSpecial: body.parse_special ?? true,
    // Candidates are compared by them.
    topLogprobs: body.logprobs ?? (candidates > n ? 0 : undefined),
  };
  const prompts = body.suffix
    ? await promptsWithSuffix(engine, body, body.suffix, request.ends.signal)
    : body.prompt;
  const known = new Map<Prompt, GenerateRequest>();
  const requests: GenerateRequest[] = [];
  for (const prompt of prompts) {
    const ready = known.get(prompt) ?? await engine.ready({ ...common, prompt });
    known.set(prompt, ready);
    // Each answer to a prompt has a stream of its own, the first the one that it has without n.
    for (let stream = 0; stream < candidates; stream++) {
      requests.push({ ...ready, sampling: { ...ready.sampling, stream } });
    }
  }
  const head = answerHead(model, "cmpl", "text_completion");
  return new CompletionAnswer(head, engine, body, requests);
}

/**
 * How many answers each prompt has, and of how many candidates.
 *
 * @throws {HttpError} 400 for fields that do not go together, for too many answers in all, and for what m40 does
 * not support.
 */
function checkCounts(body: CompletionRequest): { n: number; candidates: number } {
  refuseOthersFields(body);
  if (body.echo && body.logprobs != null && body.suffix) {
    throw unsupported(
      "suffix",
      "suffix together with echo and logprobs is not supported: the model reads other tokens than are echoed. " +
        "Leave one of them out.",
    );
  }
  const n = body.n ?? 1;
  const candidates = body.best_of ?? n;
  if (candidates < n) {
    throw invalid("best_of", `best_of is ${candidates}; wanted at least n, which is ${n}.`);
  }
  if (candidates > n && body.stream) {
    throw invalid(
      "best_of",
      `best_of is ${candidates}, more than n, with stream: which candidates are best is known when all are ` +
        "done. Leave stream or best_of out.",
    );
  }
  const prompts = body.prompt.length;
  if (prompts * candidates > MAX_CHOICES) {
    const name = candidates > n ? "best_of" : "n";
    throw invalid(
      name,
      `${prompts} prompts times ${name} = ${candidates} are more than ${MAX_CHOICES} completions. Send fewer ` +
        "at a time.",
    );
  }
  return { n, candidates };
}

/** The prompts as ones whose middle is to be filled in, before this text. */
async function promptsWithSuffix(
  engine: Engine,
  body: CompletionRequest,
  suffix: string,
  signal: AbortSignal,
): Promise<number[][]> {
  const fim = requireFim(engine.tokenizer, "suffix");
  const parseSpecial = body.parse_special ?? true;
  const prompts: number[][] = [];
  for (const before of body.prompt) {
    const gap = { before, after: suffix, parseSpecial };
    prompts.push(gapTokens(await encodeGap(engine, fim, gap, [], signal)));
  }
  return prompts;
}
