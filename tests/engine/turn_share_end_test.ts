import { assertEquals } from "@std/assert";
import { HttpServer } from "../../server/http/http_server.ts";
import { defaultLimits } from "../../server/http/limits.ts";
import { soon } from "../fixtures/waiting.ts";

Deno.test("a server that ends while a connection waits for its turn does not keep that connection", async () => {
  const body = new Uint8Array(2 ** 20);
  for (let i = 0; i < 20; i++) {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const server = new HttpServer(listener, () => new Response(body), defaultLimits(4));
    using client = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
    await client.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    const buffer = new Uint8Array(65536);
    let got = 0;
    while (got < body.length) got += await client.read(buffer) ?? 0;
    const ended = server.close();
    let end: number | null = 0;
    while (end !== null) end = await soon("the end", client.read(buffer));
    await soon("the server's end", ended);
    assertEquals(got >= body.length, true);
  }
});
