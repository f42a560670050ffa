/**
 * The chat templates that come with m40, written after the models' documentation. A model's own
 * template is better where it has one. Models that were trained to call tools get them here too, in their own form but
 * not in their own words.
 *
 * @module
 */
import { CHATML, LFM2, PHI4, QWEN3, QWEN3_CODER } from "./chatml.ts";
import { DEEPSEEK_R1, DEEPSEEK_V2, DEEPSEEK_V3, DEEPSEEK_V31 } from "./deepseek.ts";
import { GEMMA4 } from "./gemma4.ts";
import { HARMONY } from "./harmony.ts";
import {
  COMMAND_R,
  EXAONE,
  FALCON3,
  GEMMA,
  GLM4,
  GLM45,
  GRANITE,
  OPENCHAT,
  PHI3,
  SEED_OSS,
  ZEPHYR,
} from "./headed.ts";
import { ALPACA, LLAMA2, LLAMA3, LLAMA4, VICUNA } from "./llama.ts";
import {
  MISTRAL,
  MISTRAL_TEKKEN,
  MISTRAL_V11,
  MISTRAL_V13,
  MISTRAL_V3,
  MISTRAL_V7,
} from "./mistral.ts";

/** The templates by the names that `--chat-template` takes. */
export const BUILT_IN_TEMPLATES: ReadonlyMap<string, string> = new Map([
  ["alpaca", ALPACA],
  ["chatml", CHATML],
  ["command-r", COMMAND_R],
  ["deepseek", DEEPSEEK_V3],
  ["deepseek-r1", DEEPSEEK_R1],
  ["deepseek-v2", DEEPSEEK_V2],
  ["deepseek-v3.1", DEEPSEEK_V31],
  ["exaone", EXAONE],
  ["falcon3", FALCON3],
  ["gemma", GEMMA],
  ["gemma4", GEMMA4],
  ["glm4", GLM4],
  ["glm4.5", GLM45],
  ["gpt-oss", HARMONY],
  ["granite", GRANITE],
  ["lfm2", LFM2],
  ["llama2", LLAMA2],
  ["llama3", LLAMA3],
  ["llama4", LLAMA4],
  ["mistral", MISTRAL],
  ["mistral-tekken", MISTRAL_TEKKEN],
  ["mistral-v11", MISTRAL_V11],
  ["mistral-v13", MISTRAL_V13],
  ["mistral-v3", MISTRAL_V3],
  ["mistral-v7", MISTRAL_V7],
  ["openchat", OPENCHAT],
  ["phi3", PHI3],
  ["phi4", PHI4],
  ["qwen3", QWEN3],
  ["qwen3-coder", QWEN3_CODER],
  ["seed-oss", SEED_OSS],
  ["vicuna", VICUNA],
  ["zephyr", ZEPHYR],
]);
