// Connections that are reset before they are accepted, and listeners that fail.
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import { acceptConnections, type Acceptor } from "../../server/http/accept.ts";
import { serveAgentCheck } from "../../server/mod.ts";
import { RawClient, startServer } from "../fixtures/server_fixture.ts";
import { connectAndReset } from "../../tools/attack/system_sockets.ts";
import { soon, until } from "../fixtures/waiting.ts";

const ignore = Deno.build.os !== "linux";
const GET = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

Deno.test("connections that are reset at once end no server, and leave nothing behind", {
  ignore,
}, async () => {
  // The runtime reports such a connection as an error of accepting it: otherwise this tests nothing.
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let reported = 0;
  for (let i = 0; i < 100; i++) {
    connectAndReset(listener.addr.port);
    await listener.accept().then((one) => one.close(), () => reported++);
  }
  listener.close();
  assert(reported > 0, "no reset was reported");

  await using server = await startServer();
  using kept = await RawClient.connect(server.port, GET);
  await kept.until(/"status":"ok"/);
  const descriptors = () => [...Deno.readDirSync("/proc/self/fd")].length;
  const before = descriptors();
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 100; i++) connectAndReset(server.port);
    using client = await RawClient.connect(server.port, GET);
    await client.until(/"status":"ok"/);
  }
  // Tests beside this one have some, but not as many as the connections that were reset.
  await until("the descriptors are free", () => descriptors() < before + 500);
  await kept.send(GET);
  await kept.until(/"status":"ok"[^]*"status":"ok"/);
});

Deno.test("connections that are reset at once do not block an agent check", {
  ignore,
}, async () => {
  using agent = serveAgentCheck("127.0.0.1", 0, () => "up 100%\n");
  for (let i = 0; i < 200; i++) connectAndReset(agent.port);
  using client = await RawClient.connect(agent.port);
  assertEquals(await client.rest(), "up 100%\n");
});

/** A listener whose next attempts to accept fail, as a socket of another process's would. */
function failing(listener: Deno.TcpListener, failures: { left: number; code: string }): Acceptor {
  return {
    addr: listener.addr,
    accept() {
      if (failures.left-- <= 0) return listener.accept();
      return Promise.reject(Object.assign(new Error(failures.code), { code: failures.code }));
    },
  };
}

Deno.test("errors of accepting are passed over, however many and whatever they are called, while it is listened", async () => {
  for (const code of ["ENOTCONN", "EINVAL", "EBADF", "", "ENONSENSE"]) {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    let closed = false;
    const came: Deno.TcpConn[] = [];
    const failures = { left: 5000, code };
    const accepting = acceptConnections(failing(listener, failures), {
      accepted: (connection) => void came.push(connection),
      closed: () => closed,
    });
    using client = await RawClient.connect(listener.addr.port);
    await soon("all failures", until("all failures", () => failures.left < 0));
    await until("the connection", () => came.length > 0);
    // A second time, by the way: what ended the doubt does not last.
    failures.left = 200;
    using other = await RawClient.connect(listener.addr.port);
    await until("the other", () => failures.left < 0 && came.length > 1);
    closed = true;
    using _last = await RawClient.connect(listener.addr.port);
    await soon("the end", accepting);
    for (const connection of came) connection.close();
    assertEquals([await client.rest(), await other.rest()], ["", ""]);
  }
});

Deno.test("a listener that the system refuses connections to is given up", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { addr } = listener;
  listener.close();
  const error = await soon(
    "the error",
    assertRejects(
      () =>
        acceptConnections({ addr, accept: () => listener.accept() }, {
          accepted: () => {},
          closed: () => false,
        }),
      M40Error,
    ),
  );
  assertMatch(error.message, /cannot accept connections any more/);
});
