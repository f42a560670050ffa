/** Bodies that are nearly right, for servers that have to live with them. */
import { assert, assertEquals } from "@std/assert";
import type { TestServer } from "./server_fixture.ts";

// More cases: M40_FUZZ_CASES=1000000. Others: M40_FUZZ_SEED=2. A failure prints its body.
export const CASES = Number(Deno.env.get("M40_FUZZ_CASES") ?? 4000);
const SEED = Number(Deno.env.get("M40_FUZZ_SEED") ?? 1);
/** Requests that are under way at the same time. */
const CLIENTS = 8;

type Random = (below: number) => number;

/** A counted random number generator (mulberry32): the seed says all. */
function generator(seed: number): Random {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor(((t ^ (t >>> 14)) >>> 0) / 0x100000000 * below);
  };
}

type Body = Record<string, unknown>;

/** A body that is right, and where it is sent to. */
export type Seedling = readonly [path: string, body: Body];

/** Looks at what a body is answered with; fails where a client could not live with it. Gives the status. */
export type Check = (
  server: TestServer,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
) => Promise<number>;

/** A template for conversations of any kind: the test model's context is short. */
export const SHORT_TEMPLATE = "{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}" +
  "{% if enable_thinking %}<think>{% endif %}";

/** Values that have broken programs before. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  1,
  -1,
  2,
  5,
  16,
  0.5,
  1e-320,
  1e308,
  -1e308,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  2 ** 63,
  2 ** 64,
  "",
  " ",
  "a",
  "0",
  "\u0000",
  "\ud800",
  "\udc00\ud800",
  "\ufeff",
  "<s>",
  "</s><unk><0x0A>",
  "e\u0301👩‍👩‍👧",
  "x".repeat(3000),
  "__proto__",
  { role: "user", content: "a" },
  [{ role: "user", content: "a" }],
  [{ role: "assistant", content: null }],
  [{ role: "tool", content: [{ type: "text", text: "a" }] }],
  [{ role: "user", content: [{ type: "image_url", image_url: {} }] }],
  [{ role: "user", content: "{{ 1 / 0 }}{% for %}" }],
  [],
  [[]],
  [null],
  [""],
  [0],
  [[0]],
  [1e9],
  [-1],
  ["a", "b", "c"],
  Array(300).fill(1),
  Array(20).fill("a"),
  {},
  { a: 1 },
  { "0": 100 },
  { "-1": 1 },
  { "1e3": 1 },
  { "99999999999": 1 },
  { include_usage: true },
  { length: 3 },
  { toString: 1, valueOf: null, then: 1, constructor: {} },
];

/** A body with some of its values changed. */
function mutateValues(
  body: Body,
  random: Random,
  fields: readonly string[],
  values: readonly unknown[],
): string {
  const copy = structuredClone(body);
  const pick = <T>(list: readonly T[]) => list[random(list.length)];
  for (let changes = 1 + random(3); changes > 0; changes--) {
    const holder = holderIn(copy, random);
    const own = Object.keys(holder);
    const field = own.length === 0 || random(4) === 0 ? pick(fields) : pick(own);
    // A value of its own: the next change may be inside it.
    const value = structuredClone(pick(values));
    const kind = random(8);
    if (kind === 0) delete holder[field];
    else if (kind === 1) holder[field] = [holder[field]];
    else if (kind === 2) holder[field] = { [field]: holder[field] };
    else if (kind === 3) holder[field] = [holder[field], value];
    else holder[field] = value;
  }
  const text = JSON.stringify(copy);
  if (random(20) === 0) return text.replace("{", '{"__proto__":{"prompt":"a"},');
  // Numbers that JSON.stringify() never writes.
  if (random(20) === 0) return text.replace(/\d+/, pick(["1e999", "-1e999", "1E-999", "0.1e1"]));
  return text;
}

/** The body, or an object or array somewhere in it. */
function holderIn(body: Body, random: Random): Body {
  let holder = body;
  while (random(2) === 0) {
    const inside = Object.values(holder).filter((one) => typeof one === "object" && one !== null);
    if (inside.length === 0) break;
    holder = inside[random(inside.length)] as Body;
  }
  return holder;
}

/** A body's bytes with some of them changed. */
function mutateBytes(body: Body, random: Random): Uint8Array<ArrayBuffer> {
  let bytes = new TextEncoder().encode(JSON.stringify(body));
  const special = new TextEncoder().encode('{}[]":,\\0-.eE truefalsn\n');
  for (let changes = 1 + random(3); changes > 0; changes--) {
    const at = random(bytes.length + 1);
    const byte = random(2) === 0 ? random(256) : special[random(special.length)];
    const until = Math.min(bytes.length, at + random(12));
    switch (random(5)) {
      case 0:
        bytes[Math.min(at, bytes.length - 1)] = byte;
        break;
      case 1:
        bytes = new Uint8Array([...bytes.subarray(0, at), byte, ...bytes.subarray(at)]);
        break;
      case 2:
        bytes = new Uint8Array([...bytes.subarray(0, at), ...bytes.subarray(until)]);
        break;
      case 3:
        bytes = bytes.slice(0, at);
        break;
      case 4:
        bytes = new Uint8Array([...bytes.subarray(0, until), ...bytes.subarray(at)]);
        break;
    }
    if (bytes.length === 0) break;
  }
  return bytes;
}

/**
 * Sends bodies that are seedlings but for a few changes. At the end all kinds of answers must have come,
 * and nothing may run any more.
 *
 * @param values What fields are made, beside what has broken programs before.
 * @param cases How many bodies.
 */
export async function fuzz(
  server: TestServer,
  seedlings: readonly Seedling[],
  check: Check,
  values: readonly unknown[] = [],
  cases = CASES,
): Promise<void> {
  const fields = [...new Set(seedlings.flatMap(([, body]) => Object.keys(body)))];
  const all = [...VALUES, ...values];
  const counts = new Map<number, number>();
  let next = 0;
  const client = async () => {
    while (next < cases) {
      const seed = SEED + next++;
      const random = generator(seed);
      const [path, seedling] = seedlings[random(seedlings.length)];
      const body = random(2) === 0
        ? mutateValues(seedling, random, fields, all)
        : mutateBytes(seedling, random);
      try {
        const status = await check(server, path, body);
        counts.set(status, (counts.get(status) ?? 0) + 1);
      } catch (error) {
        const text = typeof body === "string" ? body : new TextDecoder().decode(body);
        console.error(`seed ${seed}, ${path}:`, text);
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  // Otherwise the mutations test nothing.
  if (cases >= 1000) {
    for (const status of [200, 400, 404]) {
      assert((counts.get(status) ?? 0) > 10, `${status}: ${counts.get(status)}`);
    }
  }
  const { running, waiting, failed } = server.engine.status();
  assertEquals({ running, waiting, failed }, { running: 0, waiting: 0, failed: undefined });
  const response = await server.post("/v1/generate", { prompt: "Hello", max_tokens: 3 });
  assertEquals(response.status, 200, await response.text());
}
