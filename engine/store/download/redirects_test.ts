import { assert, assertEquals, assertGreater, assertMatch, assertRejects } from "@std/assert";
import { M40Error } from "../../errors.ts";
import { DownloadError } from "./errors.ts";
import { Folder, sha256, someBytes } from "../../../tests/fixtures/download_fixture.ts";
import { FaultServer, type Received, served } from "../../../tests/fixtures/fault_server.ts";

const BYTES = someBytes(1_000_003, 3);
const SHA = sha256(BYTES);
const FILE = served(BYTES);
const HEADERS = { authorization: "Bearer hf_secret", "x-other": "1" };

function to(location: string, status = 302) {
  return { status, headers: { Location: location } };
}

/** Which requests had the caller's headers. */
function trusted(requests: Received[]): boolean[] {
  return requests.map(({ headers }) => headers.has("authorization") || headers.has("x-other"));
}

Deno.test("redirects: relative and absolute ones are followed, headers go along within the origin", async () => {
  await using folder = await Folder.make();
  await using server: FaultServer = new FaultServer(({ path }) =>
    path === "/a/f"
      ? to("../b/f?x=1#part", 307)
      : path === "/b/f"
      ? to(server.url("/c"), 308)
      : FILE
  );
  const got = await folder.get({ url: server.url("/a/f"), headers: HEADERS }, { connections: 1 });
  assertEquals(got.sha256, SHA);
  assertEquals(server.requests.slice(0, 3).map(({ path }) => path), ["/a/f", "/b/f", "/c"]);
  assertEquals(server.requests[1].query, "x=1");
  assert(trusted(server.requests).every((sent) => sent));
  assert(server.requests.slice(3).every(({ path }) => path === "/c"), "the way is found once");
});

Deno.test("redirects: no header goes to another origin, nor back with one", async () => {
  await using folder = await Folder.make();
  await using other: FaultServer = new FaultServer(() => to(server.url("/back")));
  await using server: FaultServer = new FaultServer(({ path }) =>
    path === "/f" ? to(other.url("/x")) : FILE
  );
  await folder.get({ url: server.url("/f"), headers: HEADERS }, { connections: 1 });
  assertEquals(trusted(other.requests), [false]);
  assertEquals(trusted(server.requests.slice(0, 2)), [true, false]);
});

Deno.test("redirects: a user and password in the URL are for its origin alone, and in no message", async () => {
  await using folder = await Folder.make();
  await using other: FaultServer = new FaultServer(() => ({ status: 404 }));
  await using server: FaultServer = new FaultServer(() =>
    to(other.url("/x?signature=hidden").replace("//", "//u:p@"))
  );
  const url = server.url("/f?token=hidden").replace("//", "//me:hidden@");
  const { message } = await assertRejects(() => folder.get({ url }), DownloadError, "answers 404");
  assertEquals(server.requests[0].headers.get("authorization"), `Basic ${btoa("me:hidden")}`);
  assertEquals(other.requests[0].headers.get("authorization"), null);
  assert(!message.includes("hidden"), message);
});

Deno.test("redirects: what fails on the network does not reveal the query of a URL", async () => {
  await using folder = await Folder.make();
  await using server: FaultServer = new FaultServer(() => ({ cutAfter: -1 }));
  const { message } = await assertRejects(
    () => folder.get({ url: server.url("/f?token=hidden") }),
    M40Error,
  );
  assert(!message.includes("hidden"), message);
});

Deno.test("redirects: a circle, a missing place and another protocol are refused", async () => {
  for (
    const [answer, message] of [
      [to("/f"), /redirects more than 10 times/],
      [{ status: 302 }, /redirects to nowhere/],
      [to("file:///etc/passwd"), /redirects to nowhere/],
      [to("http://[bad"), /redirects to nowhere/],
      [{ status: 300 }, /answers 300.*wanted 200 or 206/],
    ] as const
  ) {
    await using folder = await Folder.make();
    await using server: FaultServer = new FaultServer(() => answer);
    const error = await assertRejects(() => folder.get({ url: server.url("/f") }), M40Error);
    assertMatch(error.message, message);
  }
});

Deno.test("redirects: a target that is signed for a while is asked for again when that is over", async () => {
  await using folder = await Folder.make();
  const uses = new Map<string, number>();
  await using store = new FaultServer(({ query }) => {
    const used = (uses.get(query) ?? 0) + 1;
    uses.set(query, used);
    // The first two kinds of servers that say so.
    return used > 3 ? { status: used % 2 ? 401 : 403 } : FILE;
  });
  await using server: FaultServer = new FaultServer(({ number }) =>
    to(store.url(`/f?signature=${number}`))
  );
  assertEquals((await folder.get({ url: server.url("/f") })).sha256, SHA);
  assertGreater(server.requests.length, 3);
});

Deno.test("redirects: a target that refuses at once is not asked for ever", async () => {
  await using folder = await Folder.make();
  await using store = new FaultServer(() => ({ status: 403 }));
  await using server: FaultServer = new FaultServer(() => to(store.url("/f")));
  await assertRejects(() => folder.get({ url: server.url("/f") }), DownloadError, "answers 403");
  assertEquals([server.requests.length, store.requests.length], [1, 1]);
});
