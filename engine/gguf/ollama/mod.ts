/**
 * The dialect of Ollama's library: files that its own converters wrote have other names of architectures, keys and
 * tensors than llama.cpp's, which all else here speaks. It is recognized by what is in a file.
 *
 * @module
 */
import type { Gguf } from "../header.ts";
import { FAMILIES, type Family, isByteLevel } from "./families.ts";
import { FileEdit, text } from "./file_edit.ts";

/** Keys that converters of several families wrote under other names. */
const COMMON_KEYS = {
  "%s.rope.scaling.beta_fast": "%s.rope.scaling.yarn_beta_fast",
  "%s.rope.scaling.beta_slow": "%s.rope.scaling.yarn_beta_slow",
  "%s.norm_top_k_prob": "%s.expert_weights_norm",
};

/** Layers that predict further tokens, which no pass of text computes. */
const PREDICTING = /^mtp\./;

/** A header in llama.cpp's names; the same object where it is so already. */
export function translateOllama(gguf: Gguf): Gguf {
  const file = new FileEdit(gguf);
  for (const family of FAMILIES) {
    if (file.architecture === family.architecture && (family.when?.(file) ?? true)) {
      translate(file, family);
    }
  }
  for (const [from, to] of Object.entries(COMMON_KEYS)) file.rename(from, to);
  const predicting = file.dropTensors(PREDICTING);
  if (predicting > 0) {
    file.notes.push(`Its layers that predict further tokens (${predicting} tensors) are not used.`);
  }
  return file.result();
}

function translate(file: FileEdit, family: Family): void {
  const { becomes, keys = {}, defaults = {}, preTokenizer, tensors = [], also } = family;
  const name = typeof becomes === "function" ? becomes(file) : becomes;
  if (name !== undefined) {
    file.notes.push(`Its file is of Ollama's making: ${file.architecture} is read as ${name}.`);
    file.renameArchitecture(name);
  }
  for (const [from, to] of Object.entries(keys)) file.rename(from, to);
  for (const [key, entry] of Object.entries(defaults)) {
    if (!file.has(key)) file.set(key, entry);
  }
  if (preTokenizer !== undefined && isByteLevel(file)) {
    file.set("tokenizer.ggml.pre", text(preTokenizer));
  }
  for (const [part, replacement] of tensors) file.renameTensors(part, replacement);
  also?.(file);
}
