import { Hono } from "hono";
import type { McpTools } from "../mcp/mod.ts";
import { AllowedHosts, refuseWebPages, refuseWhileDraining, requireKey } from "./access/mod.ts";
import { generateRoute } from "./answer/mod.ts";
import { AnthropicDialect, messagesRoutes, VERSION_HEADER } from "./anthropic/mod.ts";
import { apiRoutes, OPEN_PATHS, OPERATIONS } from "./api/mod.ts";
import {
  applyTemplateRoute,
  infillRoute,
  llamaCompletionRoutes,
  llamaEmbeddingRoutes,
  propsRoutes,
  tokenRoutes,
} from "./llama_cpp/mod.ts";
import { mcpRoutes } from "./mcp/mod.ts";
import { Metrics } from "./metrics/mod.ts";
import type { Models } from "./models/mod.ts";
import { denoTracer, healthRoutes, slotsRoute, traceRequests } from "./monitoring/mod.ts";
import { OLLAMA, OLLAMA_PATHS, ollamaRoutes } from "./ollama/mod.ts";
import {
  chatCompletionsRoute,
  completionsRoute,
  embeddingsRoute,
  modelsRoutes,
  OPENAI,
} from "./openai/mod.ts";
import {
  keptResponsesRoutes,
  RESPONSES,
  RESPONSES_PATHS,
  responsesRoutes,
  ResponseStore,
  type StoreLimits,
} from "./openai/responses/mod.ts";
import { pageRoutes } from "./page/mod.ts";
import { PREFIX_HEADER } from "./request/mod.ts";
import type { ServerContext, ServerEnv, ServerSettings } from "./context.ts";
import { type Dialect, errorResponse } from "./dialect.ts";
import { HttpError, toHttpError } from "./errors.ts";
import { get } from "./route.ts";

/** What a server serves, to whom, and how. */
export interface AppOptions extends Partial<ServerSettings> {
  /** The models that are served. */
  readonly models: Models;
  /** The key that all requests but those to {@link OPEN_PATHS} must bring. Default: none is needed. */
  readonly apiKey?: string;
  /**
   * The address that the server listens on. On a loopback address only requests to a loopback name
   * are answered, on others without a key those to addresses and local names. Default "127.0.0.1".
   */
  readonly hostname?: string;
  /** Origins whose web pages may call the server, `https://example.com`; `*` is all. Default: none. */
  readonly corsOrigins?: readonly string[];
  /** Names of hosts that requests may be for, in addition to those that the server answers to anyway; `*` is all. */
  readonly allowedHosts?: readonly string[];
  /** Tools of MCP servers for the server's page, when the servers have started. Default: none. */
  readonly mcp?: Promise<McpTools>;
  /** How much of `/v1/responses` is kept for `previous_response_id`; default 4096 responses, 64 MiB. */
  readonly keptResponses?: StoreLimits;
}

/**
 * The server's routes as a Hono app: what {@link serve} serves. The app becomes the observer of the engines.
 */
export function createApp(options: AppOptions): Hono<ServerEnv> {
  const { models, apiKey, hostname = "127.0.0.1" } = options;
  const metrics = new Metrics(models);
  const server: ServerContext = {
    models,
    metrics,
    created: Math.floor(Date.now() / 1000),
    maxBodyBytes: options.maxBodyBytes ?? 4 * 2 ** 20,
    timeoutMs: options.timeoutMs,
    commentMs: options.commentMs ?? 15_000,
    holdStreamsMs: options.holdStreamsMs ?? 0,
    loadingCommentMs: options.loadingCommentMs ?? 5000,
    reasoning: options.reasoning ?? "separate",
    reasoningBudget: options.reasoningBudget,
    storeChanges: options.storeChanges ?? false,
  };
  const app = new Hono<ServerEnv>();
  app.use(async (c, next) => {
    // An app that is called without a server around it has none.
    c.env ??= {};
    const dialect = dialectOf(c.req.path, (name) => c.req.header(name));
    c.set("dialect", dialect);
    await next();
    // Set on the answer itself: Hono's own `header` makes a copy of it.
    const { headers, status } = c.res;
    for (const [name, value] of Object.entries(dialect.headers ?? {})) headers.set(name, value);
    const prefix = c.get("prefix");
    if (prefix !== undefined) headers.set(PREFIX_HEADER, prefix);
    metrics.response(status);
  });
  // Decided once: where nothing is traced, nothing is spent on it.
  const tracer = denoTracer();
  if (tracer !== undefined) app.use(traceRequests(tracer));
  const needsKey = apiKey !== undefined && apiKey !== "";
  const hosts = new AllowedHosts(hostname, needsKey, options.allowedHosts ?? []);
  app.use(refuseWebPages(hosts, options.corsOrigins ?? []));
  pageRoutes(app);
  if (needsKey) app.use(requireKey(apiKey, OPEN_PATHS));
  app.use(refuseWhileDraining());
  healthRoutes(app, server);
  get(app, "/metrics", () => metrics.page());
  slotsRoute(app, server);
  modelsRoutes(app, server);
  chatCompletionsRoute(app, server);
  completionsRoute(app, server);
  embeddingsRoute(app, server);
  const responses = new ResponseStore(options.keptResponses);
  responsesRoutes(app, server, responses);
  keptResponsesRoutes(app, responses);
  messagesRoutes(app, server);
  generateRoute(app, server);
  tokenRoutes(app, server);
  applyTemplateRoute(app, server, responses);
  infillRoute(app, server);
  llamaCompletionRoutes(app, server);
  llamaEmbeddingRoutes(app, server);
  propsRoutes(app, server);
  ollamaRoutes(app, server);
  mcpRoutes(app, server, options.mcp);
  apiRoutes(app, needsKey);
  app.notFound((c) => errorResponse(c.get("dialect"), unknownRoute(c.req.method, c.req.path)));
  const retryAfterSeconds = () => metrics.retryAfterSeconds();
  app.onError((error, c) => errorResponse(c.get("dialect"), toHttpError(error, retryAfterSeconds)));
  return app;
}

function unknownRoute(method: string, path: string): HttpError {
  const all = OPERATIONS.map((one) => `${one.method} ${one.path}`);
  return new HttpError(
    404,
    "not_found",
    `There is no ${method} ${path.slice(0, 200)}. There are ${all.slice(0, -1).join(", ")} and ${
      all.at(-1)
    }.`,
  );
}

/** Dialects but that of most of OpenAI's paths: the paths that each answers, known or not, and how it is made for a request. */
const OTHERS: readonly { readonly paths: RegExp; readonly make: () => Dialect }[] = [
  { paths: /^\/v1\/messages(\/|$)/, make: () => new AnthropicDialect() },
  { paths: RESPONSES_PATHS, make: () => RESPONSES },
  { paths: OLLAMA_PATHS, make: () => OLLAMA },
];

/** Paths that OpenAI's clients ask for as well as Anthropic's. */
const SHARED_PATHS = /^\/v1\/models(\/|$)/;

/**
 * How errors and streams of a path are written.
 *
 * @param header Gives a header of the request.
 */
function dialectOf(path: string, header: (name: string) => string | undefined): Dialect {
  if (SHARED_PATHS.test(path) && header(VERSION_HEADER) !== undefined) {
    return new AnthropicDialect();
  }
  for (const { paths, make } of OTHERS) if (paths.test(path)) return make();
  return OPENAI;
}
