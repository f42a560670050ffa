import type { Tokenizer } from "../../tokenizer/mod.ts";
import { DEEPSEEK_V3, DEEPSEEK_V31 } from "./deepseek.ts";
import { GEMMA4 } from "./gemma4.ts";
import { GLM_45, GLM_47 } from "./glm.ts";
import { HARMONY } from "./harmony.ts";
import { HERMES } from "./hermes.ts";
import { LFM2 } from "./lfm2.ts";
import { APRIEL, COMMAND, GRANITE, NEMOTRON } from "./listed_calls.ts";
import { LLAMA } from "./llama.ts";
import { MISTRAL, MISTRAL_ARGS } from "./mistral.ts";
import { QWEN_XML, SEED_XML } from "./qwen_xml.ts";
import type { ToolFormat } from "./tool_format.ts";

/** The formats, in the order in which they are tried: those that more is known of come first. */
export const TOOL_FORMATS: readonly ToolFormat[] = [
  HARMONY,
  DEEPSEEK_V3,
  DEEPSEEK_V31,
  GEMMA4,
  LFM2,
  MISTRAL_ARGS,
  MISTRAL,
  COMMAND,
  NEMOTRON,
  GRANITE,
  APRIEL,
  QWEN_XML,
  SEED_XML,
  GLM_45,
  GLM_47,
  HERMES,
  LLAMA,
];

/** The formats whose words are in a template, and whose tokens are in the vocabulary. */
export function likelyFormats(template: string, tokenizer: Tokenizer): ToolFormat[] {
  return TOOL_FORMATS.filter((format) => format.matches(template, tokenizer));
}
