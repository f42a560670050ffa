import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import { GENERIC } from "./generic.ts";
import { HERMES } from "./hermes.ts";
import type { ToolFormat } from "./tool_format.ts";

/** The formats, in the order in which they are tried: those that more is known of come first. */
const FORMATS: readonly ToolFormat[] = [HERMES];

/** How a model with such a template and vocabulary writes its calls; {@link GENERIC} where none matches. */
export function toolFormatOf(template: string, tokenizer: Tokenizer): ToolFormat {
  return FORMATS.find((format) => format.matches(template, tokenizer)) ?? GENERIC;
}
