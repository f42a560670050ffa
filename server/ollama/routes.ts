import type { Hono } from "hono";
import { z } from "zod";
import type { ServerContext, ServerEnv } from "../context.ts";
import { HttpError } from "../errors.ts";
import { get } from "../route.ts";
import { chatRoute } from "./chat.ts";
import { createRoute } from "./create.ts";
import { Headers } from "./details.ts";
import { embedRoutes } from "./embed.ts";
import { generateRoute } from "./generate.ts";
import { pullRoute } from "./pull.ts";
import { showRoute } from "./show.ts";
import { storeChangesRoutes } from "./store_changes.ts";
import { tagsRoutes } from "./tags.ts";

/** The version of Ollama whose API this is: its clients compare it with what they need. */
const OLLAMA_VERSION = "0.17.4";

/** The answer of `GET /api/version`. */
export const OllamaVersion = z.strictObject({
  version: z.string().describe("The version of Ollama that has this API, not m40's."),
}).meta({ id: "OllamaVersion" });

/** What its clients look for at the root, to see whether a server is there. */
const GREETING = "Ollama is running";

/** What is not done, and what to do. */
const REFUSED: Readonly<Record<string, string>> = {
  "/api/push": "Models are not published by this server.",
};

/** Ollama's routes. */
export function ollamaRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  const headers = new Headers((name) => server.models.catalogue?.overridesOf(name));
  generateRoute(app, server);
  chatRoute(app, server);
  embedRoutes(app, server);
  tagsRoutes(app, server, headers);
  showRoute(app, server, headers);
  storeChangesRoutes(app, server);
  createRoute(app, server, headers);
  pullRoute(app, server);
  get(app, "/api/version", (c) => c.json({ version: OLLAMA_VERSION }));
  get(app, "/", (c) => c.text(GREETING));
  for (const [path, why] of Object.entries(REFUSED)) {
    app.all(path, () => {
      throw new HttpError(400, "unsupported", `${path} is not supported. ${why}`);
    });
  }
}
