import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import { Engine } from "../../engine/mod.ts";
import { byteLevelModel } from "../fixtures/byte_level_model.ts";

Deno.test("engine: a model with a byte-level vocabulary answers, its pre-tokenizer is the one that was asked for", async () => {
  using model = await byteLevelModel();
  const options = { device: "cpu", contextTokens: 256, threads: 1 };
  for (const preTokenizer of [undefined, "llama-bpe"]) {
    await using engine = await Engine.load(model.path, { ...options, preTokenizer });
    assertEquals(engine.tokenizer.preTokenizer, preTokenizer ?? "qwen2");
    const tokens: number[] = [];
    let text = "";
    for await (
      const chunk of engine.generate({
        prompt: "The miller ",
        maxTokens: 8,
        sampling: { temperature: 0 },
      })
    ) {
      text += chunk.text;
      tokens.push(...chunk.tokens.map(({ token }) => token));
    }
    assertEquals(text, engine.tokenizer.decode(tokens, { continuing: true }));
  }
  const error = await assertRejects(
    () => Engine.load(model.path, { ...options, preTokenizer: "lama-bpe" }),
    M40Error,
  );
  assertEquals(error.code, "unsupported");
  assertStringIncludes(error.message, '"llama-bpe"');
});
