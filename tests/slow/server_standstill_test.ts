// `m40 serve` in a process of its own that is stopped (SIGSTOP) for longer than its clients may take, and goes on.
import { assertEquals } from "@std/assert";
import { Home, startServe, TINY } from "../fixtures/cli_program.ts";
import { NO_END, RawClient, rawPost } from "../fixtures/server_fixture.ts";
import { sleep, until } from "../fixtures/waiting.ts";

const GET = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
const POST = rawPost("/v1/completions", { prompt: "Hello", max_tokens: 2, ...NO_END });

async function standStill(seconds: number): Promise<void> {
  await using home = await Home.make();
  const { child, output, url } = await startServe(home, ["--model", TINY, "--port", "0"]);
  const port = Number(new URL(url).port);
  using head = await RawClient.connect(port, GET.slice(0, 20));
  using body = await RawClient.connect(port, POST.slice(0, -5));
  using kept = await RawClient.connect(port, GET);
  await kept.until(/"status":"ok"/);
  child.kill("SIGSTOP");
  const stopped = performance.now();
  await until(
    "the server is stopped",
    () => /\) T /.test(Deno.readTextFileSync(`/proc/${child.pid}/stat`)),
  );
  using fresh = await RawClient.connect(port, GET);
  await head.send(GET.slice(20));
  await body.send(POST.slice(-5));
  await kept.send(GET);
  await sleep(seconds * 1000 - (performance.now() - stopped));
  child.kill("SIGCONT");
  await fresh.until(/^HTTP\/1\.1 200 [^]*"status":"ok"/);
  await head.until(/^HTTP\/1\.1 200 [^]*"status":"ok"/);
  await body.until(/^HTTP\/1\.1 200 [^]*"completion_tokens":2/);
  await kept.until(/"status":"ok"[^]*"status":"ok"/);
  child.kill("SIGTERM");
  await output.rest();
  assertEquals((await child.status).code, 0);
}

// Longer than a head may take, a body, and a connection may be idle.
Deno.test("a server that stood still for 11, 32 or 77 s serves all that came meanwhile", async () => {
  await Promise.all([11, 32, 77].map(standStill));
});
