import { assertEquals, assertMatch } from "@std/assert";
import { Home, startServe, TINY } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";
import { NO_END, sendRaw } from "../fixtures/server_fixture.ts";

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`m40 serve: says what it serves, answers, and closes on ${signal} with exit code 0`, async () => {
    await using home = await Home.make();
    await Deno.copyFile(TINY, `${home.models}/tiny.gguf`);
    const server = await startServe(home, ["--port", "0", "--model", "tiny", "--threads", "1"]);
    assertMatch(server.before, /Model +tiny \(llama 138K F32\)\n/);
    assertMatch(server.before, /Device +.*\(cpu.*1 threads?\)\n/);
    assertMatch(
      server.before,
      /Memory +.*weights 537\.8 KiB, KV cache 192\.0 KiB \(f16\), activations [\d.]+ .iB; [\d.]+ .iB left\n/,
    );
    assertMatch(server.before, /Context +128 tokens/);
    assertMatch(server.before, /At once +4 sequences; 512 tokens of KV cache \(16 KV blocks\)\n/);
    assertMatch(server.before, /Chat +no template; --chat-template NAME\|FILE gives one\n/);
    const response = await fetch(`${server.url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "tiny", prompt: "hello", max_tokens: 5, ...NO_END }),
    });
    assertEquals([response.status, (await response.json()).usage.completion_tokens], [200, 5]);
    server.child.kill(signal);
    // The answer may be here before its sequence is gone there.
    assertMatch(
      await server.output.rest(),
      /^(Draining: 1 running and 0 waiting .*\n)?Closed\.\n$/,
    );
    assertEquals([(await server.child.status).code, await server.errors], [0, ""]);
  });
}

Deno.test("m40 serve: the key comes from M40_API_KEY or --api-key, and the option is the stronger", async () => {
  await using home = await Home.make();
  for (const args of [[], ["--api-key", "beta"]]) {
    const server = await startServe(home, ["--port", "0", "--model", TINY, ...args], {
      M40_API_KEY: "alpha",
    });
    const ask = async (key?: string) => {
      const headers: HeadersInit = key ? { authorization: `Bearer ${key}` } : {};
      const response = await fetch(`${server.url}/v1/models`, { headers });
      await response.body?.cancel();
      return response.status;
    };
    const byOption = args.length > 0;
    assertEquals([await ask(), await ask("alpha"), await ask("beta")], [
      401,
      byOption ? 401 : 200,
      byOption ? 200 : 401,
    ]);
    const health = await fetch(`${server.url}/health`);
    await health.body?.cancel();
    assertEquals(health.status, 200);
    server.child.kill("SIGTERM");
    await server.output.rest();
    assertEquals([(await server.child.status).code, await server.errors], [0, ""]);
  }
});

Deno.test("m40 serve: --cors lets the pages of its origins in; --reasoning and its budget hold for chats", async () => {
  await using home = await Home.make();
  const template = "{{ messages[0].content }}<think>";
  await Deno.writeTextFile(`${home.path}/think.jinja`, template);
  const server = await startServe(home, [
    "--port",
    "0",
    ...["--model", TINY, "--chat-template", `${home.path}/think.jinja`],
    ...["--cors", "https://a.example/", "--cors", "http://B.example:80"],
    ...["--reasoning", "inline", "--reasoning-budget", "3"],
    ...["--allowed-host", "GPU.example", "--allowed-host", "b\u00fccher.example"],
  ]);
  for (
    const [host, status] of [["gpu.example", 200], ["xn--bcher-kva.example", 200], [
      "x.example",
      403,
    ]]
  ) {
    const request = `GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    assertMatch(
      await sendRaw(Number(new URL(server.url).port), request),
      new RegExp(`^HTTP/1.1 ${status} `),
    );
  }
  for (const origin of ["https://a.example", "http://b.example", "https://c.example"]) {
    const response = await fetch(`${server.url}/v1/models`, { headers: { origin } });
    await response.body?.cancel();
    const allowed = response.headers.get("access-control-allow-origin");
    const may = origin !== "https://c.example";
    assertEquals([response.status, allowed], may ? [200, origin] : [403, null]);
  }
  const chat = async (more: Record<string, unknown>) => {
    const messages = [{ role: "user", content: "Hello" }];
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ messages, max_tokens: 30, ...NO_END, ...more }),
    });
    return (await response.json()).choices[0].message;
  };
  const { content, reasoning_content } = await chat({});
  assertEquals([content.includes("</think>"), reasoning_content], [true, undefined]);
  assertEquals((await chat({ reasoning_budget: -1 })).content.includes("</think>"), false);
  server.child.kill("SIGTERM");
  await server.output.rest();
  assertEquals([(await server.child.status).code, await server.errors], [0, ""]);
  const wrong = await m40(home, ["serve", "--model", TINY, "--cors", "example.com"]);
  assertEquals(wrong.code, 2);
  assertMatch(wrong.stderr, /--cors.*https:\/\/example\.com/);
  for (const host of ["http://a.example", "a.example:80", "a b", ""]) {
    const refused = await m40(home, ["serve", "--model", TINY, "--allowed-host", host]);
    assertEquals(refused.code, 2);
    assertMatch(refused.stderr, /--allowed-host.*gpu-box\.example\.com/);
  }
});

Deno.test("m40 serve: warns when it listens beyond this machine without a key", async () => {
  await using home = await Home.make();
  const server = await startServe(home, ["--port", "0", "--model", TINY, "--host", "0.0.0.0"]);
  server.child.kill("SIGTERM");
  await server.output.rest();
  assertEquals((await server.child.status).code, 0);
  assertMatch(await server.errors, /^warning: .*M40_API_KEY/);
});

Deno.test("m40 serve: a port in use and an address that is not ours are said, before the model is loaded", async () => {
  await using home = await Home.make();
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr as Deno.NetAddr;
  const used = await m40(home, ["serve", "--model", TINY, "--port", `${port}`]);
  assertEquals([used.code, used.stdout], [1, ""]);
  assertMatch(used.stderr, new RegExp(`^error: The port is in use: 127.0.0.1:${port}.*--port`));
  const foreign = await m40(home, ["serve", "--model", TINY, "--host", "192.0.2.1"]);
  assertEquals([foreign.code, foreign.stdout], [1, ""]);
  assertMatch(foreign.stderr, /192\.0\.2\.1/);
});

Deno.test("m40 serve: a second signal ends it at once, although an answer runs", async () => {
  await using home = await Home.make();
  const path = await home.longModel();
  const server = await startServe(home, ["--port", "0", "--model", path, "--ctx", "500000"]);
  const response = await fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "long",
      prompt: "hello world",
      ...NO_END,
      stream: true,
      max_tokens: 400000,
    }),
  });
  const reader = response.body!.getReader();
  assertEquals((await reader.read()).done, false);
  server.child.kill("SIGINT");
  // The first signal has been taken when no new request is admitted.
  for (let status = 200; status !== 503;) {
    const ready = await fetch(`${server.url}/ready`);
    await ready.body?.cancel();
    status = ready.status;
  }
  // What the second one ends before it is written is never said.
  await server.output.until(/^Draining: 1 running and 0 waiting may take 30 s.*\n/);
  server.child.kill("SIGINT");
  assertEquals((await server.child.status).code, 130);
  await reader.cancel().catch(() => {});
  assertEquals(await server.output.rest(), "");
  assertEquals(await server.errors, "");
});

const REFUSED: [args: string[], reason: RegExp][] = [
  [
    ["serve", "--model", "demo"],
    /^error: --replicas: --device cpu is one device; wanted a list of/,
  ],
  [["serve", "--device", "cuda:1"], /^error: --replicas: --device cuda:1 is one device/],
  [["serve", "--device", "cuda:0,0"], /^error: device "cuda:0,0": cuda:0 is there twice/],
  [["run", "demo", "Hello"], /^error: m40 run has no option "--replicas"; .* m40 serve has it\n/],
  [["bench", "demo"], /^error: m40 bench has no option "--replicas"; .* time each by itself/],
];

Deno.test("--replicas without a list of devices, or of a command that computes one thing at a time, is refused in words", async () => {
  await using home = await Home.make();
  await Promise.all(REFUSED.map(async ([args, reason]) => {
    const { code, stderr } = await m40(home, [...args, "--replicas"]);
    assertMatch(stderr, reason);
    assertEquals(code > 0, true);
  }));
});
