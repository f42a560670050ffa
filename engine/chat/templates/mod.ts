/**
 * The chat templates that come with m40, written after the models' documentation. A model's own
 * template is better where it has one. Models that were trained to call tools get them here too, in their own form but
 * not in their own words.
 *
 * @module
 */
import { CHATML } from "./chatml.ts";
import { DEEPSEEK } from "./deepseek.ts";
import { GEMMA4 } from "./gemma4.ts";
import { HARMONY } from "./harmony.ts";
import { HEADED } from "./headed.ts";
import { LLAMA } from "./llama.ts";
import { MISTRAL } from "./mistral.ts";

const TEMPLATES = {
  ...CHATML,
  ...DEEPSEEK,
  ...HEADED,
  ...LLAMA,
  ...MISTRAL,
  gemma4: GEMMA4,
  "gpt-oss": HARMONY,
};

/** The templates by the names that `--chat-template` takes, in the order of these. */
export const BUILT_IN_TEMPLATES: ReadonlyMap<string, string> = new Map(
  Object.entries(TEMPLATES).sort(([a], [b]) => a < b ? -1 : 1),
);
