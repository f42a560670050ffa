// One table of what is wrong in a body, through every dialect; what is of one alone is in its own test.
import { assertEquals, assertMatch } from "@std/assert";
import { type BadRequest, testBadRequests } from "../fixtures/bad_requests.ts";
import { bodyWith, DIALECTS, fieldName, readRefusal } from "../fixtures/dialects.ts";
import { HELLO, startChat } from "../fixtures/server_chat_fixture.ts";

const WRONG: readonly BadRequest[] = [
  [{ model: 5 }, "model"],
  [{ stream: "yes" }, "stream"],
  [{ keep_alive: "soon" }, "keep_alive"],
];

/** What is wrong in the fields of sampling. */
const WRONG_SAMPLING: readonly BadRequest[] = [
  [{ temperature: "hot" }, "temperature", /wanted a number.*; got the string "hot"/],
  [{ temperature: -0.1 }, "temperature", /-0\.1/],
  [{ temperature: 100.1 }, "temperature", /0 to 1/],
  [{ top_p: "0.5" }, "top_p", /wanted a number/],
  [{ top_p: -0.1 }, "top_p"],
  [{ top_p: 1.1 }, "top_p"],
  [{ top_k: -2 }, "top_k"],
  [{ top_k: 1.5 }, "top_k"],
  [{ min_p: 2 }, "min_p"],
  [{ repetition_penalty: 0, repeat_penalty: 0 }, "repetition_penalty", /^rep[a-z]+_penalty is 0/],
  [{ repeat_penalty: 0 }, "repeat_penalty", /^repeat_penalty is 0/],
  [{ frequency_penalty: 3 }, "frequency_penalty"],
  [{ presence_penalty: -3 }, "presence_penalty"],
  [{ typical_p: 1.1 }, "typical_p"],
  [{ typical_p: "1" }, "typical_p", /wanted a number/],
  [{ repeat_last_n: -2 }, "repeat_last_n"],
  [{ repeat_last_n: 1.5 }, "repeat_last_n"],
  [{ dry_multiplier: -1 }, "dry_multiplier"],
  [{ dry_base: 0.5 }, "dry_base"],
  [{ dry_allowed_length: 0 }, "dry_allowed_length"],
  [{ dry_penalty_last_n: -2 }, "dry_penalty_last_n"],
  [{ dry_sequence_breakers: "x" }, "dry_sequence_breakers", /wanted an array of strings/],
  [{ dry_sequence_breakers: ["x", 1] }, "dry_sequence_breakers.1", /wanted a string; got 1/],
  [{ dry_sequence_breakers: [""] }, "dry_sequence_breakers"],
  [{ xtc_probability: 1.1 }, "xtc_probability"],
  [{ xtc_threshold: -0.1 }, "xtc_threshold"],
  [{ mirostat: 1 }, "mirostat", /wanted 2/],
  [{ mirostat: 3 }, "mirostat"],
  [{ mirostat_tau: -1 }, "mirostat_tau"],
  [{ mirostat_eta: 2 }, "mirostat_eta"],
  [{ dynatemp_range: 101 }, "dynatemp_range"],
  [{ dynatemp_exponent: 0 }, "dynatemp_exponent"],
  [{ ignore_eos: 1 }, "ignore_eos", /true or false/],
  [{ min_tokens: -1 }, "min_tokens"],
  [{ seed: 1.5 }, "seed"],
  [{ seed: "x" }, "seed"],
  [{ seed: 2 ** 65 }, "seed", /from -2\^64 to 2\^64/],
  [{ logit_bias: [] }, "logit_bias"],
  [{ logit_bias: { a: 1 } }, "logit_bias", /wanted token ids as keys.*got the string "a"/],
  [{ logit_bias: { "1": 1, "150": "x" } }, "logit_bias.150", /wanted a number.*the string "x"/],
  [{ logit_bias: { "150": null } }, "logit_bias.150", /got null/],
  [{ logit_bias: { "1": 1, "150": 101 } }, "logit_bias.150", /101.*from -100 to 100/],
  [{ logit_bias: { "352": 1 } }, "logit_bias", /352/],
  [{ max_tokens: -3 }, "max_tokens"],
  [{ max_tokens: 1.5 }, "max_tokens"],
  [{ max_tokens: "16" }, "max_tokens"],
  [{ stop: 5 }, "stop"],
  [{ stop: [5] }, "stop"],
  [{ stop: [""] }, "stop"],
  [{ stop: ["a", ""] }, "stop"],
  [{ stop: Array(17).fill("a") }, "stop", /up to 16.*17 elements/],
  ...["2", [99999], [-1], ["a"]].map((stop_token_ids) =>
    [{ stop_token_ids }, "stop_token_ids"] as const
  ),
];

for (const dialect of DIALECTS) {
  const { path, right } = dialect;
  const limits = new RegExp(`no more than ${fieldName(dialect, "max_tokens")}, 2`);
  const rows: readonly BadRequest[] = [
    ...WRONG_SAMPLING,
    [{ min_tokens: 3, max_tokens: 2 }, "min_tokens", limits],
  ];
  const sampling = rows.map(([fields, field, ...rest]): BadRequest => [
    bodyWith(dialect, fields),
    fieldName(dialect, field),
    ...rest,
  ]);

  Deno.test(`${path}: a field of a wrong kind or out of range is refused by its name`, async () => {
    await using server = await startChat();
    for (const stream of [false, true]) {
      await testBadRequests(server, path, { ...right, stream }, [...WRONG, ...sampling]);
    }
  });

  Deno.test(`${path}: other bodies, models and methods are refused in its dialect`, async () => {
    await using server = await startChat();
    const refused = async (body: unknown, status: number, says: RegExp) => {
      const response = await server.post(path, body);
      assertMatch((await readRefusal(path, response, status)).message, says);
    };
    await refused({ ...right, model: "nobody" }, 404, /"nobody"/);
    for (const body of ["", " \n", "{", "nul", "'a'", "NaN"]) await refused(body, 400, /JSON/);
    for (const body of ["[]", "null", "5", '"text"']) await refused(body, 400, /a JSON object/);
    await refused("[".repeat(100_000), 400, /nested more than 1000 deep/);
    const get = await fetch(server.url + path);
    assertEquals(get.headers.get("allow"), "POST, OPTIONS");
    await readRefusal(path, get, 405);
  });
}

Deno.test("a limit is named as the request names it, of those that a dialect has", async () => {
  await using server = await startChat();
  for (const { path, right } of DIALECTS) {
    if (!path.endsWith("completions")) continue;
    const rows = ["max_completion_tokens", "n_predict"].map((name): BadRequest => [
      { [name]: 2, min_tokens: 3 },
      "min_tokens",
      new RegExp(`no more than ${name}, 2`),
    ]);
    await testBadRequests(server, path, right, rows);
  }
});

Deno.test("what is wrong with texts and conversations is said by the field that they came in", async () => {
  await using server = await startChat({}, "{{ raise_exception('not so') }}");
  const refused = async (path: string, body: unknown) =>
    await readRefusal(path, await server.post(path, body), 400);
  assertEquals((await refused("/v1/chat/completions", { messages: HELLO })).param, "messages");
  assertEquals((await refused("/v1/responses", { input: "Hello" })).param, "input");
  const { message } = await refused("/api/generate", { prompt: "Hello" });
  assertMatch(message, /^prompt: the chat template refuses.*not so/);
  for (const [path, field] of [["/v1/embeddings", "input"], ["/embedding", "content"]]) {
    for (const text of ["", [99999]]) {
      assertEquals((await refused(path, { [field]: text })).param, field);
    }
  }
  assertEquals((await refused("/embedding", { input: [99999] })).param, "input");
});
