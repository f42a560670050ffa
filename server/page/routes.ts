import type { Context, Hono, MiddlewareHandler } from "hono";
import { accepts } from "hono/accepts";
import { eTag } from "@std/http/etag";
import type { ServerEnv } from "../context.ts";
import { HttpError } from "../errors.ts";
import { get } from "../route.ts";
import type { PageFile } from "./files.ts";
import { PAGE_HEADERS } from "./policy.ts";

/** Where the files of the page are, relative to the page. */
const FOLDER = "/m40/page/";

/**
 * The page to chat: at `/` for those that take HTML, and its files. They say nothing of what is served, so
 * they need no key; add these routes before it is asked for.
 */
export function pageRoutes(app: Hono<ServerEnv>): void {
  app.use("/", pageForBrowsers());
  get(app, `${FOLDER}:id{.+}`, async (c) => await send(c, c.req.param("id")!));
}

/** Answers browsers at `/`; what others look for there follows. */
function pageForBrowsers(): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    if ((c.req.method === "GET" || c.req.method === "HEAD") && wantsHtml(c)) {
      return await send(c, "index.html");
    }
    await next();
    c.header("Vary", "Accept", { append: true });
  };
}

/** Whether HTML is what a client would rather have; one that takes anything does not wish for it. */
function wantsHtml(c: Context<ServerEnv>): boolean {
  return accepts(c, {
    header: "Accept",
    supports: ["text/plain", "text/html"],
    default: "text/plain",
  }) === "text/html";
}

/** A file as it was made, or 304 where the browser has it already. */
async function send(c: Context<ServerEnv>, name: string): Promise<Response> {
  const file = await fileNamed(name);
  const etag = await eTag(file.content);
  const headers = {
    ...PAGE_HEADERS,
    ETag: etag!,
    Vary: "Accept",
    // A new executable has new files under the same names.
    "Cache-Control": "no-cache",
  };
  if (hasTag(c.req.header("if-none-match"), etag!)) {
    return new Response(null, { status: 304, headers });
  }
  return new Response(file.content, { headers: { ...headers, "Content-Type": file.type } });
}

/** Whether an If-None-Match header names a tag, or any. The library's own check takes quadratic time. */
function hasTag(header: string | undefined, etag: string): boolean {
  const tags = (header ?? "").split(",").map((tag) => tag.trim());
  const strong = (tag: string) => tag.replace(/^W\//, "");
  return tags.some((tag) => tag === "*" || strong(tag) === strong(etag));
}

async function fileNamed(name: string): Promise<PageFile> {
  // Read when a browser first asks: most servers are never asked.
  const { FILES } = await import("./files.ts");
  const file = FILES.get(name);
  if (file === undefined) {
    throw new HttpError(404, "not_found", `The page has no file "${name.slice(0, 200)}".`);
  }
  return file;
}
