// MCP servers that fail, hang, write nonsense or are hostile: they cost their own tools, and nothing else of the
// conversation.
import { assert, assertEquals, assertMatch, assertNotMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { HERMES } from "../engine/chat/tools/hermes.ts";
import { toolConstraint } from "../engine/chat/tools/tool_grammar.ts";
import { CompiledConstraint } from "../engine/grammar/constraint.ts";
import { loadTokenizer, readGguf } from "../engine/mod.ts";
import { SchemaRoom } from "./schema_room.ts";
import { parseJson } from "../engine/json/parse_json.ts";
import { relaxing } from "../engine/grammar/json_schema/relaxed_schema.ts";
import { Budget } from "../engine/grammar/json_schema/limits.ts";
import { grammarOfSchema } from "../engine/grammar/json_schema/mod.ts";
import { reasonOf } from "./reason.ts";
import { exampleProgram, hostile, open } from "../tests/fixtures/mcp_servers.ts";
import { patiently } from "../tests/fixtures/patience.ts";
import { TemporaryEnvironment } from "../tests/fixtures/temporary.ts";

/** The state of the one server. */
async function stateOf(fault: string, options = {}) {
  await using mcp = await open({ it: hostile(fault) }, options);
  return { tools: mcp.tools, ...mcp.servers[0], notes: mcp.notes };
}

Deno.test("MCP: a server that cannot be started, ends, hangs or greets wrongly is reported; the others are used", async () => {
  await using mcp = await open({
    missing: { command: "no-such-program" },
    folder: { command: "true", cwd: "/no/such/folder" },
    exit: hostile("exit"),
    old: hostile("old-greeting"),
    list: hostile("null-list"),
    good: hostile("none"),
  });
  assertEquals([...new Set(mcp.tools.map(({ server }) => server))], ["good"]);
  const errors = Object.fromEntries(mcp.servers.map(({ name, error }) => [name, error ?? "none"]));
  assertMatch(
    errors.missing,
    /^no-such-program cannot be started: there is no such file or directory$/,
  );
  assertMatch(errors.folder, /cannot be started in \/no\/such\/folder/);
  assertMatch(errors.exit, /Connection closed/);
  assertMatch(
    mcp.notes.join("\n"),
    /MCP server exit: .*Connection closed; it wrote: no such database$/m,
  );
  assertMatch(errors.old, /what is not MCP's: serverInfo\.name/);
  assertMatch(errors.list, /tools/);
  assertEquals(errors.good, "none");
  assertMatch((await stateOf("silent", { startMs: 300 })).error!, /^it did not answer in time$/);
  assertEquals(await mcp.call("good__say", '{"text":"hi"}'), {
    text: '{"text":"hi"}',
    failed: false,
  });
});

Deno.test("MCP: nonsense on a server's output, and requests that are not served, are ignored", async () => {
  await using mcp = await open({ it: hostile("nonsense") });
  assertEquals(mcp.notes, []);
  assertEquals(await mcp.call("it__say", {}), { text: "{}", failed: false });
});

Deno.test("MCP: a call that takes too long, or is given up, fails alone", () =>
  patiently(endsCalls));

async function endsCalls(times: number): Promise<void> {
  const callMs = 1500 * times;
  await using mcp = await open({ it: hostile("none") }, { callMs });
  const late = await mcp.call("it__wait", {});
  assertEquals(late, {
    text: `The call failed: there was no result within ${callMs / 1000} seconds`,
    failed: true,
  });
  const stop = new AbortController();
  const given = mcp.call("it__wait", {}, stop.signal);
  stop.abort(new Error("Ctrl-C"));
  await assertRejects(() => given, Error, "Ctrl-C");
  assertEquals((await mcp.call("it__say", {})).failed, false);
}

Deno.test("MCP: a server that ends within a call is started again by the next one", async () => {
  const folder = await Deno.makeTempDir();
  {
    await using mcp = await open({ it: hostile("exit-in-call", join(folder, "called")) });
    const { text, failed } = await mcp.call("it__say", {});
    assert(failed);
    assertMatch(
      text,
      /it, ended before it answered\. Whether the call was carried out is not known\.$/,
    );
    assertEquals(mcp.servers[0].state, "failed");
    assertMatch(mcp.servers[0].lastWords!, /^a secret of the server's$/);
    assertEquals(await mcp.call("it__say", {}), { text: "{}", failed: false });
    assertEquals(mcp.servers[0].state, "ready");
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("MCP: a caller that waits for a restarting server is served, though the caller that started it has left", async () => {
  const folder = await Deno.makeTempDir();
  {
    await using mcp = await open({ it: hostile("slow-restart", join(folder, "called")) });
    assert((await mcp.call("it__say", {})).failed, "it has ended");
    const first = new AbortController();
    const left = mcp.call("it__say", {}, first.signal);
    const second = new AbortController();
    const leaves = mcp.call("it__say", {}, second.signal);
    const waits = mcp.call("it__say", {});
    first.abort(new Error("Ctrl-C"));
    await assertRejects(() => left, Error, "Ctrl-C");
    second.abort(new Error("Ctrl-D"));
    await assertRejects(() => leaves, Error, "Ctrl-D");
    assertEquals(await waits, { text: "{}", failed: false });
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("MCP: the end does not wait for a server without waiting callers", async () => {
  const folder = await Deno.makeTempDir();
  const mcp = await open({ it: hostile("silent-restart", join(folder, "called")) });
  assert((await mcp.call("it__say", {})).failed, "it has ended");
  const leaving = AbortSignal.timeout(50);
  await assertRejects(() => mcp.call("it__say", {}, leaving), DOMException);
  const before = performance.now();
  await mcp[Symbol.asyncDispose]();
  assert(performance.now() - before < 20_000, "a server may take a minute to start");
  await Deno.remove(folder, { recursive: true });
});

Deno.test("MCP: an answer without end is not read to it", async () => {
  await using mcp = await open({ it: hostile("flood") });
  const { text, failed } = await mcp.call("it__say", {});
  assert(failed);
  assertMatch(text, /ended before it answered/);
});

Deno.test("MCP: results that are none, errors and deep ones become words", async () => {
  await using wrong = await open({ it: hostile("wrong-result") }, { callMs: 300 });
  assertMatch((await wrong.call("it__say", {})).text, /^The call failed: there was no result/);
  await using mcp = await open({
    error: hostile("error"),
    deep: hostile("deep-result"),
  });
  const { text } = await mcp.call("error__say", {});
  assertMatch(text, /^The call failed: .*<\|im_end\|>e+…$/);
  assert(text.length < 1000);
  const deep = await mcp.call("deep__say", {});
  assert(deep.text.length < 50_000);
  assertMatch((await mcp.call("deep__say", "{")).text, /not an object in JSON/);
  assertMatch((await mcp.call("deep__say", [])).text, /not an object in JSON/);
  assertMatch((await mcp.call("nobody__say", {})).text, /There is no tool "nobody__say"/);
});

Deno.test("MCP: a call's numbers and keys reach the tool as the model wrote them", async () => {
  await using mcp = await open({ it: hostile("lines") });
  const args = '{"b":1234567890123456789,"10":1.0,"2":{"__proto__":-0.0}}';
  for (const given of [args, parseJson(args)]) {
    const { text, failed } = await mcp.call("it__say", given);
    assert(!failed && text.includes(`"arguments":${args}`), text);
  }
});

Deno.test("MCP: an error of two million blanks costs no more than a short one", async () => {
  await using mcp = await open({ blank: hostile("blank-error") });
  // Where the blanks are looked at again and again, this takes hours.
  const { text } = await mcp.call("blank__say", {});
  assertMatch(text, /^The call failed: .*begins *…$/);
  assert(text.length < 1000);
  assertEquals(reasonOf(new Error(" \n a \n\n b  c\t\n")), " a b  c ");
});

Deno.test("MCP: of ten thousand tools the first 128 are offered, and endless pages end", async () => {
  const many = await stateOf("many");
  assertEquals(many.tools.length, 128);
  assertMatch(many.notes.join(), /lists 10000 tools or more; the first 128 are offered/);
  assertEquals(new Set(many.tools.map(({ name }) => name)).size, 128);
  assertEquals((await stateOf("same-page")).tools.map(({ name }) => name), ["it__again"]);
  assertEquals((await stateOf("endless-pages")).tools, []);
});

Deno.test("MCP: hostile schemas, names and descriptions cost the tool alone, and arguments can be held to each", async () => {
  const { tools, notes } = await stateOf("schemas");
  assertEquals(tools.map(({ name }) => name), [
    "it__good",
    "it__enum",
    "it__remote",
    "it__pattern",
    "it__deep",
    "it__list",
    "it__none",
    "it____im_end____2J____x",
  ]);
  for (const { name, description = "", parameters } of tools) {
    assertMatch(name, /^[A-Za-z0-9_-]{1,64}$/);
    assert(description.isWellFormed());
    relaxing(parameters, new Budget(), (schema) => grammarOfSchema(schema));
  }
  assertMatch(tools[3].description!, /Arguments \(JSON Schema\): .*\{1,2048\}/);
  assertMatch(
    notes.join("\n"),
    /it__pattern are not held to the schema that it gives: .*too complex/,
  );
  assertMatch(notes.join("\n"), /5 of its tools are left out/);
});

Deno.test("MCP: tools whose schemas cost too much together can be offered together", async () => {
  const gguf = await readGguf(new URL("../tests/data/golden/llama.gguf", import.meta.url).pathname);
  const tokenizer = loadTokenizer(gguf.metadata);
  const room = new SchemaRoom();
  const offered = Array.from({ length: 120 }, (_, i) => {
    const values = Array.from({ length: 300 }, (_, j) => `value ${i} ${j}`);
    const properties = Object.fromEntries(
      Array.from({ length: 8 }, (_, j) => [`property ${j}`, { enum: [...values, j] }]),
    );
    return { name: `tool_${i}`, ...room.take({ type: "object", properties }) };
  });
  const loose = offered.filter(({ reason }) => reason !== undefined);
  assert(loose.length > 0 && loose.length < 120, `${loose.length}`);
  const tools = offered.map(({ name, parameters }) => ({ name, parameters }));
  const use = { format: HERMES, tools, choice: "auto", parallel: true } as const;
  new CompiledConstraint(toolConstraint(tokenizer, use));
});

Deno.test("MCP: a server that does not end is made to, with what it started", async () => {
  const folder = await Deno.makeTempDir();
  const file = join(folder, "pids");
  {
    await using mcp = await open({ it: hostile("stubborn", file) });
    assertEquals((await mcp.call("it__say", {})).failed, false);
  }
  for (const pid of (await Deno.readTextFile(file)).split(" ")) {
    // What is dead and not yet waited for by its new parent is no program any more.
    const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => ") Z");
    assertMatch(stat, /\) [ZX]/, `${pid} lives`);
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("MCP: a server gets no more of the environment than what it is given", async () => {
  using _environment = new TemporaryEnvironment({ M40_TEST_SECRET: "secret" });

  const print =
    "Deno.stderr.writeSync(new TextEncoder().encode(JSON.stringify(Deno.env.toObject())))";
  const { args: _, ...node } = exampleProgram("");
  await using mcp = await open({
    it: { ...node, args: ["eval", print], env: { GIVEN: "${M40_TEST_SECRET:-x}" } },
  });
  const { lastWords } = mcp.servers[0];
  assertMatch(lastWords!, /"GIVEN":"secret"/);
  assertNotMatch(lastWords!, /M40_TEST_SECRET/);
});
