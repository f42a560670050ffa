import type { Hono } from "hono";
import type { ServerEnv } from "../../context.ts";
import { HttpError, unsupported } from "../../errors.ts";
import { wrongField } from "../../request/mod.ts";
import { get, route } from "../../route.ts";
import type { Item } from "./item_schemas.ts";
import type { DeletedResponse, InputItemList } from "./response_schemas.ts";
import { notKept } from "./responses.ts";
import { conversationOf, type ResponseStore, type StoredResponse } from "./store.ts";

/** Items of a list where the client does not say, and at most. */
const ITEMS = { usual: 20, most: 100 } as const;

/** `GET` and `DELETE /v1/responses/{id}`, and `GET /v1/responses/{id}/input_items`. */
export function keptResponsesRoutes(app: Hono<ServerEnv>, store: ResponseStore): void {
  route(app, "/v1/responses/:id", {
    GET: (c) => {
      const { response } = find(store, c.req.param("id")!);
      if (c.req.query("stream") === "true") {
        throw unsupported(
          "stream",
          "stream: a response that is done is not streamed again. Leave it out.",
        );
      }
      return c.json(response);
    },
    DELETE: (c) => {
      const { response: { id } } = find(store, c.req.param("id")!);
      store.delete(id);
      return c.json({ id, object: "response", deleted: true } satisfies DeletedResponse);
    },
  });
  get(app, "/v1/responses/:id/input_items", (c) => {
    const { input, previous } = find(store, c.req.param("id")!);
    return c.json(listOf([...conversationOf(previous), ...input], c.req.query()));
  });
}

function find(store: ResponseStore, id: string): StoredResponse {
  const found = store.get(id);
  if (found !== undefined) return found;
  throw new HttpError(404, "response_not_found", notKept(id, store), { param: "id" });
}

/** A page of a list, in the order that is asked for. */
function listOf(items: Item[], query: Readonly<Record<string, string>>): InputItemList {
  const { limit = String(ITEMS.usual), order = "desc", after } = query;
  const count = Number(limit);
  if (!Number.isInteger(count) || count < 1 || count > ITEMS.most) {
    throw wrongField("limit", `an integer from 1 to ${ITEMS.most}`, limit);
  }
  if (order !== "asc" && order !== "desc") throw wrongField("order", '"asc" or "desc"', order);
  const all = order === "asc" ? items : items.toReversed();
  const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) {
    throw wrongField("after", "the id of an item of the list", after);
  }
  const data = all.slice(start, start + count);
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + count < all.length,
  };
}
