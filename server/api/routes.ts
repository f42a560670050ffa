import type { Hono } from "hono";
import type { ServerEnv } from "../context.ts";
import { get } from "../route.ts";
import { docsPage } from "./docs_page.ts";
import { describeApi } from "./document.ts";

/**
 * `GET /openapi.json` and `GET /docs`: what there is to ask. They need no key, and reveal nothing of what is served.
 *
 * @param needsKey Whether requests must bring a key.
 */
export function apiRoutes(app: Hono<ServerEnv>, needsKey: boolean): void {
  // Made when it is first asked for: most servers are never asked.
  let made: ReturnType<typeof describeApi> | undefined;
  const document = () => made ??= describeApi(needsKey);
  get(app, "/openapi.json", madeOnce(async () => Response.json(await document())));
  get(app, "/docs", madeOnce(async () => docsPage(await document())));
}

/** The same answer to everyone. Its bytes are kept: making them takes long, and anybody may ask, again and again. */
function madeOnce(make: () => Response | Promise<Response>): () => Promise<Response> {
  let kept: Promise<{ body: ArrayBuffer; headers: Headers }> | undefined;
  const keep = async () => {
    const response = await make();
    return { headers: response.headers, body: await response.arrayBuffer() };
  };
  return async () => {
    const { body, headers } = await (kept ??= keep());
    return new Response(body, { headers });
  };
}
