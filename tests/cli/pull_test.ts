// `m40 pull` and what pulls by itself, as processes, from a local server.
import { assertEquals, assertLess, assertMatch, assertNotMatch } from "@std/assert";
import { join } from "@std/path";
import { aliases } from "../../engine/store/sources/aliases.ts";
import { Home, startM40, Watched } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";
import { smallModel } from "../fixtures/pull_fixture.ts";
import { content, PullServer } from "../fixtures/pull_server.ts";

const NAME = "hf.co/someone/Tiny-GGUF";

async function serverWithModel(): Promise<PullServer> {
  const server = new PullServer();
  server.repositories.set("someone/Tiny-GGUF", { files: { "Tiny-Q8_0.gguf": await smallModel() } });
  return server;
}

Deno.test("m40 pull fetches, says so in a line, and the model can be listed and run", async () => {
  await using home = await Home.make();
  await using server = await serverWithModel();
  const { env } = server;
  const first = await m40(home, ["pull", NAME], { env });
  assertEquals(first.code, 0, first.stderr);
  assertMatch(first.stdout, /^Tiny:Q8_0 is there \(547\.\d KiB\)\.\n$/);
  assertMatch(first.stderr, /^hf\.co\/someone\/Tiny-GGUF:Q8_0, 547\.\d KiB, as Tiny:Q8_0\n/);
  const again = await m40(home, ["pull", NAME], { env });
  assertMatch(again.stdout, /is there already, and what its source has/);
  assertEquals(again.stderr, "");
  assertMatch((await m40(home, ["list"])).stdout, /^Tiny:Q8_0 /m);
  const run = await m40(home, ["run", "Tiny:Q8_0", "--raw", "--max-tokens", "3", "a"]);
  assertEquals(run.code, 0, run.stderr);
});

Deno.test("m40 pull --json writes a line for each thing that happens, the last one the result", async () => {
  await using home = await Home.make();
  await using server = await serverWithModel();
  const { code, stdout } = await m40(home, ["pull", NAME, "--json"], { env: server.env });
  assertEquals(code, 0);
  const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  const { size, sha256 } = await smallModel();
  const source = `${NAME}:Q8_0`;
  assertEquals(lines[0], {
    status: "fetching",
    name: "Tiny:Q8_0",
    source,
    files: 1,
    total_bytes: size,
  });
  assertEquals(lines.at(-1), {
    status: "done",
    name: "Tiny:Q8_0",
    source,
    outcome: "fetched",
    files: [{ name: "Tiny:Q8_0.gguf", bytes: size, sha256 }],
  });
});

Deno.test("m40 pull --list shows every alias; without a name the command is not understood", async () => {
  await using home = await Home.make();
  const { stdout } = await m40(home, ["pull", "--list"]);
  for (const { names } of aliases) assertMatch(stdout, new RegExp(`^${names[0]} `, "m"));
  const json = JSON.parse((await m40(home, ["pull", "--list", "--json"])).stdout);
  assertEquals(json.map(({ names }: { names: string[] }) => names), aliases.map((a) => a.names));
  const none = await m40(home, ["pull"]);
  assertEquals(none.code, 2);
  assertMatch(none.stderr, /NAME is missing.*--list/);
  const unknown = await m40(home, ["pull", "mistrall"]);
  assertEquals(unknown.code, 1);
  assertMatch(unknown.stderr, /no alias "mistrall"\. Did you mean mistral, /);
});

Deno.test("a model that is not there is fetched with --pull, else the error says how; later no server is asked", async () => {
  await using home = await Home.make();
  const prompt = ["--raw", "--max-tokens", "3", "--temperature", "0", "a"];
  let env: Record<string, string>;
  let answer: string;
  {
    await using server = await serverWithModel();
    env = server.env;
    const without = await m40(home, ["run", NAME, ...prompt], { env });
    assertEquals(without.code, 1);
    assertMatch(
      without.stderr,
      /no model .* here\. `m40 pull hf\.co\/someone\/Tiny-GGUF` fetches it/,
    );
    assertEquals(server.asked, []);
    const alias = await m40(home, ["run", "mistral", ...prompt], { env });
    assertMatch(
      alias.stderr,
      /`m40 pull mistral` fetches it \(about 4\.1 GiB\), and so does --pull/,
    );
    const fetched = await m40(home, ["run", NAME, "--pull", ...prompt], { env });
    assertEquals(fetched.code, 0, fetched.stderr);
    assertMatch(fetched.stderr, /Tiny:Q8_0 is there/);
    answer = fetched.stdout;
    assertNotMatch(answer, /is there/);
  }
  // The server is gone.
  for (const name of [NAME, `${NAME}:q8_0`, "Tiny:Q8_0"]) {
    const offline = await m40(home, ["run", name, ...prompt], { env });
    assertEquals(offline.code, 0, offline.stderr);
    assertEquals(offline.stdout, answer);
  }
  const nonsense = await m40(home, ["run", "no-such-thing", ...prompt], { env });
  assertMatch(nonsense.stderr, /There is no model "no-such-thing"/);
  const path = await m40(home, ["run", "./none.gguf", "--pull", ...prompt], { env });
  assertMatch(path.stderr, /There is no file \.\/none\.gguf/);
});

Deno.test("m40 pull goes on after Ctrl-C where it was, and two at once do not disturb each other", async () => {
  await using home = await Home.make();
  await using server = new PullServer();
  // Data behind the last tensor is a file's own business.
  const { bytes } = await smallModel();
  const model = content(new Uint8Array(6_000_000));
  model.bytes.set(bytes);
  const sized = content(model.bytes);
  server.repositories.set("a/Big-GGUF", { files: { "Big-Q8_0.gguf": sized } });
  server.bytesPerSecond = 1_500_000;
  const args = ["pull", "hf.co/a/Big-GGUF", "--json"];
  const child = startM40(home, args, server.env);
  const output = new Watched(child.stdout);
  await output.until(/"done_bytes":[1-9]\d{5,}/);
  const second = await m40(home, args, { env: server.env });
  assertEquals(second.code, 1);
  assertMatch(second.stderr, /is being fetched, copied or removed already by process \d+/);
  child.kill("SIGINT");
  await output.until(/"status":"interrupted"/);
  assertEquals((await child.status).code, 130);
  await output.rest();
  await Promise.all([child.stdin.close(), child.stderr.cancel()]);
  assertMatch((await m40(home, ["list"])).stdout, /^(?!.*Big)/s);

  server.bytesPerSecond = Infinity;
  server.asked.length = 0;
  const { code, stdout } = await m40(home, args, { env: server.env });
  assertEquals(code, 0);
  const [, first] = stdout.split("\n").map((line) => line && JSON.parse(line));
  assertLess(100_000, first.done_bytes, "it started again");
  assertEquals(await Deno.readFile(join(home.models, "Big:Q8_0.gguf")), sized.bytes);
});

Deno.test("m40 pull goes by the proxy, and is not led into this network from outside", async () => {
  await using home = await Home.make();
  await using server = await serverWithModel();
  const env = { HF_ENDPOINT: "http://hub.example", HTTP_PROXY: server.origin };
  const inside = await m40(home, ["pull", NAME], { env });
  assertEquals(inside.code, 1);
  assertMatch(inside.stderr, /redirects to .*127\.0\.0\.1.*this machine or its network/);
  server.cdnOrigin = "http://cdn.example";
  const { code, stdout, stderr } = await m40(home, ["pull", NAME], { env });
  assertEquals(code, 0, stderr);
  assertMatch(stdout, /^Tiny:Q8_0 is there/);
});
