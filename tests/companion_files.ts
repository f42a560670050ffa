// Files that lie beside models and are none, by their headers alone.
import { Metadata, type MetadataEntry } from "../engine/gguf/metadata.ts";
import { encodeHeader } from "../engine/gguf/writer.ts";
import { tensorTypeByName } from "../engine/gguf/types.ts";

const F32 = tensorTypeByName("F32")!;

/** The kinds, with what makes a file one. */
export const COMPANIONS: Readonly<
  Record<string, { readonly keys: Record<string, string | number>; readonly tensors: string[] }>
> = {
  projector: {
    keys: { "general.architecture": "clip", "general.type": "mmproj" },
    tensors: ["v.patch_embd.weight", "mm.0.weight"],
  },
  // Files from before there was general.type.
  "old projector": { keys: { "general.architecture": "clip" }, tensors: ["v.patch_embd.weight"] },
  "LoRA adapter": {
    keys: {
      "general.architecture": "llama",
      "general.type": "adapter",
      "adapter.type": "lora",
      "adapter.lora.alpha": 16,
    },
    tensors: ["blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b"],
  },
  "importance matrix": {
    keys: { "general.type": "imatrix", "imatrix.chunk_count": 100 },
    tensors: ["blk.0.attn_q.weight.in_sum2", "blk.0.attn_q.weight.counts"],
  },
  "control vector": {
    keys: { "general.architecture": "controlvector", "controlvector.model_hint": "llama" },
    tensors: ["direction.1"],
  },
  drafter: {
    keys: {
      "general.architecture": "gemma4-assistant",
      "general.type": "model",
      "gemma4-assistant.block_count": 4,
      "gemma4-assistant.nextn_predict_layers": 4,
    },
    tensors: ["blk.0.attn_q.weight", "nextn.pre_projection.weight"],
  },
  // Only the layer that predicts a further token, under the model's own architecture.
  "drafter of a model's architecture": {
    keys: {
      "general.architecture": "qwen35",
      "general.type": "model",
      "qwen35.block_count": 33,
      "qwen35.nextn_predict_layers": 1,
    },
    tensors: ["token_embd.weight", "blk.32.nextn.eh_proj.weight", "output_norm.weight"],
  },
  vocabulary: {
    keys: { "general.architecture": "llama", "tokenizer.ggml.model": "gpt2" },
    tensors: [],
  },
};

/** What {@link COMPANIONS} has a name for, as m40 calls it. */
export function kindOf(name: string): string {
  return name.replace(/^old /, "").replace(/ of a model's architecture$/, "");
}

/** A file of a kind, whole. Another number gives other bytes. */
export function companionFile(kind: string, variant = 0): Uint8Array<ArrayBuffer> {
  const { keys, tensors } = COMPANIONS[kind];
  const entries = Object.entries({ ...keys, "general.name": `${kind} ${variant}` }).map((
    [key, value],
  ): [string, MetadataEntry] => [
    key,
    typeof value === "string" ? { type: "string", value } : { type: "uint32", value },
  ]);
  const header = encodeHeader(
    new Metadata(entries),
    tensors.map((name) => ({ name, type: F32, shape: [32, 32], data: new Uint8Array() })),
    32,
  );
  const bytes = new Uint8Array(Math.ceil(header.length / 32) * 32 + tensors.length * 32 * 32 * 4);
  bytes.set(header);
  return bytes;
}
