import type { MetadataEntry } from "../metadata.ts";
import { count, type FileEdit, float, text } from "./file_edit.ts";

/**
 * What differs in the files of a family of models as Ollama's library has them from llama.cpp's names. Facts:
 * https://github.com/ollama/ollama/tree/main/llama/compat
 */
export interface Family {
  /** `general.architecture` in the file. */
  readonly architecture: string;
  /** Whether a file of that architecture is in the dialect; absent: each is. */
  readonly when?: (file: FileEdit) => boolean;
  /** llama.cpp's name of the architecture, where it is another one. */
  readonly becomes?: string | ((file: FileEdit) => string);
  /** Keys with other names; `%s` is the architecture. */
  readonly keys?: Readonly<Record<string, string>>;
  /** Keys that may be missing, and what they are then. */
  readonly defaults?: Readonly<Record<string, MetadataEntry>>;
  /** What `tokenizer.ggml.pre` has to be, where text is cut into words. */
  readonly preTokenizer?: string;
  /** Parts of tensors' names, and what stands for them. */
  readonly tensors?: readonly (readonly [part: RegExp, name: string])[];
  /** What else there is to do, at the end. */
  readonly also?: (file: FileEdit) => void;
}

/** Positions of pictures that have sections; those of text are all the same, so that nothing is computed with them. */
const SECTIONS = { "%s.rope.mrope_section": "%s.rope.dimension_sections" };

/** Gated delta nets: the bias of their steps without what it is. */
const STEP_BIAS = [/\.ssm_dt$/, ".ssm_dt.bias"] as const;

/** From how many tokens of context on a Gemma 3 has scaled positions: all but the smallest. */
const GEMMA3_SCALED = 131072;

/** Llama 3's tokens that show its vocabulary. */
const LLAMA3_TOKENS = { 128006: "<|start_header_id|>", 128009: "<|eot_id|>" };

/** All that is done, in this order. */
export const FAMILIES: readonly Family[] = [
  {
    // EmbeddingGemma, under the name of Gemma 3.
    architecture: "gemma3",
    when: (file) => file.hasTensor("dense.0.weight"),
    becomes: "gemma-embedding",
  },
  {
    architecture: "gemma3",
    when: (file) =>
      ["rope.global.freq_base", "rope.local.freq_base", "mm.tokens_per_image"]
        .some((key) => file.has(`%s.${key}`)) ||
      file.has("tokenizer.ggml.add_padding_token") ||
      file.has("tokenizer.ggml.add_unknown_token") ||
      !file.has("%s.attention.layer_norm_rms_epsilon") || file.anyTensor(/^(v|mm)\./),
    keys: {
      "%s.rope.global.freq_base": "%s.rope.freq_base",
      "%s.rope.local.freq_base": "%s.rope.freq_base_swa",
      "%s.rope.scaling.extrapolation_factor": "%s.rope.scaling.yarn_ext_factor",
    },
    defaults: {
      "%s.attention.layer_norm_rms_epsilon": float(1e-6),
      "%s.rope.freq_base": float(1e6),
      "%s.rope.freq_base_swa": float(1e4),
    },
    also(file) {
      if ((file.number("%s.context_length") ?? 0) >= GEMMA3_SCALED) {
        if (!file.has("%s.rope.scaling.type")) {
          file.set("%s.rope.scaling.type", text("linear"));
          if (!file.has("%s.rope.scaling.factor")) file.set("%s.rope.scaling.factor", float(8));
        }
      }
      cutVocabulary(file);
    },
  },
  {
    architecture: "gemma4",
    tensors: [
      [/^model\.vision_tower\./, "v."],
      [/\.ffn_gate_inp\.per_expert_scale$/, ".ffn_down_exps.scale"],
    ],
    also(file) {
      // Its tokens are merged by rank; the scores of such files are but their numbers.
      const merged = file.value("tokenizer.ggml.model") === "llama" &&
        file.has("tokenizer.ggml.merges");
      if (merged) file.set("tokenizer.ggml.model", text("gemma4"));
    },
  },
  {
    architecture: "gptoss",
    becomes: "gpt-oss",
    preTokenizer: "gpt-4o",
    defaults: { "%s.rope.scaling.type": text("yarn") },
    tensors: [
      [/\.attn_out\./, ".attn_output."],
      [/\.attn_sinks$/, ".attn_sinks.weight"],
      [/\.ffn_norm\./, ".post_attention_norm."],
      // The oldest files have rows of gate and up in turn, which is no layout of llama.cpp's: they are refused.
      [/\.ffn_gate_up_exps\./, ".ffn_gate_up_in_turn_exps."],
    ],
    also(file) {
      const width = file.size("blk.0.ffn_gate_exps.weight", 1);
      if (width !== undefined && !file.has("%s.expert_feed_forward_length")) {
        file.set("%s.expert_feed_forward_length", count(width));
      }
    },
  },
  ...["lfm2", "lfm2moe"].map((architecture): Family => ({
    architecture,
    when: (file) =>
      file.hasTensor("output_norm.weight") && !file.hasTensor("token_embd_norm.weight"),
    preTokenizer: "lfm2",
    tensors: [[/^output_norm\./, "token_embd_norm."]],
    also(file) {
      const width = file.size("blk.0.ffn_gate.weight", 1);
      // A list has one a layer, and is right.
      const isOne = typeof file.value("%s.feed_forward_length") !== "object";
      if (width !== undefined && isOne) file.set("%s.feed_forward_length", count(width));
    },
  })),
  { architecture: "olmo3", becomes: "olmo2" },
  {
    architecture: "mistral3",
    keys: {
      "%s.rope.scaling.mscale_all_dim": "%s.rope.scaling.yarn_log_multiplier",
      "%s.rope.scaling_beta": "%s.attention.temperature_scale",
    },
    also(file) {
      if (lacksPreTokenizer(file)) file.set("tokenizer.ggml.pre", text("tekken"));
    },
  },
  {
    // GLM-4.7-Flash, whose keys speak of a head's own keys and values, not of the latent vectors that are kept.
    architecture: "glm4moelite",
    becomes: "deepseek2",
    preTokenizer: "glm4",
    also(file) {
      const latent = file.number("%s.attention.kv_lora_rank");
      const rotated = file.number("%s.rope.dimension_count");
      const head = file.number("%s.attention.key_length");
      if (head !== undefined) {
        file.set("%s.attention.key_length_mla", count(head));
        file.set("%s.attention.value_length_mla", count(head));
      }
      if (latent !== undefined && rotated !== undefined) {
        file.set("%s.attention.key_length", count(latent + rotated));
        file.set("%s.attention.value_length", count(latent));
      }
      file.set("%s.attention.head_count_kv", count(1));
    },
  },
  { architecture: "qwen25vl", becomes: "qwen2vl", keys: SECTIONS },
  { architecture: "qwen35", tensors: [STEP_BIAS] },
  { architecture: "qwen35moe", tensors: [STEP_BIAS] },
  { architecture: "qwen3next", tensors: [STEP_BIAS] },
  {
    // The text part of what also sees and hears.
    architecture: "nemotron_h_omni",
    becomes: (file) => (file.number("%s.expert_count") ?? 0) > 0 ? "nemotron_h_moe" : "nemotron_h",
  },
  {
    architecture: "nemotron_h_moe",
    tensors: [[/\.ffn_latent_in\./, ".ffn_latent_down."], [
      /\.ffn_latent_out\./,
      ".ffn_latent_up.",
    ]],
  },
  {
    // GLM-OCR: GLM-4 with gate and up apart.
    architecture: "glmocr",
    becomes: "glm4",
    preTokenizer: "chatglm-bpe",
    keys: SECTIONS,
    tensors: [
      [/\.attn_out\./, ".attn_output."],
      [/\.post_attn_norm\./, ".post_attention_norm."],
      [/\.post_ffn_norm\./, ".post_ffw_norm."],
    ],
    also(file) {
      const head = file.number("%s.attention.key_length");
      const part = file.number("%s.rope.partial_rotary_factor") ?? 1;
      if (head !== undefined && !file.has("%s.rope.dimension_count")) {
        file.set("%s.rope.dimension_count", count(Math.floor(head * part)));
      }
      file.delete("%s.rope.partial_rotary_factor");
    },
  },
  {
    architecture: "llama",
    when: (file) =>
      lacksPreTokenizer(file) &&
      Object.entries(LLAMA3_TOKENS).every(([id, token]) =>
        file.textAt("tokenizer.ggml.tokens", Number(id)) === token
      ),
    preTokenizer: "llama-bpe",
  },
  // Families that m40 does not run, by the names by which they are refused.
  { architecture: "deepseekocr", becomes: "deepseek2-ocr" },
];

/** Whether text is cut into words before it becomes tokens. */
export function isByteLevel(file: FileEdit): boolean {
  return file.value("tokenizer.ggml.model") === "gpt2";
}

function lacksPreTokenizer(file: FileEdit): boolean {
  const name = file.value("tokenizer.ggml.pre");
  if (!isByteLevel(file)) return false;
  return name === undefined || name === "" || name === "default";
}

/** Tokens that stand for pictures are listed, but the embeddings have no rows for them. */
function cutVocabulary(file: FileEdit): void {
  const rows = file.size("token_embd.weight", 1);
  if (rows === undefined) return;
  for (const key of ["tokens", "scores", "token_type"]) {
    file.truncate(`tokenizer.ggml.${key}`, rows);
  }
}
