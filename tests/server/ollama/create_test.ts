// Ollama's /api/create: models with system messages and parameters of their own.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { Shown } from "../../../server/ollama/show.ts";
import { checkOf } from "../../fixtures/fuzz_answers.ts";
import { fuzz, type Seedling } from "../../fixtures/fuzz_bodies.ts";
import { readLines, readOllamaError } from "../../fixtures/ollama_fixture.ts";
import { answerOf, type TestServer } from "../../fixtures/server_fixture.ts";
import { type ModelServer, startModels } from "../../fixtures/server_models_fixture.ts";

const TEMPLATE = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\n{% endfor %}";
const OPTIONS = {
  app: { storeChanges: true },
  engine: { chatTemplate: TEMPLATE },
  catalogue: { aliases: new Map([["taken", "llama"]]) },
};

async function create(server: ModelServer, body: Record<string, unknown>): Promise<void> {
  const response = await server.post("/api/create", { stream: false, ...body });
  assertEquals([response.status, await response.json()], [200, { status: "success" }]);
}

async function show(server: ModelServer, model: string) {
  return Shown.parse(await answerOf(server, "/api/show", { model }));
}

/** What a model answers, and how many tokens it read for it. */
async function ask(server: ModelServer, model: string): Promise<[string, number, number]> {
  const messages = [{ role: "user", content: "Hello" }];
  const response = await server.post("/api/chat", { model, messages, stream: false });
  const { message, prompt_eval_count, eval_count } = await response.json();
  return [message.content, prompt_eval_count, eval_count];
}

function names(server: ModelServer): string[] {
  return [...Deno.readDirSync(server.folder)].map(({ name }) => name)
    .filter((name) => !name.startsWith(".")).sort();
}

Deno.test("a created model has its own system message and parameters, and the files of the other one", async () => {
  await using server = await startModels(OPTIONS);
  const parameters = { temperature: 0, num_ctx: 64, seed: 5, stop: ["\n", "x"], top_k: 3 };
  const response = await server.post("/api/create", {
    model: "mario",
    from: "llama:latest",
    system: "You are Mario.",
    parameters,
    // What clients send for nothing.
    template: "",
    license: [],
    adapters: null,
  });
  const lines = await readLines(response);
  assertEquals(lines.at(-1), { status: "success" });
  assert(lines.length > 1 && lines.every(({ status }) => typeof status === "string"));
  const stat = (name: string) => Deno.stat(join(server.folder, name));
  assertEquals((await stat("mario.gguf")).ino, (await stat("llama.gguf")).ino, "no byte is copied");
  const shown = await show(server, "mario");
  assertEquals(shown.system, "You are Mario.");
  assertMatch(shown.modelfile, /^PARAMETER stop "\\n"$/m);
  assertMatch(shown.parameters, /^num_ctx +64$/m);
  const [, plain] = await ask(server, "llama");
  const [said, withSystem] = await ask(server, "mario:latest");
  assert(withSystem > plain + 5, "it gets the system prompt");
  assertEquals(await ask(server, "mario").then(([text]) => text), said, "its temperature is 0");
});

Deno.test("a model is created again of itself or of the same files: what is not said stays, in memory too", async () => {
  await using server = await startModels(OPTIONS);
  await create(server, {
    model: "a",
    from: "llama",
    system: "One.",
    parameters: { top_k: 1, seed: 4 },
  });
  const [, before] = await ask(server, "a");
  await create(server, { name: "a", from: "a", system: "One and two.", parameters: { seed: 6 } });
  const [, after] = await ask(server, "a");
  assert(after > before, "the one in memory has the new system message");
  assertMatch((await show(server, "a")).parameters, /^top_k +1\nseed +6$/m);
  await create(server, { model: "b", from: "a" });
  assertEquals((await show(server, "b")).system, "One and two.");
  await create(server, { model: "a", from: "llama", system: "Three." });
  assertEquals((await show(server, "a")).system, "Three.");
  assertEquals((await show(server, "llama")).system, undefined);
});

Deno.test("of the built-in model too, again and again", async () => {
  await using server = await startModels(OPTIONS);
  for (const system of ["One.", "Two."]) {
    await create(server, { model: "teller", from: "demo", system });
  }
  assertEquals((await show(server, "teller")).system, "Two.");
});

Deno.test("the model's own template may come back; any other is refused with what to do", async () => {
  await using server = await startModels(OPTIONS);
  const { template } = await show(server, "demo");
  assert(template.includes("{%"), template);
  await create(server, { model: "a", from: "demo", template });
  const other = await server.post("/api/create", {
    model: "b",
    from: "demo",
    template: "{{ .Prompt }}",
  });
  assertMatch(await readOllamaError(other, 400), /Go's template language.*chat-template/);
  assertEquals(names(server).filter((name) => name.startsWith("b.")), []);
});

Deno.test("what cannot be made is refused in words, and changes nothing on disk", async () => {
  await using server = await startModels(OPTIONS);
  const before = names(server);
  const ok = { model: "new", from: "llama", stream: false };
  const cases: [Record<string, unknown>, number, RegExp][] = [
    [{ from: "llama" }, 400, /^model: wanted the name/],
    [{ model: "new" }, 400, /^from: wanted the name of a model/],
    [{ ...ok, from: "nope" }, 404, /nope/],
    [{ ...ok, from: join(server.folder, "llama.gguf") }, 404, /no model/],
    [{ ...ok, from: "../llama" }, 404, /no model/],
    [{ ...ok, model: "../new" }, 400, /cannot be the name/],
    [{ ...ok, model: "a/b" }, 400, /path separator/],
    [{ ...ok, model: "demo" }, 400, /built-in/],
    [{ ...ok, model: "taken" }, 400, /name that the server was started with/],
    [{ ...ok, model: "qwen3" }, 400, /another one than/],
    [{ ...ok, system: 5 }, 400, /^system: wanted a string/],
    [{ ...ok, system: "a".repeat(2 ** 20 + 1) }, 400, /^system: it has 1048577/],
    [{ ...ok, parameters: [] }, 400, /^parameters: wanted an object/],
    [{ ...ok, parameters: { temperature: "hot" } }, 400, /temperature.*wanted a number/],
    [{ ...ok, parameters: { temperature: -1 } }, 400, /temperature/],
    [{ ...ok, parameters: { "a b": 1 } }, 400, /cannot be a parameter's name/],
    [{ ...ok, parameters: { nope: 1 } }, 400, /nope.*nothing like it/],
    [{ ...ok, parameters: { top_k: {} } }, 400, /top_k/],
    [{ ...ok, parameters: { stop: Array(17).fill("a") } }, 400, /stop.*first 16/],
    [{ ...ok, parameters: { num_ctx: 0.5 } }, 400, /num_ctx.*number of tokens/],
    [{ ...ok, files: { "a.gguf": "sha256:00" } }, 400, /^files:.*not supported/],
    [{ ...ok, adapters: { a: "b" } }, 400, /^adapters/],
    [{ ...ok, messages: [{ role: "user", content: "a" }] }, 400, /^messages/],
    [{ ...ok, license: "MIT" }, 400, /^license/],
    [{ ...ok, quantize: "q4_K_M" }, 400, /^quantize.*pull/],
    [{ ...ok, modelfile: "FROM llama" }, 400, /^modelfile.*from, system/],
    [{ ...ok, path: "/etc/passwd" }, 400, /^path/],
  ];
  for (const [body, status, wanted] of cases) {
    const error = await readOllamaError(await server.post("/api/create", body), status);
    assertMatch(error, wanted, JSON.stringify(body).slice(0, 100));
    assert(
      !error.includes(server.folder) || body.from === join(server.folder, "llama.gguf"),
      error,
    );
  }
  // What is found out later is the last line of the stream.
  const late = await readLines(await server.post("/api/create", { model: "qwen3", from: "llama" }));
  assertMatch(late.at(-1).error, /another one than/);
  assertEquals(names(server), before);
});

Deno.test("without --allow-store-changes, and for a web page, nothing is made", async () => {
  const body = { model: "new", from: "llama" };
  {
    await using server = await startModels();
    assertMatch(
      await readOllamaError(await server.post("/api/create", body), 403),
      /--allow-store-changes/,
    );
  }
  await using server = await startModels(OPTIONS);
  const page = await server.post("/api/create", body, {
    headers: { origin: "https://example.com" },
  });
  await page.body?.cancel();
  assertEquals(page.status, 403);
  assertEquals(names(server).includes("new.gguf"), false);
});

Deno.test("several creations of one name at once wait for each other", async () => {
  await using server = await startModels(OPTIONS);
  const body = (system: string) => ({ model: "a", from: "llama", system });
  await Promise.all(["1", "2", "3", "4", "5", "6"].map((system) => create(server, body(system))));
  assertMatch((await show(server, "a")).system!, /^[1-6]$/);
});

const CASES = Math.ceil(Number(Deno.env.get("M40_FUZZ_CASES") ?? 4000) / 8);

Deno.test(`fuzz: ${CASES} mutated bodies of /api/create are answered, and make nothing but models in the folder`, async () => {
  await using server = await startModels({ ...OPTIONS, main: "llama" });
  await answerOf(server, "/api/generate", { model: "llama", keep_alive: -1 });
  const { engine } = server.manager.loaded()[0];
  const right = {
    model: "made",
    from: "llama",
    system: "Be brief.",
    template: "",
    parameters: { temperature: 0.5, stop: ["a"], num_ctx: 64, seed: 3 },
  };
  const seedlings: Seedling[] = [
    ["/api/create", right],
    ["/api/create", { ...right, from: "nobody" }],
    ["/api/create", { ...right, name: "made:b", stream: false, license: [], files: {} }],
  ];
  const check = checkOf({
    refusals: [400, 404],
    mostCharacters: 1499,
    async readRefusal(response, status) {
      const error = await readOllamaError(response, status);
      assert(!error.includes("/tmp/"), error);
      return error;
    },
    async readAnswer(response) {
      if (response.headers.get("content-type") === "application/x-ndjson") {
        const last = (await readLines(response)).at(-1);
        assert(last.status === "success" || typeof last.error === "string", JSON.stringify(last));
      } else assertEquals(await response.json(), { status: "success" });
    },
  });
  const names = [
    "../made",
    "made/b",
    "made.gguf",
    "demo",
    "qwen3",
    "a:b:c",
    "llama:latest",
    ".made",
  ];
  const values = [...names, { temperature: -1 }, { stop: [1] }, { "": 1 }, { num_ctx: "64" }];
  const asked = { ...server, engine: engine! };
  await fuzz(asked as unknown as TestServer, seedlings, check, values, CASES);
  for (const { name, isDirectory } of Deno.readDirSync(server.folder)) {
    assert(isDirectory || /^[A-Za-z0-9][\w.:-]*\.(gguf|json)$/.test(name), name);
  }
});
