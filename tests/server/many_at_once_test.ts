import { assertEquals } from "@std/assert";
import { defaultLimits, HttpServer } from "../../server/http/mod.ts";
import { soon } from "../fixtures/waiting.ts";

Deno.test("requests that are all there at once are begun in several turns of the event loop", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const request = new TextEncoder().encode(
    "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
  );
  const clients: Deno.TcpConn[] = [];
  for (let i = 0; i < 100; i++) {
    const client = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
    await client.write(request);
    clients.push(client);
  }
  let turn = 0;
  const next = () => {
    turn++;
    timer = setTimeout(next, 0);
  };
  let timer = setTimeout(next, 0);
  const begunBy: number[] = [];
  const allBegun = Promise.withResolvers<void>();
  let begun = 0;
  // Nobody accepts them before: they all are there when the server begins.
  const server = new HttpServer(listener, () => {
    begunBy[turn] = (begunBy[turn] ?? 0) + 1;
    if (++begun === clients.length) allBegun.resolve();
    return new Response();
  }, defaultLimits(200));
  await soon("all requests", allBegun.promise);
  clearTimeout(timer);
  for (const client of clients) {
    await soon("the end", new Response(client.readable).arrayBuffer());
  }
  await soon("the server's end", server.close());
  const most = Math.max(...begunBy.filter((count) => count > 0));
  assertEquals(most <= 16, true, `${most} in one turn`);
});
