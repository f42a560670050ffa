// m40.toml: what m40 serve reads of it, and how it says what is wrong.
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { parseConfig } from "../../cli/config/config.ts";
import { lineOf } from "../../cli/config/key_lines.ts";
import { M40Error } from "../../engine/errors.ts";
import { Home, m40, startServe, TINY } from "../fixtures/cli_program.ts";
import { NO_END } from "../fixtures/server_fixture.ts";

/** The message about a wrong configuration. */
function complaint(text: string): string {
  const error = assertThrows(() => parseConfig(text, "/etc/m40.toml"), M40Error);
  assertEquals(error.code, "invalid_request");
  return error.message;
}

Deno.test("a configuration is read: options by their names on the command line, models, aliases, paths next to it", () => {
  const { server, models, aliases } = parseConfig(
    `
    [server]
    port = 8080
    models = 2
    keep-alive = "5m"
    idle-unload = 600
    cors = ["https://a.example", "http://b.example:80"]
    kv-type = "q8_0"
    only = true

    [models."qwen3:8b"]
    ctx = 8192
    keep-alive = -1
    chat-template = "chatml"
    [models."qwen3:8b".sampling]
    temperature = 0
    top-p = 0.9
    dry-sequence-breaker = ["a", "b"]
    ignore-eos = false
    seed = "9007199254740993"

    [models.own]
    file = "models/own.gguf"
    chat-template = "own.jinja"
    system = "Be brief."
    stop = ["###"]
    device = "cuda:1"

    [models.other]
    model = "qwen3:8b"
    parallel = 2
    replicas = true
    arithmetic = "packed"

    [aliases]
    "gpt-4o" = "own"
    `,
    "/etc/m40/m40.toml",
  );
  assertEquals(server, {
    port: 8080,
    models: 2,
    "keep-alive": 300_000,
    "idle-unload": 600,
    cors: ["https://a.example", "http://b.example"],
    "kv-type": "q8_0",
    only: true,
  });
  assertEquals([...models], [
    ["qwen3:8b", {
      place: undefined,
      options: { ctx: 8192, "keep-alive": Infinity, "chat-template": "chatml" },
      defaults: {
        sampling: {
          temperature: 0,
          topP: 0.9,
          drySequenceBreakers: ["a", "b"],
          ignoreEos: false,
          seed: 9007199254740993n,
        },
      },
    }],
    ["own", {
      place: "/etc/m40/models/own.gguf",
      options: { "chat-template": "/etc/m40/own.jinja", device: "cuda:1" },
      defaults: { system: "Be brief.", stop: ["###"] },
    }],
    ["other", {
      place: "qwen3:8b",
      options: { parallel: 2, replicas: true, arithmetic: "packed" },
      defaults: {},
    }],
  ]);
  assertEquals([...aliases], [["gpt-4o", "own"]]);
  const nothing = parseConfig("", "/m40.toml");
  assertEquals([nothing.server, nothing.models.size, nothing.aliases.size], [{}, 0, 0]);
});

Deno.test("what is wrong in a configuration is said with its line, what was got and what was wanted", () => {
  assertMatch(
    complaint("[server]\nprot = 1"),
    /^\/etc\/m40\.toml:2: server\.prot: .*did you mean port\?/,
  );
  assertMatch(
    complaint("[servers]\nport = 1"),
    /^\/etc\/m40\.toml:1: servers: .*did you mean server\?/,
  );
  assertMatch(
    complaint("# one\n[models.a]\n\nctx = 'big'"),
    /^\/etc\/m40\.toml:4: models\.a\.ctx: got "big", wanted a whole number from 1 to/,
  );
  assertMatch(
    complaint("[models.a]\nkv_type = 'f16'"),
    /:2: models\.a\.kv_type: .*did you mean kv-type\?/,
  );
  assertMatch(
    complaint("[server]\nport = '80'"),
    /:2: server\.port: got "80", wanted a whole number/,
  );
  assertMatch(complaint("[server]\nport = 1.5"), /:2: server\.port: got 1\.5, wanted/);
  assertMatch(complaint("[server]\nhost = 7"), /:2: server\.host: got 7, wanted a text/);
  assertMatch(
    complaint("[server]\nonly = 'yes'"),
    /:2: server\.only: got "yes", wanted true or false/,
  );
  assertMatch(complaint("[server]\nconfig = 'x'"), /server\.config: there is no such key/);
  assertMatch(complaint("[server]\nkeep-alive = 'soon'"), /wanted seconds or a time such as "5m"/);
  assertMatch(complaint("[server]\ncors = ['*', 7]"), /:2: server\.cors: got 7, wanted/);
  assertMatch(complaint("[server]\nport = 1979-05-27"), /server\.port: got a date/);
  assertMatch(complaint("server = 7"), /:1: server: got 7, wanted a table/);
  assertMatch(complaint("[models]\na = 7"), /:2: models\.a: got 7, wanted a table/);
  assertMatch(complaint("[models.'../a']\nctx = 7"), /:1: models\."\.\.\/a": a model's name has/);
  assertMatch(complaint("[models.a]\nfile = 'a'\nmodel = 'b'"), /:3: models\.a\.model: .*not both/);
  assertMatch(
    complaint("[models.a.sampling]\ntemperature = 300"),
    /:2: models\.a\.sampling\.temperature: got 300, wanted a number from 0 to 100/,
  );
  assertMatch(complaint("[models.a.sampling]\ntop_k = 3"), /did you mean top-k\?/);
  assertMatch(complaint("[aliases]\na = 'b'\nb = 'c'"), /:2: aliases\.a: "b" is an alias itself/);
  assertMatch(
    complaint("[models.a]\nctx = 1\n[aliases]\na = 'b'"),
    /:4: aliases\.a: there is a model/,
  );
  assertMatch(complaint("[aliases]\na = ''"), /:2: aliases\.a: got "", wanted a text/);
  assertMatch(complaint("[server]\n\nport = [1, 2"), /^\/etc\/m40\.toml:\d+: /);
  assertMatch(
    complaint("[server]\nport = 1\n[server]\nport = 2"),
    /^\/etc\/m40\.toml:\d: .*a table may be there only once/,
  );
  assertMatch(complaint("[server]\nport = "), /^\/etc\/m40\.toml:2: /);
});

Deno.test("a list of nothing is a value of its own", () => {
  const text = "[models.a]\nstop = []\n[models.a.sampling]\ndry-sequence-breaker = []";
  const { defaults } = parseConfig(text, "/m40.toml").models.get("a")!;
  assertEquals(defaults, { stop: [], sampling: { drySequenceBreakers: [] } });
});

Deno.test("a whole number that has lost digits is refused where each of them counts", () => {
  const lost = /: got a whole number beyond 2\^53, .*; wanted it in quotes\.$/;
  for (const key of ["[models.a.sampling]\nseed", "[models.a.override]\nx"]) {
    assertMatch(complaint(`${key} = 9007199254740993`), lost, key);
    assertMatch(complaint(`${key} = 0x20000000000001`), lost, key);
  }
  assertMatch(complaint("[models.a.override]\nx = [1, 18446744073709551615]"), lost);
  const { override } = parseConfig('[models.a.override]\nx = 1.5e9\ny = "9007199254740993"', "/m")
    .models.get("a")!.options;
  assertEquals(override!.map(({ value }) => value), ["1500000000", "9007199254740993"]);
});

Deno.test("a key __proto__ is refused wherever it stands, and is a text like any other elsewhere", () => {
  for (
    const [text, place] of [
      ["__proto__ = 1", "1: __proto__"],
      ["[server]\nport = 1\n__proto__ = 1", "3: server\\.__proto__"],
      ["[server]\n__proto__.port = 1", "1: server\\.__proto__"],
      ["server = { __proto__ = { port = 3 } }", "1: server\\.__proto__"],
      ['[aliases]\n"__proto__" = "a"', "2: aliases\\.__proto__"],
      ["[models.__proto__]\nctx = 1", "1: models\\.__proto__"],
    ]
  ) {
    assertMatch(
      complaint(text),
      new RegExp(`^/etc/m40\\.toml:${place}: there is no such key`),
      text,
    );
  }
  const { models } = parseConfig(
    '[models.a] # __proto__ = 1\nsystem = "__proto__ = 1"',
    "/m40.toml",
  );
  assertEquals(models.get("a")!.defaults, { system: "__proto__ = 1" });
});

Deno.test("the line of a key is found behind any table, quoted or not, and else that of the table", () => {
  const text = '[a]\nx = 1\n[b."c d"]\nx = 2\n  "y z" = 3 # x = 4\n[e]\nf.g = 5\n';
  const cases: [string[], number | undefined][] = [
    [["a", "x"], 2],
    [["b", "c d", "x"], 4],
    [["b", "c d", "y z"], 5],
    [["e", "f", "g"], 7],
    [["a", "other"], 1],
    [["nothing"], undefined],
  ];
  for (const [path, line] of cases) assertEquals(lineOf(text, path), line, path.join("."));
});

/** Starts `m40 serve` with a configuration and waits until it listens. */
async function startConfigured(home: Home, args: string[], env: Record<string, string> = {}) {
  // Not startM40's --device, which would go before the file.
  const server = await startServe(home, [...args, "--device", "cpu"], env);
  const { child, output, errors, before, url } = server;
  const post = async (path: string, body: unknown) => {
    const response = await server.post(path, body);
    return { status: response.status, body: await response.json() };
  };
  const get = async (path: string) => await (await fetch(url + path)).json();
  const end = async () => {
    child.kill("SIGTERM");
    const rest = await output.rest();
    assertEquals([(await child.status).code, await errors], [0, ""]);
    return rest;
  };
  return { before, url, post, get, end };
}

const CONFIG = `
[server]
port = 0
threads = 1
keep-alive = "1h"

[models.small]
file = "tiny.gguf"
ctx = 64
keep-alive = 0
[models.small.sampling]
temperature = 0

[aliases]
gpt-4 = "small"
`;

Deno.test("m40 serve: a ctx in m40.toml that is impossible is reported at the start, not to a client", async () => {
  await using home = await Home.make();
  const path = join(home.path, "m40.toml");
  const large =
    '[models.small]\nfile = "tiny.gguf"\nctx = 129\n[models.none]\nfile = "none.gguf"\nctx = 9999\n';
  await Deno.writeTextFile(path, large);
  await Deno.copyFile(TINY, join(home.path, "tiny.gguf"));
  const { code, stderr } = await m40(home, ["serve", "--config", path, "--port", "0"]);
  assertEquals(code, 2);
  assertMatch(stderr, /m40\.toml: models\.small\.ctx: a context of 129 tokens .* trained for 128/);
  // The command line goes before the file, and a file that is not there is said when it is asked for.
  const server = await startConfigured(home, ["--config", path, "--ctx", "32"]);
  await server.end();
});

Deno.test("m40 serve: takes m40.toml from where it is looked for; the command line goes before it", async () => {
  await using home = await Home.make();
  await Deno.mkdir(join(home.path, ".config/m40"), { recursive: true });
  await Deno.mkdir(join(home.path, "xdg/m40"), { recursive: true });
  await Deno.copyFile(TINY, join(home.models, "other.gguf"));
  const places: [string, string[], Record<string, string>][] = [
    ["named", ["--config", "named/m40.toml"], { M40_CONFIG: "missing.toml" }],
    ["environment", [], {
      M40_CONFIG: "environment/m40.toml",
      XDG_CONFIG_HOME: `${home.path}/xdg`,
    }],
    ["xdg/m40", [], { XDG_CONFIG_HOME: `${home.path}/xdg` }],
    [".config/m40", [], {}],
  ];
  for (const [folder, args, env] of places) {
    await Deno.mkdir(join(home.path, folder), { recursive: true });
    await Deno.writeTextFile(join(home.path, folder, "m40.toml"), CONFIG);
    await Deno.copyFile(TINY, join(home.path, folder, "tiny.gguf"));
    const server = await startConfigured(home, args, env);
    assertMatch(
      server.before,
      new RegExp(`^Config +\\S*${folder.replace(".", "\\.")}/m40\\.toml\\n`),
    );
    assertMatch(server.before, /Models +loaded when they are asked for\n/);
    assertEquals(
      (await server.get("/v1/models")).data.map(({ id }: { id: string }) => id),
      ["small", "demo", "other", "gpt-4"],
    );
    assertMatch(await server.end(), /^Closed\.\n$/);
  }
  const server = await startConfigured(home, ["--model", "gpt-4", "--ctx", "32"]);
  assertMatch(server.before, /Context +32 tokens/);
  const request = { model: "gpt-4", prompt: "hello", max_tokens: 8, ...NO_END };
  const [one, two] = [
    await server.post("/v1/completions", { ...request, temperature: undefined }),
    await server.post("/v1/completions", request),
  ];
  assertEquals([one.status, one.body.model], [200, "small"]);
  assertEquals(one.body.choices[0].text, two.body.choices[0].text, "the file's temperature is 0");
  const other = await server.post("/v1/completions", { ...request, model: "other" });
  assertEquals([other.status, other.body.model], [200, "other"]);
  const { data } = await server.get("/v1/models");
  assertEquals([data[0].id, data[0].state, data[0].context_length], ["other", "loaded", 32]);
  assert(data[0].expires_in_seconds > 3500, "what the file says of all models");
  const said = await server.end();
  assertMatch(
    said,
    /Unloaded small: it was unused\n[^]*Loaded +other \(llama 138K F32\).*\nClosed\.\n$/,
  );
});

Deno.test("m40 serve: only = true serves the models of the file alone", async () => {
  await using home = await Home.make();
  await Deno.copyFile(TINY, join(home.models, "tiny.gguf"));
  await Deno.copyFile(TINY, join(home.models, "other.gguf"));
  await Deno.writeTextFile(
    join(home.path, "m.toml"),
    "[server]\nport = 0\nonly = true\n[models.tiny]\n",
  );
  const server = await startConfigured(home, ["--config", "m.toml"]);
  assertEquals((await server.get("/v1/models")).data.length, 1);
  assertEquals((await server.post("/v1/completions", { model: "other", prompt: "a" })).status, 404);
  assertEquals(
    (await server.post("/v1/completions", { prompt: "a", max_tokens: 1 })).body.model,
    "tiny",
  );
  await server.end();
});

Deno.test("m40 serve: a damaged model is reported by its name, to clients without its folder, and costs no other", async () => {
  await using home = await Home.make();
  await Deno.copyFile(TINY, join(home.models, "tiny.gguf"));
  await Deno.writeTextFile(join(home.models, "bad.gguf"), "GGUF, but no more");
  const server = await startServe(home, ["--model", "tiny", "--port", "0"]);
  const { child, output, errors, url } = server;
  const response = await server.post("/v1/completions", { model: "bad", prompt: "a" });
  const { error } = await response.json();
  assertEquals([response.status, error.code], [500, "invalid_model"]);
  assertMatch(error.message, /^bad: /);
  assert(!error.message.includes(home.path), error.message);
  const { data } = await (await fetch(`${url}/v1/models`)).json();
  assertEquals([data[0].id, data[0].state], ["tiny", "loaded"]);
  child.kill("SIGTERM");
  assertMatch(await output.rest(), /^Closed\.\n$/);
  assertMatch(await errors, /^warning: bad cannot be loaded: bad: .*\n$/);
  assertEquals((await child.status).code, 0);
});

Deno.test("m40 serve: a configuration that is missing or wrong starts no server", async () => {
  await using home = await Home.make();
  const missing = await m40(home, ["serve", "--config", "nope.toml"]);
  assertEquals([missing.code, missing.stdout], [1, ""]);
  assertMatch(missing.stderr, /^error: The configuration nope\.toml cannot be read: /);
  await Deno.writeTextFile(join(home.path, "m.toml"), "[server]\nport = 0\nmodle = 'x'\n");
  const wrong = await m40(home, ["serve", "--config", "m.toml"]);
  assertEquals([wrong.code, wrong.stdout], [2, ""]);
  assertMatch(
    wrong.stderr,
    /^error: m\.toml:3: server\.modle: there is no such key; did you mean model\?/,
  );
});
