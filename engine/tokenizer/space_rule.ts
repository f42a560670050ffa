import type { TokenizerMetadata } from "./vocabulary.ts";

/** Which special tokens take the white space next to them along. */
export interface SpaceRule {
  before(text: string): boolean;
  after(text: string): boolean;
}

const never = () => false;

/** Tokens of Phi-3 that leave the space behind them. */
const KEPT_BY_PHI3 = new Set(["<unk>", "<s>", "<|endoftext|>"]);

/**
 * The rule of a model. Files do not say it; as in llama.cpp, the names of the model, its architecture and its
 * pre-tokenizer decide.
 */
export function spaceRule(metadata: TokenizerMetadata): SpaceRule {
  const model = metadata.string("general.name", "").toLowerCase();
  const architecture = metadata.string("general.architecture", "");
  const preTokenizer = metadata.string("tokenizer.ggml.pre", "");
  if (
    /jina-v2-(de|es|code)/.test(preTokenizer) || /nomic-bert-moe|jina-bert-v3/.test(architecture)
  ) return { before: (text) => text === "<mask>", after: never };
  if (/phi-?3/.test(model)) return { before: never, after: (text) => !KEPT_BY_PHI3.has(text) };
  if (model.includes("modern-bert")) return { before: (text) => text === "[MASK]", after: never };
  return { before: never, after: never };
}
