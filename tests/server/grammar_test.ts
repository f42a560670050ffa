import { assert, assertEquals } from "@std/assert";
import {
  CHAT,
  chat,
  chatEvents,
  HELLO,
  joined,
  startChat,
} from "../fixtures/server_chat_fixture.ts";
import { testBadRequests } from "../fixtures/bad_requests.ts";
import { answerOf, readEvents, startServer } from "../fixtures/server_fixture.ts";

/** What is asked of every route here: the golden model would say noise. */
const NOISE = { temperature: 1.5, seed: 4, max_tokens: 40 };
const WORDS = ["alpha", "beta", "gamma δ"];
const GBNF = 'root ::= "<" [a-z]{2,4} ">" [0-9]{3}';
const REGEX = "<[a-z]{2,4}>[0-9]{3}";
const MATCHED = new RegExp(`^${REGEX}$`);

/** Every way to ask for the same, and what the answer must be like. */
const WAYS: [Record<string, unknown>, RegExp][] = [
  [{ grammar: GBNF }, MATCHED],
  [{ guided_grammar: GBNF }, MATCHED],
  [{ ebnf: GBNF }, MATCHED],
  [{ grammar_string: GBNF, regex_pattern: "" }, MATCHED],
  [{ structured_outputs: { grammar: GBNF } }, MATCHED],
  [{ regex: REGEX }, MATCHED],
  [{ guided_regex: REGEX }, MATCHED],
  [{ structured_outputs: { regex: REGEX, choice: null } }, MATCHED],
  [{ choice: WORDS }, /^(alpha|beta|gamma δ)$/],
  [{ guided_choice: WORDS }, /^(alpha|beta|gamma δ)$/],
  [{ structured_outputs: { choice: WORDS } }, /^(alpha|beta|gamma δ)$/],
];

Deno.test("a completion is held to its grammar, expression or choices, by all their names", async () => {
  await using server = await startServer({ engine: { parallel: 4 } });
  for (const [way, expected] of WAYS) {
    const body = { prompt: "Say", ...NOISE, n: 2, ...way };
    const { choices } = await answerOf(server, "/v1/completions", body);
    for (const { text, finish_reason } of choices) {
      assert(expected.test(text), `${JSON.stringify(way)}: ${JSON.stringify(text)}`);
      assertEquals(finish_reason, "stop");
    }
    const response = await server.post("/v1/completions", { ...body, stream: true });
    const events = await readEvents(response);
    const streamed = choices.map((_: unknown, index: number) =>
      events.flatMap((event) => event.choices)
        .filter((choice) => choice.index === index).map((choice) => choice.text).join("")
    );
    assertEquals(streamed, choices.map(({ text }: { text: string }) => text));
  }
});

Deno.test("a chat is held to its grammar, streamed and not, with log-probabilities", async () => {
  await using server = await startChat({ engine: { parallel: 2 } });
  for (const [way, expected] of WAYS) {
    const body = { ...NOISE, logit_bias: null, logprobs: true, top_logprobs: 1, ...way };
    const [{ message, finish_reason, logprobs }] = (await chat(server, body)).choices;
    assert(expected.test(message.content), `${JSON.stringify(way)}: ${message.content}`);
    assertEquals(finish_reason, "stop");
    assert(logprobs!.content.every(({ logprob }) => logprob < 0));
    const streamed = joined(await chatEvents(server, body));
    assertEquals([streamed.content, streamed.finishes], [message.content, ["stop"]]);
  }
});

Deno.test("response_format json_object gives a prefix of a JSON object, and all of one where there is room", async () => {
  await using server = await startChat({ engine: { parallel: 4 } });
  let complete = 0;
  for (let seed = 0; seed < 12; seed++) {
    const body = { ...NOISE, logit_bias: null, max_tokens: 100, seed };
    const asked = seed % 2 === 0
      ? { response_format: { type: "json_object" } }
      : { structured_outputs: { json_object: true } };
    const [{ message, finish_reason }] = (await chat(server, { ...body, ...asked })).choices;
    assertEquals(message.content[0], "{");
    if (finish_reason !== "stop") continue;
    complete++;
    assertEquals(typeof JSON.parse(message.content), "object");
  }
  assert(complete > 0, "no answer was complete");
});

/** What a schema demands, short enough for the model's context. */
const SCHEMA = {
  type: "object",
  properties: { kind: { enum: ["cat", "dog"] }, age: { type: "integer", minimum: 0, maximum: 99 } },
  required: ["kind", "age"],
  additionalProperties: false,
};

Deno.test("an answer is held to a JSON Schema, by all its names", async () => {
  await using server = await startChat({ engine: { parallel: 2 } });
  const ways = [
    {
      response_format: {
        type: "json_schema",
        json_schema: { name: "pet", strict: true, schema: SCHEMA },
      },
    },
    { response_format: { type: "json_object", schema: SCHEMA } },
    { json_schema: SCHEMA },
    { guided_json: JSON.stringify(SCHEMA) },
    { structured_outputs: { json: SCHEMA } },
  ];
  for (const way of ways) {
    const body = { ...NOISE, max_tokens: 80, logit_bias: null, ...way };
    const [{ message, finish_reason }] = (await chat(server, body)).choices;
    assertEquals(finish_reason, "stop");
    const { kind, age, ...rest } = JSON.parse(message.content);
    assert(["cat", "dog"].includes(kind) && Number.isInteger(age), message.content);
    assert(age >= 0 && age <= 99, message.content);
    assertEquals(rest, {});
    const streamed = joined(await chatEvents(server, body));
    assertEquals(streamed.content, message.content);
  }
});

Deno.test("the other routes that generate are held to a grammar as well", async () => {
  await using server = await startServer();
  const response = await server.post("/v1/generate", { prompt: "Say", ...NOISE, grammar: GBNF });
  const { output } = await response.json();
  assert(MATCHED.test(output), output);
});

Deno.test("what is wrong with a constraint is a 400 that names the field and the place", async () => {
  await using server = await startChat();
  await testBadRequests(server, CHAT, { messages: HELLO, max_tokens: 4 }, [
    [{ grammar: 'root ::= "a' }, "grammar", /line 1, column 12/],
    [{ grammar: 'root ::= root | "a"' }, "grammar", /left-recursive/],
    [{ guided_grammar: "start ::= x" }, "guided_grammar", /no rule root/],
    [{ structured_outputs: { grammar: "x" } }, "structured_outputs.grammar", /wanted ::=/],
    [{ structured_outputs: { grammar: "" } }, "structured_outputs.grammar", /no rule root/],
    [{ guided_grammar: "" }, "guided_grammar", /no rule root/],
    [{ ebnf: "" }, "ebnf", /no rule root/],
    [{ regex_pattern: "(" }, "regex_pattern", /no \)/],
    [{ regex: "a(?=b)" }, "regex", /lookahead/],
    [{ structured_outputs: { regex: "(" } }, "structured_outputs.regex", /no \)/],
    [{ choice: [] }, "choice", /0 texts/],
    [{ choice: "yes" }, "choice", /an array of strings/],
    [{ grammar: 7 }, "grammar", /a string/],
    [{ grammar: GBNF, regex: "a" }, "regex", /grammar and regex both/],
    [
      { response_format: { type: "json_object" }, guided_choice: WORDS },
      "guided_choice",
      /response_format and guided_choice both/,
    ],
    [{ grammar: GBNF, ignore_eos: true }, "grammar", /ignore_eos/],
    [
      { structured_outputs: { structural_tag: "{}" } },
      "structured_outputs.structural_tag",
      /not supported/,
      "unsupported",
    ],
    [
      { guided_whitespace_pattern: " " },
      "guided_whitespace_pattern",
      /not supported/,
      "unsupported",
    ],
    [{ response_format: { type: "json_schema" } }, "response_format.json_schema", /got nothing/],
    [
      { response_format: { type: "xml" } },
      "response_format",
      /^response_format: the type "xml" is not supported\. Ask for "json_schema"/,
      "unsupported",
    ],
    [
      { response_format: { type: "json_schema", json_schema: { name: "a" } } },
      "response_format.json_schema",
      /schema/,
    ],
    [{ guided_json: "{" }, "guided_json", /the text of one/],
    [{ json_schema: { type: "nothing" } }, "json_schema", /type/],
    [{ regex: "((((a{1,100}){1,100}){1,100}){1,100})" }, "regex", /too large/],
  ]);
  // And the server answers as before.
  assertEquals((await chat(server, {})).choices.length, 1);
});
