import { assertEquals, assertMatch } from "@std/assert";
import { Exchange, type ExchangeConnection, streamOf } from "./exchange.ts";
import { parseHead } from "./head.ts";
import { Incoming } from "./incoming.ts";
import { defaultLimits } from "./limits.ts";
import type { Piece } from "./response_bytes.ts";
import { TurnShare } from "./turn_share.ts";

const piece = (text: string): Piece => new TextEncoder().encode(text);

/** What a connection writes, one write after the other, for an answer of these pieces. */
async function writesOf(
  version: string,
  pieces: readonly (readonly Piece[])[],
  tellsEnd = false,
) {
  const writes: string[] = [];
  const connection: ExchangeConnection = {
    incoming: new Incoming({ read: () => Promise.resolve(null) }, () => {}, () => {}),
    limits: defaultLimits(),
    ending: false,
    turns: new TurnShare(),
    enter: () => {},
    extendBody: () => {},
    holdBody: () => {},
    releaseBody: () => {},
    write: (bytes) => Promise.resolve(void writes.push(new TextDecoder().decode(bytes))),
  };
  const head = parseHead(piece(`GET / HTTP/${version}\r\nHost: localhost\r\n\r\n`));
  const left = [...pieces];
  const body = streamOf({
    next: () => Promise.resolve(left.shift()),
    get isOver() {
      return tellsEnd ? left.length === 0 : undefined;
    },
    cancel: () => {},
  });
  const headers = { "content-type": "text/event-stream" };
  await new Exchange(connection, head, () => new Response(body, { headers })).run();
  return writes;
}

Deno.test("events that are there together leave in one write, each in a chunk of its own", async () => {
  const long = "x".repeat(300);
  const pieces = [[piece("one")], [piece("two"), piece("drei €"), piece(long)], [piece("4")]];
  const [head, ...writes] = await writesOf("1.1", pieces);
  assertMatch(head, /Transfer-Encoding: chunked\r\n/);
  assertEquals(writes, [
    "3\r\none\r\n",
    `3\r\ntwo\r\n8\r\ndrei €\r\n12c\r\n${long}\r\n`,
    "1\r\n4\r\n",
    "0\r\n\r\n",
  ]);
  const old = await writesOf("1.0", pieces);
  assertEquals(old.slice(1), ["one", `twodrei €${long}`, "4"]);
});

Deno.test("the end of a stream that tells it leaves with its last event", async () => {
  const pieces = [[piece("one")], [piece("[DONE]")]];
  const [, ...writes] = await writesOf("1.1", pieces, true);
  assertEquals(writes, ["3\r\none\r\n", "6\r\n[DONE]\r\n0\r\n\r\n"]);
  assertEquals((await writesOf("1.0", pieces, true)).slice(1), ["one", "[DONE]"]);
});
