// OpenAI's responses that are kept: gone on from, fetched, listed, deleted, and lost.
import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  DeletedResponse,
  InputItemList,
  ResponseObject,
} from "../../../server/openai/responses/response_schemas.ts";
import { HELLO, startChat } from "../../fixtures/server_chat_fixture.ts";
import { readError, type TestServer } from "../../fixtures/server_fixture.ts";
import {
  assembled,
  respond,
  responseEvents,
  RESPONSES,
  responsesBody,
  textOf,
} from "../../fixtures/server_responses_fixture.ts";

const said = (role: string, content: unknown) => ({ role, content });
const URL = (server: TestServer, rest: string) => `${server.url}${RESPONSES}/${rest}`;

async function inputItems(server: TestServer, id: string, query = ""): Promise<InputItemList> {
  const response = await fetch(URL(server, `${id}/input_items${query}`));
  return InputItemList.parse(await response.json());
}

Deno.test("a response goes on from the one before, whose instructions it does not have", async () => {
  await using server = await startChat();
  const first = await respond(server, { instructions: "I" });
  const second = await respond(server, { input: "b", previous_response_id: first.id });
  const third = await respond(server, { input: "c", previous_response_id: second.id });
  const whole = [...HELLO, ...first.output, said("user", "b"), ...second.output, said("user", "c")];
  assertEquals(textOf(third), textOf(await respond(server, { input: whole })));
  assertEquals(third.previous_response_id, second.id);
  // Streams are kept before their last event is there.
  const streamed = assembled(
    await responseEvents(server, { input: "b", previous_response_id: first.id }),
  );
  assertEquals(await (await fetch(URL(server, streamed.id))).json(), streamed);
  const items = await inputItems(server, third.id, "?order=asc");
  assertEquals(items.data.map(({ type }) => type), Array(5).fill("message"));
  assertEquals(items.data[1].id, first.output[0].id);
});

Deno.test("items that are kept are sent again by their ids alone", async () => {
  await using server = await startChat();
  const first = await respond(server);
  const [{ id }] = first.output;
  for (const item of [{ type: "item_reference", id }, { id }]) {
    const second = await respond(server, { input: [...HELLO, item, said("user", "b")] });
    const wanted = await respond(server, { input: "b", previous_response_id: first.id });
    assertEquals(textOf(second), textOf(wanted));
  }
  const lost = await server.post(
    RESPONSES,
    responsesBody({ input: [{ type: "item_reference", id: "x" }] }),
  );
  const { code, param } = await readError(lost, 404);
  assertEquals([code, param], ["item_not_found", "input.0.id"]);
});

Deno.test("what is kept can be fetched, listed in pages and deleted", async () => {
  await using server = await startChat();
  const input = ["a", "b", "c", "d"].map((one) => said("user", one));
  const made = await respond(server, { input, metadata: { k: "v" } });
  const fetched = await (await fetch(URL(server, made.id))).json();
  assertEquals(ResponseObject.parse(fetched), made);
  assertEquals(made.metadata, { k: "v" });
  const shown = ({ data }: InputItemList) =>
    data.map((item) => item.type === "message" ? item.content[0].text : "").join("");
  const all = await inputItems(server, made.id);
  assertEquals([shown(all), all.has_more], ["dcba", false]);
  const page = await inputItems(server, made.id, "?order=asc&limit=2");
  assertEquals([shown(page), page.has_more, page.last_id], ["ab", true, page.data[1].id]);
  const rest = await inputItems(server, made.id, `?order=asc&limit=2&after=${page.last_id}`);
  assertEquals([shown(rest), rest.has_more], ["cd", false]);
  const next = await respond(server, { input: "e", previous_response_id: made.id });
  const deleted = await fetch(URL(server, made.id), { method: "DELETE" });
  assertEquals(DeletedResponse.parse(await deleted.json()).id, made.id);
  for (const path of [made.id, `${made.id}/input_items`]) {
    assertEquals((await readError(await fetch(URL(server, path)), 404)).code, "response_not_found");
  }
  assertEquals(
    (await inputItems(server, next.id)).data.length,
    6,
    "its continuations still work",
  );
});

Deno.test("a response that is not kept, or no longer, is an error that says why", async () => {
  await using server = await startChat({ app: { keptResponses: { count: 2, bytes: 2 ** 20 } } });
  const goOn = (id: string) =>
    server.post(RESPONSES, responsesBody({ input: "b", previous_response_id: id }));
  const unkept = await respond(server, { store: false });
  const kept = await respond(server);
  for (let i = 0; i < 2; i++) await respond(server);
  for (const { id } of [unkept, kept]) {
    const { code, param, message } = await readError(await goOn(id), 400);
    assertEquals([code, param], ["previous_response_not_found", "previous_response_id"]);
    assertStringIncludes(message, "last 2 of them");
    assertStringIncludes(message, "Send the whole conversation");
  }
});
