import { formatCount } from "../terminal/mod.ts";
import type { Gguf } from "../../engine/gguf/mod.ts";
import { sizesByType } from "../../engine/loading/mod.ts";
import type { Estimate } from "../../engine/memory/mod.ts";

/** What can be said of a model from the header of its file, whatever its architecture. */
export interface ModelSummary {
  /** `general.name`, where the file has one. */
  readonly title?: string;
  readonly architecture?: string;
  /** All weights, counted. */
  readonly parameters: number;
  /** The tensor type that most of the bytes have; undefined for a file without tensors. */
  readonly quantisation?: string;
  /** Largest first. */
  readonly types: ReturnType<typeof sizesByType>;
}

/** What a list says of a model. */
export interface Overview extends Omit<ModelSummary, "types"> {
  /** Tokens that it was trained for. */
  readonly contextTokens?: number;
  /** Absent where m40 cannot run the model, or does not know. */
  readonly estimate?: Estimate;
  /** Why m40 cannot run it. */
  readonly obstacle?: string;
}

/** Sums up a header. */
export function summarize(gguf: Gguf): ModelSummary {
  const types = sizesByType(gguf);
  return {
    title: text(gguf, "general.name"),
    architecture: text(gguf, "general.architecture"),
    parameters: types.reduce((sum, { weights }) => sum + weights, 0),
    quantisation: types[0]?.type,
    types,
  };
}

/** A model in a few words: `Tiny Stories, llama 15.2M Q8_0`. */
export function describe(
  { title, architecture, parameters, quantisation }: Omit<ModelSummary, "types">,
): string {
  const kind = [
    architecture ?? "unknown architecture",
    ...(quantisation === undefined ? ["vocabulary only"] : [formatCount(parameters), quantisation]),
  ].join(" ");
  return title === undefined ? kind : `${title}, ${kind}`;
}

function text(gguf: Gguf, key: string): string | undefined {
  const value = gguf.metadata.get(key);
  return typeof value === "string" && value !== "" ? value : undefined;
}
