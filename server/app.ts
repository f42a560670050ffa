import { Hono } from "hono";
import type { Engine } from "../engine/mod.ts";
import { OPEN_PATHS, OPERATIONS } from "./api/operations.ts";
import { apiRoutes } from "./api/routes.ts";
import { requireKey } from "./auth.ts";
import type { ServerContext, ServerEnv } from "./context.ts";
import { AllowedOrigins } from "./cross_origin.ts";
import { HttpError, toHttpError } from "./errors.ts";
import { generateRoute } from "./generate.ts";
import { refuseWhileDraining } from "./refuse_while_draining.ts";
import { healthRoutes } from "./health.ts";
import { infillRoute } from "./llama_cpp/infill.ts";
import { tokenRoutes } from "./llama_cpp/tokens.ts";
import { Metrics } from "./metrics.ts";
import { chatCompletionsRoute } from "./openai/chat_completions.ts";
import { completionsRoute } from "./openai/completions.ts";
import { modelsRoutes } from "./openai/models.ts";
import { route } from "./route.ts";
import { ServiceRate } from "./service_rate.ts";
import { slotsRoute } from "./slots.ts";
import { refuseWebPages } from "./web_pages.ts";

/** What a server serves, and to whom. */
export interface AppOptions {
  /** The engine of the model that is served. */
  engine: Engine;
  /** The name that clients ask for. */
  modelName: string;
  /** The key that all requests but those to {@link OPEN_PATHS} must bring. Default: none is needed. */
  apiKey?: string;
  /**
   * The address that the server listens on. On a loopback address only requests to a loopback name
   * are answered. Default "127.0.0.1".
   */
  hostname?: string;
  /** The longest request body that is read, in bytes. Default 4 MiB. */
  maxBodyBytes?: number;
  /** How long a request may take, waiting included, in milliseconds. Default: as long as it does. */
  timeoutMs?: number;
  /** How long a stream may be silent before a comment is sent, in milliseconds. Default 15,000. */
  commentMs?: number;
  /** Origins whose web pages may call the server, `https://example.com`; `*` is all. Default: none. */
  corsOrigins?: readonly string[];
  /** Whether reasoning is told apart from an answer's content; default "separate". */
  reasoning?: "separate" | "inline";
  /** Tokens of reasoning at most where a request does not say; default: no limit. */
  reasoningBudget?: number;
}

/**
 * The server's routes as a Hono app: what {@link serve} serves. The app becomes the engine's observer.
 */
export function createApp(options: AppOptions): Hono<ServerEnv> {
  const { engine, modelName, apiKey, hostname = "127.0.0.1", maxBodyBytes = 4 * 2 ** 20 } = options;
  const created = Math.floor(Date.now() / 1000);
  const metrics = new Metrics(engine, modelName);
  const rate = new ServiceRate();
  const server: ServerContext = {
    engine,
    modelName,
    maxBodyBytes,
    timeoutMs: options.timeoutMs,
    created,
    rate,
    commentMs: options.commentMs ?? 15_000,
    reasoning: options.reasoning ?? "separate",
    reasoningBudget: options.reasoningBudget,
  };
  engine.observer = {
    step(report) {
      metrics.step(report);
      rate.step(report);
    },
    firstToken: (milliseconds) => metrics.firstToken(milliseconds),
    token: (milliseconds) => metrics.token(milliseconds),
    generation(report) {
      metrics.generation(report);
      rate.generation(report);
    },
  };

  const app = new Hono<ServerEnv>();
  app.use(async (c, next) => {
    // An app that is called without a server around it has none.
    c.env ??= {};
    await next();
    metrics.response(c.res.status);
  });
  const allowed = new AllowedOrigins(options.corsOrigins ?? []);
  app.use(refuseWebPages(hostname, allowed));
  app.use(allowed.middleware());
  const needsKey = apiKey !== undefined && apiKey !== "";
  if (needsKey) app.use(requireKey(apiKey, OPEN_PATHS));
  app.use(refuseWhileDraining());
  healthRoutes(app, server);
  route(app, "/metrics", { GET: () => metrics.page() });
  slotsRoute(app, server);
  modelsRoutes(app, server);
  chatCompletionsRoute(app, server);
  completionsRoute(app, server);
  generateRoute(app, server);
  tokenRoutes(app, server);
  infillRoute(app, server);
  apiRoutes(app, needsKey);
  app.notFound((c) => unknownRoute(c.req.method, c.req.path).response());
  const retryAfterSeconds = () => rate.retryAfterSeconds(engine.status());
  app.onError((error) => toHttpError(error, retryAfterSeconds).response());
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
