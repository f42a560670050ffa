// Work that requests can make long runs off the event loop, or in pieces between other work.
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { setImmediate } from "node:timers";
import { HERMES } from "../../engine/chat/tools/hermes.ts";
import { M40Error } from "../../engine/errors.ts";
import { Automaton, type State } from "../../engine/grammar/automaton.ts";
import { buildNetworks, type Constraint, grammarOf } from "../../engine/grammar/constraint.ts";
import { parseJson } from "../../engine/json/parse_json.ts";
import type { Job } from "../../engine/side_thread/jobs.ts";
import { SideThread } from "../../engine/side_thread/side_thread.ts";
import { loadTokenizer, readGguf } from "../../engine/mod.ts";
import { loadEngine } from "../fixtures/engine_fixture.ts";
import { GOLDEN } from "../fixtures/goldens.ts";
import { answerOf, startServer } from "../fixtures/server_fixture.ts";

const REFUSED: Constraint = { kind: "regex", pattern: "((a{1,100}){1,100}){1,100}" };

const CONSTRAINTS: readonly Constraint[] = [
  { kind: "regex", pattern: "(ab|a[^b]|é{2,40}x)*(c{3,60}d)?" },
  { kind: "gbnf", text: 'root ::= "[" (root ("," root)*)? "]" | [0-9]+ | "\\u00e9"' },
  { kind: "choice", texts: ["yes", "no", "never", "nevermore", "✓"] },
  { kind: "json_object" },
  {
    kind: "json_schema",
    schema: {
      type: "object",
      properties: { a: { type: "integer", minimum: 7 }, b: { enum: ["x", 1] } },
      required: ["a"],
    },
  },
];

/** Runs some work; how often others had their turn meanwhile. */
async function turnsWithin(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let over = false;
  const turn = () => {
    if (over) return;
    turns++;
    setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  over = true;
  return turns;
}

Deno.test("an automaton of networks that another thread has built is the same", () => {
  let seed = 1;
  const below = (limit: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor(seed / 2 ** 32 * limit);
  };
  for (const constraint of CONSTRAINTS) {
    const direct = new Automaton(grammarOf(constraint));
    const { plain, spaced } = structuredClone(buildNetworks(constraint, true));
    const built = new Automaton(plain);
    assert(spaced!.kinds.length > plain.kinds.length);
    let steps = 0;
    for (let walk = 0; walk < 20; walk++) {
      let [one, other]: State[] = [direct.start, built.start];
      for (let at = 0; at < 60; at++) {
        assertEquals(other.canEnd, one.canEnd);
        const allowed: number[] = [];
        for (let byte = 0; byte < 256; byte++) {
          const next = direct.next(one, byte);
          assertEquals(built.next(other, byte) === undefined, next === undefined);
          if (next !== undefined) allowed.push(byte);
        }
        if (allowed.length === 0) break;
        const byte = allowed[below(allowed.length)];
        [one, other] = [direct.next(one, byte)!, built.next(other, byte)!];
        steps++;
      }
    }
    assert(steps > 20, `${constraint.kind}: ${steps}`);
  }
});

Deno.test("grammars are built while others have their turn, refused ones with the same words", async () => {
  await using engine = await loadEngine();
  const request = { prompt: [5], maxTokens: 1 };
  const direct = await assertRejects(
    async () => await engine.generate({ ...request, constraint: REFUSED }).done,
    M40Error,
  );
  // The thread runs.
  await engine.ready({ ...request, constraint: CONSTRAINTS[0] });
  let refused: unknown;
  const turns = await turnsWithin(async () => {
    refused = await engine.ready({ ...request, constraint: REFUSED }).catch((error) => error);
  });
  assert(refused instanceof M40Error);
  assertEquals(
    [refused.code, refused.message, refused.param],
    [direct.code, direct.message, direct.param],
  );
  assert(turns > 10, `${turns} turns`);
  const parameters = {
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: 1500 }, (_, i) => [`property_${i}`, { type: "string" }]),
    ),
  };
  const tools = {
    format: HERMES,
    tools: [{ name: "f", parameters, strict: true }],
    choice: "required",
    parallel: false,
  } as const;
  const inTools = await turnsWithin(() => engine.ready({ ...request, tools }));
  assert(inTools > 10, `${inTools} turns`);
});

Deno.test("an answer is held to a schema that was built off the event loop, numbers of many digits included", async () => {
  await using engine = await loadEngine();
  const schema = parseJson('{"const":{"2":12345678901234567890,"1":1.0}}');
  const constraint: Constraint = { kind: "json_schema", schema };
  const request = await engine.ready({ prompt: [5], constraint });
  let text = "";
  for await (const chunk of engine.generate(request)) text += chunk.text;
  assertEquals(text.replaceAll(/\s/g, ""), '{"2":12345678901234567890,"1":1.0}');
  const left = new AbortController();
  const leaving = engine.ready({ prompt: [5], constraint: REFUSED, signal: left.signal });
  left.abort();
  assertEquals((await assertRejects(() => leaving, M40Error)).code, "cancelled");
});

Deno.test("long texts and many tokens are those of the tokenizer, and others have their turn", async () => {
  const tokenizer = loadTokenizer((await readGguf(GOLDEN)).metadata);
  const text = "The quick brown 👩‍👧 fox\n<s>".repeat(20_000);
  const tokens = tokenizer.encode(text, { addSpecial: false, parseSpecial: true });
  await using server = await startServer();
  const ask = async (path: string, body: unknown) => await answerOf(server, path, body);
  await ask("/tokenize", { content: text.slice(0, 20_000) });
  let answer: { tokens: { id: number; piece: unknown }[] } | undefined;
  const turns = await turnsWithin(async () => {
    answer = await ask("/tokenize", { content: text, with_pieces: true });
  });
  assertEquals(answer!.tokens.map(({ id }) => id), tokens);
  assert(turns > 10, `${turns} turns`);
  for (const at of [0, 1, 2047, 2048, 2049, tokens.length - 1]) {
    const [short] = (await ask("/tokenize", {
      content: tokenizer.decode([tokens[at]], { skipSpecial: false, continuing: true }),
      with_pieces: true,
    })).tokens.filter(({ id }: { id: number }) => id === tokens[at]);
    if (short !== undefined) assertEquals(answer!.tokens[at], short);
  }
  const { content } = await ask("/detokenize", { tokens });
  assertEquals(content, tokenizer.decode(tokens, { skipSpecial: false }));
});

Deno.test("a long conversation's prompt is the tokenizer's, what looks like a control token is text, and others have their turn", async () => {
  const template = "{% for m in messages %}<s>{{ m.content }}{% endfor %}";
  const overrides = [{ key: "llama.context_length", value: "4096" }];
  const options = { chatTemplate: template, contextTokens: 4096, overrides };
  await using engine = await loadEngine(options);
  const chat = engine.chat!;
  const content = "a <s> b</s>".repeat(1600);
  const ask = (content: string) => chat.prompt({ messages: [{ role: "user", content }] });
  const [few] = [await ask("a <s> b</s>")];
  let all: readonly number[] = [];
  const turns = await turnsWithin(async () => {
    all = (await ask(content)).tokens;
  });
  const { encodeText } = chat;
  chat.encodeText = undefined;
  assertEquals((await ask(content)).tokens, all);
  chat.encodeText = encodeText;
  // One is the template's; none is the message's.
  const bos = engine.tokenizer.bos;
  assertEquals(all.filter((token) => token === bos).length, 1);
  assertEquals(few.tokens.filter((token) => token === bos).length, 1);
  assert(turns > 3, `${turns} turns`);
});

Deno.test("work that takes too long is given up, the next is done; an idle thread ends", async () => {
  const { metadata } = await readGguf(GOLDEN);
  const slow: Job = { kind: "constraint", constraint: JSON.stringify(REFUSED), spaced: true };
  const quick = { kind: "encode", text: "a b", addSpecial: false, parseSpecial: true } as const;
  const expected = loadTokenizer(metadata).encode("a b", { addSpecial: false });
  const side = new SideThread(metadata, undefined, { jobMs: 1 });
  const error = await assertRejects(() => side.run(slow), M40Error);
  assertEquals(error.code, "invalid_request");
  assertMatch(error.message, /took more than 0\.001 s and was given up/);
  await side.close();
  assertEquals((await assertRejects(() => side.run(quick), M40Error)).code, "cancelled");
  const kept = new SideThread(metadata, undefined, { idleMs: 1 });
  for (let i = 0; i < 3; i++) {
    assertEquals([...await kept.run(quick)], expected);
    while (kept.runs) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  // One that is ended within a job, and those behind it: each gets an error.
  const both = [kept.run(slow), kept.run(quick)];
  await kept.close();
  for (const one of await Promise.allSettled(both)) {
    assertEquals(one.status === "rejected" && one.reason.code, "cancelled");
  }
});

Deno.test("only so much work may wait for the thread: more is refused at once", async () => {
  const { metadata } = await readGguf(GOLDEN);
  const side = new SideThread(metadata);
  const slow: Job = { kind: "constraint", constraint: JSON.stringify(REFUSED), spaced: false };
  const all = Array.from({ length: 80 }, () => side.run(slow));
  const full = await assertRejects(() =>
    Promise.any([all[79]]).catch((e) => {
      throw e.errors[0];
    }), M40Error);
  assertEquals(full.code, "queue_full");
  const settled = Promise.allSettled(all);
  await side.close();
  const codes = (await settled).map((one) => one.status === "rejected" ? one.reason.code : "");
  assertEquals(codes.filter((code) => code === "queue_full").length, 80 - 1 - 64);
});

Deno.test("unwanted grammars are not built: others find room, and requests that stay get theirs", async () => {
  await using engine = await loadEngine();
  const asked = (least: number, signal?: AbortSignal) =>
    engine.ready({
      prompt: "a",
      constraint: { kind: "regex", pattern: `(a{${least},200}b){1,20}` },
      signal,
    });
  const codeOf = (work: Promise<unknown>) =>
    work.then(() => "done", (error) => error instanceof M40Error ? error.code : String(error));
  const all = new AbortController();
  const left = Array.from({ length: 65 }, (_, i) => codeOf(asked(i, all.signal)));
  // The first has begun, and another waits for the last but one.
  const stays = codeOf(asked(63));
  assertEquals(await codeOf(asked(70)), "queue_full");
  all.abort();
  assertEquals(new Set(await Promise.all(left)), new Set(["cancelled"]));
  // As many find room as before, what was given up before it began and what goes on among them.
  const again = [0, 1, 64, ...Array.from({ length: 60 }, (_, i) => 80 + i)];
  const later = new AbortController();
  const codes = again.map((least, i) => codeOf(asked(least, i < 3 ? undefined : later.signal)));
  assertEquals(await stays, "done");
  assertEquals(await Promise.all(codes.slice(0, 3)), ["done", "done", "done"]);
  later.abort();
  const others = await Promise.all(codes.slice(3));
  assert(others.every((code) => code === "cancelled" || code === "done"), others.join());
});

Deno.test("an unwanted long text takes no room in the thread's queue", async () => {
  const { metadata } = await readGguf(GOLDEN);
  const side = new SideThread(metadata);
  const text = { kind: "encode", text: "a b", addSpecial: false, parseSpecial: true } as const;
  const left = new AbortController();
  const all = Array.from({ length: 65 }, () => side.run(text, left.signal));
  left.abort();
  for (const one of await Promise.allSettled(all)) {
    assertEquals(one.status === "rejected" && one.reason.code, "cancelled");
  }
  assert((await side.run(text)).length > 0);
  await side.close();
});
