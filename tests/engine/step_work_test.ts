import { assertAlmostEquals, assertEquals } from "@std/assert";
import { architectureOf } from "../../engine/models/architecture.ts";
import { stepWork } from "../../engine/program/work.ts";
import { goldenHeader } from "../fixtures/changed_model.ts";

const one = { tokens: 1, outputs: 1, sequences: 1, attended: 0, kvValueBytes: 2 };

async function programOf(name: string) {
  const gguf = await goldenHeader(name);
  const { program } = architectureOf(gguf).read(gguf);
  const bytes = (pattern: RegExp) =>
    [...gguf.tensors.values()].filter(({ name }) => pattern.test(name))
      .reduce((sum, { bytes }) => sum + bytes, 0);
  return { gguf, program, bytes };
}

Deno.test("work of a step: all weights are read once, of the embeddings a row a token", async () => {
  const { program, bytes, gguf } = await programOf("llama");
  const { bytes: read, flop } = stepWork(program, one);
  const weights = bytes(/^(?!token_embd)/);
  const matrices = weights - bytes(/norm/);
  const row = gguf.tensors.get("token_embd.weight")!.shape[0] * 4;
  assertEquals(read, weights + row);
  assertEquals(flop, 2 * matrices / 4);
  assertEquals(stepWork(program, { ...one, tokens: 3, outputs: 3 }).bytes, weights + 3 * row);
});

Deno.test("work of a step: of the experts those that are chosen, more with each token, never more than all", async () => {
  const { program, bytes, gguf } = await programOf("mixtral-moe");
  const used = gguf.metadata.number("llama.expert_used_count");
  const experts = gguf.metadata.number("llama.expert_count");
  const rest = stepWork(program, one).bytes - bytes(/_exps/) * used / experts;
  const row = gguf.tensors.get("token_embd.weight")!.shape[0] * 4;
  assertAlmostEquals(rest, bytes(/^(?!token_embd|.*_exps)/) + row, 1e-3);
  const many = stepWork(program, { ...one, tokens: 1000 });
  assertAlmostEquals(many.bytes, rest + 999 * row + bytes(/_exps/), 1e-3);
});

Deno.test("work of a step: keys and values of every sequence", async () => {
  const { program, gguf } = await programOf("llama");
  const kv = (key: string) => gguf.metadata.number(`llama.${key}`);
  const values = 2 * kv("attention.head_count_kv") * kv("embedding_length") /
    kv("attention.head_count") * kv("block_count");
  const depths = [0, 100].map((attended) =>
    stepWork(program, { ...one, sequences: 3, attended }).bytes
  );
  assertEquals(depths[1] - depths[0], 3 * 100 * values * 2);
});

Deno.test("work of a step: the states of every sequence are read and written, however long it is", async () => {
  const { program, bytes } = await programOf("qwen35");
  const values = 3 * (3 * 128 + 4 * 16 * 16);
  const work = (sequences: number, attended = 0) =>
    stepWork(program, { ...one, sequences, attended });
  assertEquals(work(3).bytes - work(1).bytes, 2 * 2 * values * 4);
  // Only the layer of attention reads more where more is before it: keys and values of 2 heads of 32.
  assertEquals(work(1, 100).bytes - work(1).bytes, 100 * 2 * 2 * 32 * 2);
  const matrices = bytes(/^(?!token_embd|.*norm|.*ssm_(a$|dt|conv1d))/) / 4;
  const recurrent = 3 * (2 * 4 * 128 + 7 * 4 * 16 * 16);
  assertEquals(work(1).flop, 2 * matrices + recurrent);
});
