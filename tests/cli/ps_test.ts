import { assert, assertEquals, assertMatch } from "@std/assert";
import { Home } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";
import { startModels } from "../fixtures/server_models_fixture.ts";
import { MODEL, NO_END, openRequest, startServer } from "../fixtures/server_fixture.ts";
import { until } from "../fixtures/waiting.ts";

Deno.test("m40 ps: a table of running and waiting requests, and a line that sums up", async () => {
  await using home = await Home.make();
  await using server = await startServer({ contextLength: 65_536 });
  const port = ["--port", String(server.port)];
  const idle = await m40(home, ["ps", ...port]);
  assertEquals([idle.code, idle.stderr], [0, ""]);
  assertMatch(
    idle.stdout,
    /^golden: 0 running, 0 waiting; KV cache 0% \(0 of \d+ KV blocks\); prefixes: none asked for yet; 0\.0 tokens\/s\n.+ \(cpu\): [\d.]+ .iB of [\d.]+ .iB in use\n$/,
  );
  const body = { prompt: "Hello", max_tokens: 60_000, ...NO_END, stream: true };
  const clients = [await openRequest(server.port, "/v1/completions", body)];
  await until("one decodes", () => server.engine.slots()[0]?.state === "decoding");
  clients.push(await openRequest(server.port, "/v1/completions", body));
  await until("one waits", () => server.engine.status().waiting === 1);
  const { code, stdout, stderr } = await m40(home, ["ps", ...port]);
  assertEquals([code, stderr], [0, ""]);
  const [head, running, waiting, summary, device, end] = stdout.split("\n");
  assertMatch(head, /^ID +STATE +PROMPT +COMPUTED +GENERATED +BLOCKS +AGE$/);
  const { length } = server.engine.tokenizer.encode("Hello");
  assertMatch(running, new RegExp(`^ 0 +decoding +${length} +\\d+ +\\d+ +\\d+ +\\d+\\.\\d s$`));
  assertMatch(waiting, new RegExp(`^ 1 +waiting +${length} +0 +0 +0 +\\d+\\.\\d s$`));
  assertMatch(
    summary,
    /^golden: 1 running, 1 waiting; KV cache \d+% .* tokens found; [\d.]+ tokens\/s$/,
  );
  assertMatch(device, / \(cpu\): [\d.]+ .iB of [\d.]+ .iB in use$/);
  assertEquals(end, "");
  const json = JSON.parse((await m40(home, ["ps", "--json", ...port])).stdout);
  assertEquals([json.model, json.running, json.waiting], [MODEL, 1, 1]);
  assert(json.device.memory_bytes > json.device.memory_used_bytes);
  assertEquals([json.device.backend, json.device.temperature_celsius], ["cpu", undefined]);
  assert(json.slots[0].generated_tokens > 0 && json.tokens_per_second > 0);
  for (const client of clients) client.close();
});

Deno.test("m40 ps: says which models are in memory and how long they stay, or that none is", async () => {
  await using home = await Home.make();
  await using server = await startModels({ manager: { models: 2 } });
  const port = ["--port", String(server.port)];
  const none = await m40(home, ["ps", ...port]);
  assertEquals([none.code, none.stderr], [0, ""]);
  assertMatch(none.stdout, /^no model in memory: 0 running, 0 waiting; prefixes: .*tokens\/s\n$/);
  for (const [name, keep_alive] of [["llama", -1], ["qwen3", 3600]]) {
    const response = await server.post(`/v1/models/${name}/load`, { keep_alive });
    await response.body?.cancel();
  }
  const two = await m40(home, ["ps", ...port]);
  assertMatch(two.stdout, /^qwen3 \(for \d+ s\), llama: 0 running, 0 waiting; KV cache 0% /);
  const generation = server.manager.loaded()[0].engine!.generate({
    prompt: [5, 6],
    maxTokens: 100,
  });
  const table = (await m40(home, ["ps", ...port])).stdout;
  if (table.startsWith("ID")) assertMatch(table, /^ID +MODEL +STATE .*\n *0 +qwen3 /);
  generation.cancel();
});

Deno.test("m40 ps: says what to do where no server is, where a key is wanted, and where another program answers", async () => {
  await using home = await Home.make();
  const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = free.addr as Deno.NetAddr;
  free.close();
  const none = await m40(home, ["ps", "--port", String(port)]);
  assertEquals([none.code, none.stdout], [1, ""]);
  assertMatch(
    none.stderr,
    new RegExp(`^error: No server answers at http://127.0.0.1:${port}.*m40 serve`),
  );

  await using server = await startServer({ app: { apiKey: "secret" } });
  const args = ["ps", "--port", String(server.port)];
  const keyless = await m40(home, args);
  assertMatch(keyless.stderr, /--api-key.*M40_API_KEY/);
  assert(keyless.code !== 0);
  assertEquals((await m40(home, [...args, "--api-key", "secret"])).code, 0);
  assertEquals((await m40(home, args, { env: { M40_API_KEY: "secret" } })).code, 0);

  // The last letter ends with a byte that is a space in latin1.
  await using foreign = await startServer({ app: { apiKey: "clé 鍵 voilà" } });
  const ask = ["ps", "--port", String(foreign.port)];
  for (const key of ["clé 鍵 voilà", " clé 鍵 voilà "]) {
    const answered = await m40(home, [...ask, "--api-key", key]);
    assertEquals([answered.code, answered.stderr], [0, ""]);
    assertEquals((await m40(home, ask, { env: { M40_API_KEY: key } })).code, 0);
  }
  assertMatch((await m40(home, [...ask, "--api-key", "clé 鍵 voila"])).stderr, /wants its API key/);

  for (const answer of ["<html>", "{}", "null", '{"slots": 7}']) {
    await using other = Deno.serve({ port: 0, onListen() {} }, () => new Response(answer));
    const wrong = await m40(home, ["ps", "--port", String(other.addr.port)]);
    assertEquals([wrong.code, wrong.stdout], [1, ""]);
    assertMatch(wrong.stderr, /another program/);
  }
});

Deno.test("m40 ps: a line for the GPU, of what is known of it", async () => {
  await using home = await Home.make();
  await using server = await startServer();
  const slots = await (await fetch(server.url + "/slots")).json();
  const gpu = {
    name: "Tesla M40 24GB",
    backend: "cuda",
    memory_bytes: 24 * 2 ** 30,
    memory_used_bytes: 21.4 * 2 ** 30,
    temperature_celsius: 61,
    power_watts: 182.3,
    power_limit_watts: 250,
    clock_khz: 1_114_000,
    memory_clock_khz: 3_004_000,
    utilisation: 0.97,
  };
  const lines: [device: unknown, line: string][] = [
    [
      gpu,
      "Tesla M40 24GB (cuda): 21.4 GiB of 24.0 GiB in use, 61 °C, 182 of 250 W, 1114 MHz, 97% busy",
    ],
    [
      { ...gpu, power_limit_watts: undefined, temperature_celsius: 0, clock_khz: undefined },
      "Tesla M40 24GB (cuda): 21.4 GiB of 24.0 GiB in use, 0 °C, 182 W, 97% busy",
    ],
    [{ name: "a\x1b[2Jb", backend: "cuda" }, "a\\x1b[2Jb (cuda)"],
  ];
  for (const [device, line] of lines) {
    await using other = Deno.serve(
      { port: 0, onListen() {} },
      () => Response.json({ ...slots, device }),
    );
    const { stdout } = await m40(home, ["ps", "--port", String(other.addr.port)]);
    assertEquals(stdout.split("\n").at(-2), line);
  }
});
