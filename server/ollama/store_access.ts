import type { Context } from "hono";
import { M40Error } from "../../engine/errors.ts";
import type { Catalogue } from "../../engine/manager/mod.ts";
import { modelsDirectory } from "../../engine/store/mod.ts";
import { isWebPage } from "../access/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { HttpError } from "../errors.ts";

/**
 * What a request that changes the store works on.
 *
 * Web pages cannot: not those of origins that `--cors` allows, and not those that merely seem to be of the server's own
 * origin, such as one whose name leads here (DNS rebinding). A browser names the origin of every such request.
 *
 * @throws {HttpError} 403 where the server does not allow it, or not to this caller.
 */
export function storeToChange(c: Context<ServerEnv>, server: ServerContext): Catalogue {
  const { catalogue } = server.models;
  if (catalogue === undefined || !catalogue.stored) {
    throw new HttpError(
      403,
      "store_not_served",
      "This server serves the models that it was started with alone, and changes none on disk. Use m40 pull, " +
        "m40 cp and m40 rm on its machine.",
    );
  }
  if (!server.storeChanges) {
    throw new HttpError(
      403,
      "store_changes_off",
      "This server changes no models on disk for its clients, unless it is started with --allow-store-changes. " +
        "Start it so, or use m40 pull, m40 cp and m40 rm on its machine.",
    );
  }
  const origin = c.req.header("origin");
  if (origin !== undefined && isWebPage(origin)) {
    throw new HttpError(
      403,
      "forbidden_origin",
      `Web pages ("${
        origin.slice(0, 100)
      }") may not change the models on disk. Use a program, or m40 pull, m40 ` +
        "cp and m40 rm.",
    );
  }
  return catalogue;
}

/** Reports errors without the store's folder, which means nothing to a client. */
export function withoutFolder(error: unknown): unknown {
  const directory = modelsDirectory();
  if (!(error instanceof M40Error) || directory === undefined) return error;
  const message = error.message.replaceAll(directory, "the models directory");
  return new M40Error(error.code, message, error.param);
}
