import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { SHOULD_RETRY_HEADER } from "../errors.ts";
import { PREFIX_HEADER } from "../request/mod.ts";
import { METHODS } from "../route.ts";

/** Headers of ours that clients read; without their names browsers keep them from a page of another origin. */
const READ_BY_CLIENTS = ["Retry-After", SHOULD_RETRY_HEADER, "request-id", PREFIX_HEADER];

/** Which web pages may call the server (`--cors`). */
export class AllowedOrigins {
  private readonly any: boolean;
  private readonly origins: ReadonlySet<string>;

  /** @param origins Origins as browsers write them, `https://example.com`; `*` is all. */
  constructor(origins: readonly string[]) {
    this.any = origins.includes("*");
    this.origins = new Set(origins);
  }

  /** Whether pages of an origin may. */
  has(origin: string): boolean {
    return this.any || this.origins.has(origin);
  }

  /**
   * Answers browsers accordingly: answers preflights, which bring no key, and marks answers. Credentials are for
   * origins that are named: with `*` browsers refuse them.
   */
  middleware(): MiddlewareHandler {
    const allow = cors({
      origin: this.any ? "*" : [...this.origins],
      credentials: !this.any,
      allowMethods: [...METHODS],
      exposeHeaders: READ_BY_CLIENTS,
      maxAge: 600,
    });
    return async (c, next) => {
      const origin = c.req.header("origin");
      if (origin !== undefined && this.has(origin)) return await allow(c, next);
      await next();
      // An answer that names no origin is not for a page of one, whatever a cache thinks.
      if (!this.any && this.origins.size > 0) c.header("Vary", "Origin", { append: true });
    };
  }
}
