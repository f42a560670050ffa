// `m40 serve` in a process of its own with few file descriptors, or whose listener fails.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Home, ROOT, TINY, Watched } from "../fixtures/cli_program.ts";
import { NO_END, RawClient, rawPost } from "../fixtures/server_fixture.ts";
import { soon } from "../fixtures/waiting.ts";

const GET = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
const ignore = Deno.build.os !== "linux";

/** Starts a program of the checkout that listens, as a shell command has it. */
async function start(home: Home, program: string, args: string[], shell = "", model = TINY) {
  const deno = [Deno.execPath(), "run", "-A", "--no-check", "--quiet", `${ROOT}/${program}`];
  const command = [...deno, "serve", "--model", model, "--device", "cpu", "--port", "0", ...args];
  const child = new Deno.Command("sh", {
    args: ["-c", `${shell} exec "$@"`, "sh", ...command],
    env: home.env,
    clearEnv: true,
    cwd: home.path,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = new Watched(child.stdout);
  const errors = new Response(child.stderr).text();
  const [, port] = await output.until(/Listening on http:\S+:(\d+)\/v1.*\n/);
  return { child, output, errors, port: Number(port) };
}

async function health(port: number): Promise<void> {
  using client = await RawClient.connect(port, GET);
  await client.until(/^HTTP\/1\.1 200 [^]*"status":"ok"/);
}

// By itself the server has no more connections than descriptors; with this option it runs out of them.
for (const args of [[], ["--max-connections", "1000"]]) {
  const how = args.length === 0 ? "few descriptors" : "more connections than descriptors";
  Deno.test(
    `m40 serve with ${how}: 105 silent clients do not block others`,
    { ignore },
    async () => {
      await using home = await Home.make();
      const server = await start(home, "main.ts", args, "ulimit -n 128;");
      const silent: RawClient[] = [];
      for (let i = 0; i < 105; i++) {
        silent.push(await RawClient.connect(server.port, i % 2 === 0 ? "" : GET.slice(0, 20)));
      }
      await health(server.port);
      // Many more than the listener's own queue has room for.
      for (let i = 0; i < 2000; i++) {
        silent.push(await RawClient.connect(server.port));
        if (silent.length > 300) silent.shift()!.close();
        if (i % 500 === 0) await health(server.port);
      }
      await health(server.port);
      using client = await RawClient.connect(
        server.port,
        rawPost("/v1/generate", { prompt: "Hello", max_tokens: 3, ...NO_END }),
      );
      await client.until(/"completion_tokens":3/);
      for (const one of silent) one.close();
      await health(server.port);
      server.child.kill("SIGTERM");
      assertEquals((await soon("the end", server.child.status)).code, 0);
      assertMatch(await server.output.rest(), /Closed\.\n$/);
      assertEquals(await server.errors, "");
    },
  );
}

Deno.test(
  "m40 serve with a lost listener ends with an error, and does not live on refusing everyone",
  { ignore },
  async () => {
    await using home = await Home.make();
    const model = await home.longModel();
    const args = ["--ctx", "500000", "--drain", "3600"];
    const server = await start(home, "tests/fixtures/lost_listener.ts", args, "", model);
    await health(server.port);
    const body = { prompt: "hello", max_tokens: 400_000, ...NO_END, stream: true };
    using client = await RawClient.connect(server.port, rawPost("/v1/generate", body));
    await client.until(/data: /);
    server.child.kill("SIGUSR1");
    assertEquals((await soon("the end", server.child.status)).code, 1);
    const text = await client.rest();
    assert(text.includes('"code":"cancelled"'), "the client of the running answer gets an error");
    assertMatch(await server.errors, /^error: .*cannot accept connections any more.*\n$/);
    assert(!(await server.output.rest()).includes("Closed."));
  },
);
