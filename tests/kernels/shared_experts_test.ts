import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { NONE } from "../../engine/device/structs.ts";
import { type Gguf, type GgufTensor, readGguf } from "../../engine/gguf/reader.ts";
import { tensorTypeByName } from "../../engine/gguf/types.ts";
import { Engine } from "../../engine/mod.ts";
import { architectureOf } from "../../engine/models/architecture.ts";
import type { Program } from "../../engine/program/program.ts";
import { stepWork } from "../../engine/program/work.ts";
import { assertClose, BACKEND } from "../fixtures/device_harness.ts";
import { golden } from "../fixtures/goldens.ts";
import { Rewritten } from "../fixtures/rewritten_model.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

// The experts that every token has in addition to those it is routed to. One of them is computed as one more expert of
// each token where it has the shape of one. Otherwise, as several are, it is computed by itself.

/** Its program, with some of its tensors changed. */
function programOf(gguf: Gguf, change: (tensor: GgufTensor) => GgufTensor = (t) => t): Program {
  const tensors = new Map([...gguf.tensors].map(([name, tensor]) => [name, change(tensor)]));
  return architectureOf(gguf).read({ ...gguf, tensors }).program;
}

/** How many layers compute their shared expert with the others, of those that have experts. */
function together({ operations }: Program): [number, number] {
  const routes = operations.filter((operation) => operation.kind === "route");
  return [routes.filter(({ n_shared }) => n_shared === 1).length, routes.length];
}

const F16 = tensorTypeByName("F16")!;

Deno.test("an expert that every token has is computed with the others where its width and types are theirs", async () => {
  const wanted = {
    "afmoe": [3, 3],
    "bailingmoe": [2, 2],
    "cohere2moe": [3, 3],
    "deepseek": [0, 2],
    "deepseek2": [2, 2],
    "dots1": [0, 2],
    "glm4moe": [2, 2],
    "hunyuan-moe": [2, 2],
    "llama4": [2, 2],
    "qwen2moe": [0, 2],
    "qwen3moe": [0, 3],
  };
  for (const [name, layers] of Object.entries(wanted)) {
    assertEquals(together(programOf(await readGguf(golden(name)))), layers, name);
  }
  const gguf = await readGguf(golden("glm4moe"));
  const retyped = (pattern: RegExp) =>
    together(programOf(gguf, (t) => pattern.test(t.name) ? { ...t, type: F16 } : t));
  for (const weight of ["gate", "up", "down"]) {
    assertEquals(retyped(RegExp(`ffn_${weight}_shexp`)), [0, 2], weight);
    assertEquals(retyped(RegExp(`blk\\.1\\.ffn_${weight}_exps`)), [1, 2], weight);
    assertEquals(retyped(RegExp(`ffn_${weight}_(sh)?exps?`)), [2, 2], weight);
  }
  const scales: [string, GgufTensor][] = [...gguf.tensors.values()]
    .filter(({ name }) => name.endsWith("ffn_up_exps.weight"))
    .map((t) => [t.name.replace(".weight", ".scale"), { ...t, shape: [t.shape[2]] }]);
  assertEquals(together(programOf({ ...gguf, tensors: new Map([...gguf.tensors, ...scales]) })), [
    0,
    2,
  ]);
});

Deno.test("work of a step: an expert that every token has is read once, however many tokens there are", async () => {
  const gguf = await readGguf(golden("glm4moe"));
  const size = { outputs: 1, sequences: 1, attended: 0, kvValueBytes: 2 };
  const apart = programOf(
    gguf,
    (t) => t.name.includes("_shexp") ? { ...t, type: F16 } : t,
  );
  assertEquals([together(programOf(gguf))[0], together(apart)[0]], [2, 0]);
  for (const tokens of [1, 3, 1000]) {
    const [one, other] = [programOf(gguf), apart].map((p) => stepWork(p, { ...size, tokens }));
    assertAlmostEquals(one.bytes, other.bytes, 1e-3);
    assertEquals(one.flop, other.flop);
  }
});

/** The model with shared experts of values that F16 has, in that type or in the others' own. */
async function rounded(folder: string, name: string, type: "F16" | "F32"): Promise<string> {
  const file = await Rewritten.of(name);
  file.tensors = file.tensors.map((tensor) => {
    if (!tensor.name.includes("_shexp")) return tensor;
    const halves = Float16Array.from(new Float32Array((tensor.data as Uint8Array).slice().buffer));
    const { buffer } = type === "F16" ? halves : Float32Array.from(halves);
    return { ...tensor, type: tensorTypeByName(type)!, data: new Uint8Array(buffer) };
  });
  const path = join(folder, `${name}-${type}.gguf`);
  await file.write(path);
  return path;
}

for (const name of ["glm4moe", "deepseek2", "afmoe", "cohere2moe", "llama4"]) {
  Deno.test(`${name}: logits are the same whether its shared expert has the others' type or another`, async () => {
    using temporary = new TemporaryFolder();
    const folder = temporary.path;
    const logits = [];
    for (const type of ["F32", "F16"] as const) {
      const path = await rounded(folder, name, type);
      const layers = together(programOf(await readGguf(path)));
      assertEquals(layers[0], type === "F32" ? layers[1] : 0);
      logits.push(await logitsOf(path));
    }
    assertClose(logits[0], logits[1], 1e-5);
  });
}

async function logitsOf(path: string): Promise<number[]> {
  await using engine = await Engine.load(path, {
    device: BACKEND,
    kvType: "f32",
    logitsOutputs: 7,
  });
  const all: number[] = [];
  const tokens = Array.from({ length: 20 }, (_, i) => 3 + i * 7 % 50);
  for await (const { logits } of engine.evaluate(tokens)) all.push(...logits);
  assert(all.length > 0 && all.every(Number.isFinite));
  return all;
}

Deno.test("the shared expert's slot is the last, and its weights are named once for each product", async () => {
  const { operations, weights } = programOf(await readGguf(golden("deepseek2")));
  for (const operation of operations) {
    if (operation.kind !== "expert_matmul") continue;
    const names = operation.shared.map((w) => weights[w].tensor.name);
    assertEquals(
      names,
      operation.weight.map((w) => weights[w].tensor.name.replace("_exps", "_shexp")),
    );
    assert(operation.bias.every((bias) => bias === NONE));
  }
});
