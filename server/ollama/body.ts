import type { Context } from "hono";
import { readJson } from "../body.ts";
import type { ServerContext, ServerEnv } from "../context.ts";

/** What curl says of a body that it was not told the type of. */
const CURLS_TYPE = "application/x-www-form-urlencoded";

/**
 * The JSON of a body. Ollama asks for no content type, and its manual's examples say none, so that curl says that
 * the body is a form; that is taken for JSON where no web page sent it.
 */
export async function readBody(c: Context<ServerEnv>, server: ServerContext): Promise<unknown> {
  const { raw } = c.req;
  const type = raw.headers.get("content-type");
  // A page could send a form to any server without asking it first; its browser says whose page it is.
  const byHand = type === CURLS_TYPE && !isFromPage(raw.headers);
  if (!byHand) return await readJson(raw, server.maxBodyBytes);
  const headers = new Headers(raw.headers);
  headers.set("content-type", "application/json");
  return await readJson(new Request(raw, { headers }), server.maxBodyBytes);
}

/** Whether a browser sent a request for a page. */
function isFromPage(headers: Headers): boolean {
  return ["origin", "referer", "sec-fetch-site", "sec-fetch-mode"].some((name) =>
    headers.has(name)
  );
}
