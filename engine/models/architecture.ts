import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { M40Error } from "../errors.ts";
import { assertModel, type Gguf, quoteKey } from "../gguf/mod.ts";
import { afmoe } from "./afmoe.ts";
import { arcee } from "./arcee.ts";
import { bailingmoe2 } from "./bailingmoe2.ts";
import { chatglm } from "./chatglm.ts";
import { cohere2 } from "./cohere2.ts";
import { cohere2moe } from "./cohere2moe.ts";
import { commandR } from "./command_r.ts";
import { deci } from "./deci.ts";
import { bailingmoe, deepseek } from "./deepseek.ts";
import { deepseek2 } from "./deepseek2.ts";
import { dots1 } from "./dots1.ts";
import { ernie4_5, ernie4_5Moe } from "./ernie4_5.ts";
import { exaone, exaone4 } from "./exaone.ts";
import { falcon } from "./falcon.ts";
import { gemma } from "./gemma.ts";
import { gemma2 } from "./gemma2.ts";
import { gemma3 } from "./gemma3.ts";
import { gemma4 } from "./gemma4.ts";
import { glm4 } from "./glm4.ts";
import { glm4moe } from "./glm4moe.ts";
import { gpt2 } from "./gpt2.ts";
import { gptOss } from "./gpt_oss.ts";
import { gptneox } from "./gptneox.ts";
import { granite, granitehybrid, granitemoe } from "./granite.ts";
import { graniteSwa } from "./granite_swa.ts";
import { hunyuanDense, hunyuanMoe } from "./hunyuan.ts";
import { internlm2 } from "./internlm2.ts";
import { lfm2, lfm2moe } from "./lfm2.ts";
import { llama } from "./llama.ts";
import { llama4 } from "./llama4.ts";
import { mamba2 } from "./mamba2.ts";
import { mellum } from "./mellum.ts";
import { minicpm } from "./minicpm.ts";
import { minimaxM2 } from "./minimax_m2.ts";
import { mistral3 } from "./mistral3.ts";
import type { Architecture } from "./model.ts";
import { museGlimmer } from "./muse_glimmer.ts";
import { nemotron } from "./nemotron.ts";
import { nemotronH, nemotronHMoe } from "./nemotron_h.ts";
import { olmo, olmoe } from "./olmo.ts";
import { olmo2 } from "./olmo2.ts";
import { orion } from "./orion.ts";
import { phi2 } from "./phi2.ts";
import { phi3 } from "./phi3.ts";
import { qwen2, qwen2vl } from "./qwen2.ts";
import { qwen2moe } from "./qwen2moe.ts";
import { qwen3, qwen3vl } from "./qwen3.ts";
import { qwen3moe, qwen3vlmoe } from "./qwen3moe.ts";
import { qwen35, qwen35moe, qwen3next } from "./qwen35.ts";
import { seedOss } from "./seed_oss.ts";
import { smollm3 } from "./smollm3.ts";
import { stablelm } from "./stablelm.ts";
import { starcoder } from "./starcoder.ts";
import { starcoder2 } from "./starcoder2.ts";

/** By family, as docs/models.md has them. */
const ARCHITECTURES: readonly Architecture[] = [
  llama,
  llama4,
  deci,
  museGlimmer,
  mistral3,
  qwen2,
  qwen2vl,
  qwen2moe,
  qwen3,
  qwen3vl,
  qwen3moe,
  qwen3vlmoe,
  qwen3next,
  qwen35,
  qwen35moe,
  gemma,
  gemma2,
  gemma3,
  gemma4,
  gptOss,
  phi2,
  phi3,
  deepseek,
  deepseek2,
  chatglm,
  glm4,
  glm4moe,
  granite,
  granitemoe,
  granitehybrid,
  graniteSwa,
  commandR,
  cohere2,
  cohere2moe,
  olmo,
  olmo2,
  olmoe,
  smollm3,
  starcoder,
  starcoder2,
  exaone,
  exaone4,
  ernie4_5,
  ernie4_5Moe,
  hunyuanDense,
  hunyuanMoe,
  seedOss,
  minimaxM2,
  dots1,
  bailingmoe,
  bailingmoe2,
  afmoe,
  arcee,
  mellum,
  internlm2,
  minicpm,
  stablelm,
  orion,
  nemotron,
  nemotronH,
  nemotronHMoe,
  lfm2,
  lfm2moe,
  mamba2,
  falcon,
  gptneox,
  gpt2,
];

/** The names of the architectures that the engine knows. */
export function architectureNames(): string[] {
  return ARCHITECTURES.map((architecture) => architecture.name);
}

/**
 * The architecture of a file.
 *
 * @throws {M40Error} "unsupported" where the engine does not know it, or the file is no model; "invalid_model"
 * where the file does not say.
 */
export function architectureOf(gguf: Gguf): Architecture {
  assertModel(gguf);
  const name = gguf.metadata.string("general.architecture");
  const found = ARCHITECTURES.find((architecture) => architecture.name === name);
  if (found === undefined) {
    const like = alike(name);
    throw new M40Error(
      "unsupported",
      `${gguf.path}: architecture ${quoteKey(name)} is not known` +
        (like.length > 0 ? `; the nearest that are: ${like.join(", ")}` : "") +
        ". docs/models.md lists those that are, and the models that have them.",
    );
  }
  return found;
}

/** The known names that are most like another, the nearest first, three at most. */
function alike(name: string): string[] {
  // The distance of long names takes their length squared, and they are like none.
  if (name.length > 40) return [];
  return architectureNames()
    .map((known) => ({ known, distance: levenshteinDistance(name, known) }))
    .filter(({ known, distance }) => distance <= Math.max(2, known.length / 3))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ known }) => known);
}
