import type { Hono } from "hono";
import { z } from "zod";
import { removeModel } from "../../engine/store/mod.ts";
import { copyModel } from "../../engine/store/pull/mod.ts";
import { readAnyType } from "../access/mod.ts";
import { eitherName } from "../models/mod.ts";
import { parseBody, wants } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { invalid } from "../errors.ts";
import { post, route } from "../route.ts";
import { namedModel, requireName } from "./fields.ts";
import { storeToChange, withoutFolder } from "./store_access.ts";

/** The body of `POST /api/copy`. */
export const CopyRequest = z.object({
  source: z.string(wants("the name of a model")).describe("A stored model."),
  destination: z.string(wants("a name")).describe(
    "What the copy is called: a name that no model of the models directory has.",
  ),
}, wants("a JSON object")).meta({ id: "OllamaCopyRequest" });

/** The body of `DELETE /api/delete`. */
export const DeleteRequest = z.object(namedModel, wants("a JSON object"))
  .meta({ id: "OllamaDeleteRequest" });

/** `POST /api/copy` and `DELETE /api/delete`: as `m40 cp` and `m40 rm`. */
export function storeChangesRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  post(app, "/api/copy", async (c) => {
    const catalogue = storeToChange(c, server);
    const body = parseBody(CopyRequest, await readAnyType(c, server));
    const { name } = await eitherName(body.source, (name) => catalogue.findInStore(name));
    await copyModel(name, body.destination).catch(rethrow);
    return c.body(null, 200);
  });
  route(app, "/api/delete", {
    DELETE: async (c) => {
      const catalogue = storeToChange(c, server);
      const body = parseBody(DeleteRequest, await readAnyType(c, server));
      const found = await eitherName(requireName(body), (name) => catalogue.findInStore(name));
      const { name } = found;
      const other = catalogue.otherNameOf(found);
      if (other !== undefined) {
        throw invalid(
          "model",
          `model: "${name}" is what the server's configuration calls "${other}" as well. Take it out there first.`,
        );
      }
      // Running answers finish first, and a request for the model may have it loaded again meanwhile.
      await server.models.unload(name);
      await removeModel(name).catch(rethrow);
      await server.models.unload(name);
      return c.body(null, 200);
    },
  });
}

function rethrow(error: unknown): never {
  throw withoutFolder(error);
}
