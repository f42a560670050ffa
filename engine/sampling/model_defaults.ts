import { M40Error } from "../errors.ts";
import type { Metadata } from "../gguf/mod.ts";
import { NAMED_PARAMETERS, type SamplingParameter, type SamplingParameters } from "./parameters.ts";
import { validateSampling } from "./validation.ts";

const PREFIX = "general.sampling.";

/**
 * The sampling that a model's makers recommend, from the file's `general.sampling.*`.
 *
 * @param warn Receives a sentence about each ignored entry: unknown keys, such as the order of samplers (it is fixed
 * here), and values that no request may have either.
 */
export function modelSamplingDefaults(
  metadata: Metadata,
  warn: (warning: string) => void = () => {},
): Partial<SamplingParameters> {
  const defaults: { [Name in SamplingParameter]?: number } = {};
  for (const key of metadata.keys()) {
    if (!key.startsWith(PREFIX)) continue;
    const name = NAMED_PARAMETERS.find(({ gguf }) => gguf && PREFIX + gguf === key)?.name;
    if (name === undefined) {
      warn(`the model's ${key.slice(0, 80)} is not known, and not used`);
      continue;
    }
    try {
      const number = metadata.number(key);
      // A float32, of 0.95 say, is meant as the decimal that it is nearest to.
      const value = metadata.type(key) === "float32" ? Number(number.toPrecision(7)) : number;
      validateSampling({ [name]: value }, 0);
      defaults[name] = value;
    } catch (error) {
      if (!(error instanceof M40Error)) throw error;
      warn(`the model's ${key} is not used: ${error.message}`);
    }
  }
  return defaults as Partial<SamplingParameters>;
}
