import type { Context } from "hono";
import { readJson } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { isWebPage } from "./web_pages.ts";

/**
 * The JSON of a body, whatever content type its client gives, or none. Ollama and llama.cpp's server ask for none,
 * and many of their clients send none, or the one that their HTTP library puts there. A web page must say that it is
 * JSON: its browser then asks the server first whether the page may send it.
 *
 * @throws {HttpError} As {@link readJson} does.
 */
export async function readAnyType(
  c: Context<ServerEnv>,
  { maxBodyBytes }: Pick<ServerContext, "maxBodyBytes">,
): Promise<unknown> {
  const { raw } = c.req;
  const type = raw.headers.get("content-type");
  if (type === "application/json" || isFromPage(raw.headers)) {
    return await readJson(raw, maxBodyBytes);
  }
  const headers = new Headers(raw.headers);
  headers.set("content-type", "application/json");
  return await readJson(new Request(raw, { headers }), maxBodyBytes);
}

/**
 * Whether a browser sent a request for a page. A browser says the page's origin with every POST, and in what relation
 * it is to the server; a page can leave out neither. Programs send some of this too: Node's `fetch` has
 * `sec-fetch-mode`, and a desktop program an origin of its own scheme.
 */
function isFromPage(headers: Headers): boolean {
  const origin = headers.get("origin");
  if (origin !== null) return isWebPage(origin);
  return ["referer", "sec-fetch-site"].some((name) => headers.has(name));
}
