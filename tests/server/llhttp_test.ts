// What the server's HTTP makes of bytes, compared with Node's parser: it may refuse more, and never understands
// otherwise.
import { assert, assertEquals } from "@std/assert";
import { type Message, parseWithLlhttp } from "../fixtures/llhttp.ts";
import { EchoServer, randomNumbers, randomRequest } from "../fixtures/raw_requests.ts";

// More cases: M40_FUZZ_CASES=1000000.
const CASES = Number(Deno.env.get("M40_FUZZ_CASES") ?? 2000);

/** A request in the form in which both parsers give the same. */
function comparable({ method, target, headers, body }: Message): unknown {
  const { pathname, search } = new URL(target === "*" ? "/" : target, "http://h");
  // A body of GET is not read by the server, which then ends the connection.
  return { method, target: pathname + search, headers, body: /GET|HEAD/.test(method) ? "" : body };
}

/** Whether a request has a body that the server did not read: of GET it reads none, and ends the connection. */
function withUnreadBody(message: Message | undefined): boolean {
  return message !== undefined && /^(GET|HEAD)$/.test(message.method) &&
    ("transfer-encoding" in message.headers || "content-length" in message.headers);
}

Deno.test(`${CASES} random connections: requests are those that llhttp sees, or refused`, async () => {
  await using server = new EchoServer();
  const random = randomNumbers(Number(Deno.env.get("M40_FUZZ_SEED") ?? 7));
  const counts = { alike: 0, requests: 0, refusedByBoth: 0, refusedByOneself: 0 };
  for (let i = 0; i < CASES; i++) {
    let text = "";
    for (let more = 1 + random(2); more > 0; more--) text += randomRequest(random);
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    const [ours, theirs] = [await server.parse(bytes), parseWithLlhttp(bytes)];
    // The server takes methods that llhttp knows nothing of.
    if (theirs.error === "HPE_INVALID_METHOD") ours.messages.splice(theirs.messages.length);
    if (withUnreadBody(ours.messages.at(-1))) ours.messages.pop();
    const shown = JSON.stringify({ text, ours, theirs }, null, 1);
    assert(ours.messages.length <= theirs.messages.length, shown);
    const seen = theirs.messages.slice(0, ours.messages.length);
    assertEquals(ours.messages.map(comparable), seen.map(comparable), shown);
    counts.requests += seen.length;
    if (theirs.error === undefined && ours.error === undefined) counts.alike++;
    else if (theirs.error !== undefined) counts.refusedByBoth++;
    else counts.refusedByOneself++;
  }
  // The cases are of every kind, or this shows nothing.
  assert(counts.requests > CASES / 4 && counts.alike > CASES / 10, JSON.stringify(counts));
  assert(counts.refusedByBoth > CASES / 10 && counts.refusedByOneself > 0, JSON.stringify(counts));
});
