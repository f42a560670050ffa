import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { M40Error } from "../errors.ts";
import { assertModel, type Gguf, quoteKey } from "../gguf/mod.ts";
import { cohere2moe } from "./cohere2moe.ts";
import * as decoders from "./decoders.ts";
import { deci } from "./deci.ts";
import { deepseek2 } from "./deepseek2.ts";
import { falcon } from "./falcon.ts";
import { gemma2, gemma3 } from "./gemma3.ts";
import { gemma4 } from "./gemma4.ts";
import { glm4 } from "./glm4.ts";
import { gptneox } from "./gptneox.ts";
import { granite, granitehybrid, granitemoe, graniteSwa } from "./granite.ts";
import { lfm2, lfm2moe } from "./lfm2.ts";
import { llama4 } from "./llama4.ts";
import { mamba2 } from "./mamba2.ts";
import { minicpm } from "./minicpm.ts";
import type { Architecture } from "./model.ts";
import { museGlimmer } from "./muse_glimmer.ts";
import { nemotronH, nemotronHMoe } from "./nemotron_h.ts";
import { olmo } from "./olmo.ts";
import { phi3 } from "./phi3.ts";
import { qwen35, qwen35moe, qwen3next } from "./qwen35.ts";
import { smollm3 } from "./smollm3.ts";

const ARCHITECTURES: readonly Architecture[] = [
  ...Object.values(decoders),
  llama4,
  deci,
  museGlimmer,
  qwen3next,
  qwen35,
  qwen35moe,
  gemma2,
  gemma3,
  gemma4,
  phi3,
  deepseek2,
  glm4,
  granite,
  granitemoe,
  granitehybrid,
  graniteSwa,
  cohere2moe,
  olmo,
  smollm3,
  minicpm,
  nemotronH,
  nemotronHMoe,
  lfm2,
  lfm2moe,
  mamba2,
  falcon,
  gptneox,
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
