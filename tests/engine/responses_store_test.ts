// What is kept of OpenAI's responses: never too much, and never a part of a conversation.
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Item } from "../../server/openai/responses/item_schemas.ts";
import type { ResponseObject } from "../../server/openai/responses/response_schemas.ts";
import {
  conversationOf,
  ResponseStore,
  type StoredResponse,
} from "../../server/openai/responses/store.ts";

let made = 0;

function said(id: string, text: string): Item {
  const content = [{ type: "input_text" as const, text }];
  return { type: "message", id, status: "completed", role: "user", content };
}

/** What the store looks at of a response. */
function stored(text = "x", previous?: StoredResponse): StoredResponse {
  const id = `resp_${made++}`;
  const response = { id, output: [] } as unknown as ResponseObject;
  return { response, input: [said(`msg_${made}`, text)], previous };
}

function textsOf(one: StoredResponse | undefined): string[] {
  return conversationOf(one).map((item) =>
    item.type === "message" ? item.content[0].text : item.type
  );
}

Deno.test("those go that were not used for the longest time", () => {
  const store = new ResponseStore({ count: 2, bytes: 1e6 });
  const [a, b, c] = ["a", "b", "c"].map((text) => stored(text));
  store.put(a);
  store.put(b);
  assertEquals(store.get(a.response.id), a);
  store.put(c);
  assertEquals([a, b, c].map(({ response }) => store.get(response.id)), [a, undefined, c]);
  assertEquals([a, b, c].map(({ input: [{ id }] }) => store.item(id)?.id), [
    a.input[0].id,
    undefined,
    c.input[0].id,
  ]);
});

Deno.test("a response that is larger than all there is room for is not kept, and costs nothing", () => {
  const store = new ResponseStore({ count: 10, bytes: 1000 });
  const large = stored("y".repeat(2000));
  store.put(large);
  assertEquals([store.count, store.bytes, store.get(large.response.id)], [0, 0, undefined]);
});

Deno.test("a response that went while the next was on its way is stored again with it, unless it was deleted", () => {
  const store = new ResponseStore({ count: 3, bytes: 1e6 });
  const first = stored("a");
  store.put(first);
  for (let i = 0; i < 3; i++) store.put(stored());
  assertEquals(store.get(first.response.id), undefined);
  const second = stored("b", first);
  store.put(second);
  assertEquals(textsOf(store.get(second.response.id)), ["a", "b"]);
  assertEquals(store.get(first.response.id), first);
  store.delete(first.response.id);
  store.delete(second.response.id);
  assertEquals(store.count, 1, "nothing unreachable is held");
  const third = stored("c", second);
  store.put(third);
  assertEquals(textsOf(store.get(third.response.id)), ["a", "b", "c"]);
  assertEquals(store.get(second.response.id), undefined);
});

Deno.test("whatever is done with it, it keeps to its limits, counts right, and has conversations whole", () => {
  const step = fc.record({
    kind: fc.constantFrom("put", "put", "put", "follow", "follow", "follow", "get", "delete"),
    which: fc.nat(20),
    length: fc.nat(400),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const limits = { count: 6, bytes: 4000 };
      const store = new ResponseStore(limits);
      const all: StoredResponse[] = [];
      const gone = new Set<StoredResponse>();
      for (const { kind, which, length } of steps) {
        const chosen = all[which % Math.max(1, all.length)] as StoredResponse | undefined;
        if (kind === "put" || (kind === "follow" && chosen === undefined)) {
          all.push(stored("z".repeat(length)));
          store.put(all.at(-1)!);
        } else if (kind === "follow") {
          // Also one that the store has lost meanwhile, as a request on its way has it.
          all.push(stored("z".repeat(length), chosen));
          store.put(all.at(-1)!);
        } else if (chosen !== undefined) {
          if (kind === "get") store.get(chosen.response.id);
          else if (store.delete(chosen.response.id)) gone.add(chosen);
        }
        assert(store.count <= limits.count && store.bytes <= limits.bytes);
        assert((store.count === 0) === (store.bytes === 0));
        const found = all.filter(({ response: { id } }) => store.get(id) !== undefined);
        assert(found.length <= store.count);
        for (const one of found) {
          assert(!gone.has(one), "what was deleted stays so");
          const { previous } = one;
          if (previous === undefined || gone.has(previous)) continue;
          assertEquals(store.get(previous.response.id), previous, "its predecessor is stored");
        }
      }
      for (const { response: { id } } of all) store.delete(id);
      assertEquals([store.count, store.bytes], [0, 0], "nothing unreachable is held");
    }),
    { numRuns: 300 },
  );
});
