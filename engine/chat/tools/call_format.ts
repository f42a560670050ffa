import type { Tool } from "../conversation.ts";
import { TOOL_FORMATS } from "./formats.ts";
import { GENERIC } from "./hermes.ts";
import { ScannedCalls } from "./scanned_calls.ts";
import { SAMPLE_CALL, type ToolAbilities } from "./tool_abilities.ts";
import type { ToolFormat } from "./tool_format.ts";

const SAMPLE_TOOL: Tool = {
  name: SAMPLE_CALL.name,
  parameters: { type: "object", properties: { key: { type: "string" } } },
};

/**
 * How a model writes its calls: as its template writes one. A template's words alone are not enough; some mention tags
 * that they do not use.
 *
 * @param likely The names of the formats whose words are in the template.
 * @returns The generic format, where the template writes calls in none that is known.
 */
export function callFormatOf(
  { sample }: Pick<ToolAbilities, "sample">,
  likely: readonly string[],
): ToolFormat {
  const first = TOOL_FORMATS.filter(({ name }) => likely.includes(name));
  if (sample === undefined) return first[0] ?? GENERIC;
  return first.find((format) => reads(format, sample)) ??
    TOOL_FORMATS.find((format) => !format.needsTokens && reads(format, sample)) ?? GENERIC;
}

/** Whether a format reads the sample's call in a text. */
function reads(format: ToolFormat, sample: string): boolean {
  const starts = format.openers([SAMPLE_TOOL]).map((opener) => sample.indexOf(opener));
  const start = Math.min(...starts.filter((at) => at >= 0));
  if (!Number.isFinite(start)) return false;
  const reader = new ScannedCalls(format.read, [SAMPLE_TOOL]);
  const pieces = [reader.push(sample.slice(start)), reader.flush()]
    .flatMap(({ toolCalls }) => toolCalls);
  const names = pieces.flatMap(({ name }) => name ?? []);
  const text = pieces.map((piece) => piece.arguments).join("");
  return names.length === 1 && names[0] === SAMPLE_CALL.name &&
    text.replaceAll(/\s/g, "") === JSON.stringify(SAMPLE_CALL.arguments);
}
