// What /v1/completions does beyond the plain: best_of, echo with log-probabilities, suffix.
import { assert, assertEquals } from "@std/assert";
import { Completion } from "../server/openai/completion_schemas.ts";
import { startServer, type TestServer, usageOf } from "./server_fixture.ts";

/** Drawn with all chances open. */
const RANDOM = { prompt: "Hello", max_tokens: 8, temperature: 1.5, seed: 3 };

async function complete(server: TestServer, body: unknown): Promise<Completion> {
  const response = await server.post("/v1/completions", body);
  const answer = await response.json();
  assertEquals(response.status, 200, JSON.stringify(answer));
  return Completion.parse(answer);
}

const mean = (values: readonly (number | null)[]) =>
  values.reduce<number>((sum, value) => sum + value!, 0) / values.length;

Deno.test("best_of gives the n candidates with the highest mean log-probability, best first", async () => {
  await using server = await startServer();
  for (const prompt of ["Hello", ["Hello", "World"]]) {
    const body = { ...RANDOM, prompt };
    const all = await complete(server, { ...body, n: 7, logprobs: 0 });
    const wanted: string[] = [];
    for (let first = 0; first < all.choices.length; first += 7) {
      const own = all.choices.slice(first, first + 7).sort((a, b) =>
        mean(b.logprobs!.token_logprobs) - mean(a.logprobs!.token_logprobs)
      );
      wanted.push(...own.slice(0, 2).map(({ text }) => text));
    }
    const best = await complete(server, { ...body, n: 2, best_of: 7 });
    assertEquals(best.choices.map(({ text }) => text), wanted);
    assertEquals(best.choices.map(({ index }) => index), wanted.map((_, index) => index));
    assertEquals(best.choices[0].logprobs, null, "they are told to who asks for them");
    assertEquals(best.usage, all.usage, "what candidates took counts, chosen or not");
    const told = await complete(server, { ...body, n: 2, best_of: 7, logprobs: 1 });
    assertEquals(told.choices.map(({ text }) => text), wanted);
    assert(told.choices[0].logprobs !== null);
  }
});

Deno.test("best_of equal to n is n; a candidate that ends at once is the last to be chosen", async () => {
  await using server = await startServer();
  const plain = await complete(server, { ...RANDOM, n: 2 });
  const same = await complete(server, { ...RANDOM, n: 2, best_of: 2 });
  assertEquals(same.choices, plain.choices);
  const { eos } = server.engine.tokenizer;
  const ends = { ...RANDOM, max_tokens: 1, logit_bias: { [eos!]: 6 } };
  const some = await complete(server, { ...ends, n: 8 });
  const texts = some.choices.map(({ text, finish_reason }) => [text, finish_reason]);
  assert(texts.some(([, reason]) => reason === "stop"), JSON.stringify(texts));
  assert(texts.some(([, reason]) => reason === "length"), JSON.stringify(texts));
  const best = await complete(server, { ...ends, best_of: 8 });
  assertEquals(best.choices[0].finish_reason, "length");
  assertEquals(best.usage, usageOf(some.usage!.prompt_tokens, 8));
});
