import { arrayEntry, entry } from "../engine/gguf/entries.ts";
import type { MetadataEntry } from "../engine/gguf/metadata.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import { tensorTypeByName } from "../engine/gguf/types.ts";
import { type GgufTensorInput, writeGguf } from "../engine/gguf/writer.ts";
import { GOLDENS } from "./changed_model.ts";

/** A file under construction: a golden, with other names. */
export class Rewritten {
  constructor(
    readonly metadata: Map<string, MetadataEntry>,
    public tensors: GgufTensorInput[],
  ) {}

  static async of(golden: string): Promise<Rewritten> {
    const path = new URL(`${golden}.gguf`, GOLDENS).pathname;
    const gguf = await readGguf(path, { asWritten: true });
    const bytes = await Deno.readFile(path);
    return new Rewritten(
      new Map(gguf.metadata.entries()),
      [...gguf.tensors.values()].map(({ name, type, shape, offset, bytes: length }) => ({
        name,
        type,
        shape,
        data: bytes.subarray(offset, offset + length),
      })),
    );
  }

  async write(path: string): Promise<void> {
    await writeGguf(path, { metadata: this.metadata, tensors: this.tensors });
  }

  get architecture(): string {
    return this.metadata.get("general.architecture")!.value as string;
  }

  /** A key's full name: the architecture's stand for `%s`. */
  key(key: string): string {
    return key.replace("%s", this.architecture);
  }

  has(key: string): boolean {
    return this.metadata.has(this.key(key));
  }

  number(key: string): number {
    return this.metadata.get(this.key(key))!.value as number;
  }

  set(key: string, value: MetadataEntry): this {
    this.metadata.set(this.key(key), value);
    return this;
  }

  /** Takes keys away; they must be there. */
  drop(...keys: string[]): this {
    for (const key of keys) this.taken(key);
    return this;
  }

  rename(from: string, to: string): this {
    return this.set(to, this.taken(from));
  }

  private taken(key: string): MetadataEntry {
    const value = this.metadata.get(this.key(key));
    if (value === undefined) throw new Error(`the golden has no ${this.key(key)}`);
    this.metadata.delete(this.key(key));
    return value;
  }

  renameArchitecture(name: string): this {
    const old = `${this.architecture}.`;
    for (const [key, value] of [...this.metadata]) {
      if (!key.startsWith(old)) continue;
      this.metadata.delete(key);
      this.metadata.set(`${name}.${key.slice(old.length)}`, value);
    }
    return this.set("general.architecture", entry("string", name));
  }

  /** Renames the tensors that match; there must be some. */
  renameTensors(pattern: RegExp, name: string): this {
    const renamed = this.tensors.map((each) => ({
      ...each,
      name: each.name.replace(pattern, name),
    }));
    if (renamed.every(({ name }, i) => name === this.tensors[i].name)) {
      throw new Error(`the golden has no tensor ${pattern}`);
    }
    this.tensors = renamed;
    return this;
  }

  /** Adds a tensor of zeros. */
  addTensor(name: string, ...shape: number[]): this {
    const type = tensorTypeByName("F32")!;
    const data = new Uint8Array(4 * shape.reduce((product, n) => product * n, 1));
    this.tensors.push({ name, type, shape, data });
    return this;
  }

  /** Puts matrices of halves of another's rows in its place: the first, then the second. */
  splitRows(pattern: RegExp, first: string, second: string): this {
    this.tensors = this.tensors.flatMap((tensor) => {
      const { name, shape } = tensor;
      const data = tensor.data as Uint8Array;
      if (!pattern.test(name)) return [tensor];
      const half = [shape[0], shape[1] / 2];
      return [
        {
          ...tensor,
          name: name.replace(pattern, first),
          shape: half,
          data: data.subarray(0, data.length / 2),
        },
        {
          ...tensor,
          name: name.replace(pattern, second),
          shape: half,
          data: data.subarray(data.length / 2),
        },
      ];
    });
    return this;
  }

  /** One more token than the embeddings have rows. */
  addToken(): this {
    const key = (name: string) => `tokenizer.ggml.${name}`;
    const values = (name: string) => [...this.metadata.get(key(name))!.value as Iterable<never>];
    this.set(key("tokens"), arrayEntry("string", [...values("tokens"), "<image_soft_token>"]));
    this.set(key("scores"), arrayEntry("float32", [...values("scores"), 0]));
    this.set(key("token_type"), arrayEntry("int32", [...values("token_type"), 4]));
    return this;
  }
}

export const u32 = (value: number): MetadataEntry => entry("uint32", value);
export const f32 = (value: number): MetadataEntry => entry("float32", value);
export const text = (value: string): MetadataEntry => entry("string", value);

/** A family of models as Ollama's library has it: a golden, what of it is as there, and what was changed for that. */
export interface Dialect {
  readonly family: string;
  readonly golden: string;
  /** What both files have, where the golden has other numbers than published files. */
  readonly both?: (file: Rewritten) => void;
  readonly rewrite: (file: Rewritten) => void;
}

/** Numbers of pictures, as files have them that see. */
function sees(file: Rewritten): Rewritten {
  return file.addTensor("v.blk.0.attn_q.weight", 64, 64).addTensor("mm.0.weight", 64, 64)
    .set("%s.vision.block_count", u32(1)).set("%s.image_token_id", u32(3));
}

/** Every family of Ollama's `llama/compat` that m40 runs; facts: https://github.com/ollama/ollama */
export const DIALECTS: readonly Dialect[] = [
  {
    family: "gemma3, a small one: other names of the bases of positions, no epsilon",
    golden: "gemma3",
    both: (file) => file.set("%s.attention.layer_norm_rms_epsilon", f32(1e-6)),
    rewrite: (file) =>
      file.rename("%s.rope.freq_base", "%s.rope.global.freq_base")
        .set("%s.rope.local.freq_base", f32(1e4))
        .drop("%s.attention.layer_norm_rms_epsilon"),
  },
  {
    family: "gemma3, one that sees: nothing of positions, a token more than rows",
    golden: "gemma3",
    both: (file) =>
      file.set("%s.attention.layer_norm_rms_epsilon", f32(1e-6)).set("%s.rope.freq_base", f32(1e6))
        .set("%s.rope.freq_base_swa", f32(1e4)).set("%s.context_length", u32(131072))
        .set("%s.rope.scaling.type", text("linear")).set("%s.rope.scaling.factor", f32(8)),
    rewrite: (file) =>
      sees(file).addToken().set("%s.mm.tokens_per_image", u32(256)).drop(
        "%s.attention.layer_norm_rms_epsilon",
        "%s.rope.freq_base",
        "%s.rope.freq_base_swa",
        "%s.rope.scaling.type",
        "%s.rope.scaling.factor",
      ),
  },
  {
    family: "gemma3 with YaRN",
    golden: "gemma3",
    both: (file) =>
      file.set("%s.rope.scaling.type", text("yarn")).set("%s.rope.scaling.factor", f32(4))
        .set("%s.rope.scaling.original_context_length", u32(32))
        .set("%s.rope.scaling.yarn_ext_factor", f32(0.5))
        .set("%s.rope.scaling.yarn_beta_fast", f32(4)).set(
          "%s.rope.scaling.yarn_beta_slow",
          f32(0.5),
        ),
    rewrite: (file) =>
      file.rename("%s.rope.scaling.yarn_ext_factor", "%s.rope.scaling.extrapolation_factor")
        .rename("%s.rope.scaling.yarn_beta_fast", "%s.rope.scaling.beta_fast")
        .rename("%s.rope.scaling.yarn_beta_slow", "%s.rope.scaling.beta_slow")
        .set("%s.rope.local.freq_base", f32(1e4)),
  },
  {
    family: "gemma4, which sees and hears",
    golden: "gemma4-e2b",
    rewrite: (file) =>
      sees(file).addTensor("a.blk.0.x.weight", 64, 64)
        .addTensor("model.vision_tower.encoder.0.input_max", 1),
  },
  {
    family: "gemma4 with experts",
    golden: "gemma4-moe",
    rewrite: (file) =>
      file.renameTensors(/\.ffn_down_exps\.scale$/, ".ffn_gate_inp.per_expert_scale"),
  },
  {
    family: "gptoss",
    golden: "gpt-oss",
    both: (file) => file.set("%s.rope.scaling.type", text("yarn")),
    rewrite: (file) =>
      file.drop("%s.rope.scaling.type", "%s.expert_feed_forward_length")
        .set("tokenizer.ggml.pre", text("default")).renameArchitecture("gptoss")
        .renameTensors(/\.attn_output\./, ".attn_out.")
        .renameTensors(/\.attn_sinks\.weight$/, ".attn_sinks")
        .renameTensors(/\.post_attention_norm\./, ".ffn_norm."),
  },
  {
    family: "gptoss in MXFP4",
    golden: "gpt-oss-mxfp4",
    rewrite: (file) =>
      file.renameArchitecture("gptoss").renameTensors(/\.attn_output\./, ".attn_out.")
        .renameTensors(/\.attn_sinks\.weight$/, ".attn_sinks")
        .renameTensors(/\.post_attention_norm\./, ".ffn_norm."),
  },
  {
    family: "lfm2",
    golden: "lfm2",
    rewrite: (file) =>
      file.set("%s.feed_forward_length", u32(file.number("%s.feed_forward_length") * 3 / 2))
        .renameTensors(/^token_embd_norm\./, "output_norm."),
  },
  {
    family: "lfm2moe",
    golden: "lfm2moe",
    rewrite: (file) => file.renameTensors(/^token_embd_norm\./, "output_norm."),
  },
  { family: "olmo3", golden: "olmo3", rewrite: (file) => file.renameArchitecture("olmo3") },
  {
    family: "mistral3, which sees",
    golden: "mistral3",
    rewrite: (file) =>
      sees(file).rename("%s.rope.scaling.yarn_beta_fast", "%s.rope.scaling.beta_fast")
        .rename("%s.rope.scaling.yarn_beta_slow", "%s.rope.scaling.beta_slow")
        .rename("%s.rope.scaling.yarn_log_multiplier", "%s.rope.scaling.mscale_all_dim")
        .rename("%s.attention.temperature_scale", "%s.rope.scaling_beta"),
  },
  {
    family: "glm4moelite",
    golden: "deepseek2-v3",
    // There the values of a head are as many as those of its key.
    both: (file) => equalHeads(file),
    rewrite: (file) =>
      file.set("%s.attention.key_length", u32(file.number("%s.attention.key_length_mla")))
        .set("%s.attention.value_length", u32(file.number("%s.attention.value_length_mla")))
        .set("%s.attention.head_count_kv", u32(file.number("%s.attention.head_count")))
        .drop("%s.attention.key_length_mla", "%s.attention.value_length_mla")
        .renameArchitecture("glm4moelite"),
  },
  {
    family: "qwen25vl",
    golden: "qwen2vl",
    rewrite: (file) =>
      sees(file).drop("%s.rope.dimension_sections")
        .set("%s.rope.mrope_section", arrayEntry("int32", [2, 3, 3]))
        .renameArchitecture("qwen25vl"),
  },
  {
    family: "qwen3vl",
    golden: "qwen3vl",
    rewrite: (file) =>
      sees(file).drop("%s.rope.dimension_sections", "%s.n_deepstack_layers")
        .set("%s.rope.mrope_section", arrayEntry("int32", [2, 3, 3])),
  },
  {
    family: "qwen35",
    golden: "qwen35",
    rewrite: (file) => qwen35(file).addTensor("mtp.fc.weight", 128, 64),
  },
  {
    family: "qwen35moe",
    golden: "qwen35moe",
    rewrite: (file) =>
      qwen35(file).addTensor("mtp.layers.0.mlp.experts.0.up_proj.weight", 64, 64)
        .set("%s.norm_top_k_prob", entry("bool", true)),
  },
  {
    family: "qwen3next",
    golden: "qwen3next",
    rewrite: (file) => file.renameTensors(/\.ssm_dt\.bias$/, ".ssm_dt"),
  },
  {
    family: "nemotron_h_moe",
    golden: "nemotron_h_moe",
    rewrite: (file) =>
      file.addTensor("mtp.layers.0.mixer.experts.0.up_proj.weight", 64, 64)
        .addTensor("mtp.norm.weight", 64),
  },
  {
    family: "nemotron_h_omni with experts",
    golden: "nemotron_h_moe",
    rewrite: (file) =>
      sees(file).addTensor("a.blk.0.x.weight", 8, 8).set("%s.audio.block_count", u32(1))
        .renameArchitecture("nemotron_h_omni"),
  },
  {
    family: "nemotron_h_omni without experts",
    golden: "nemotron_h",
    rewrite: (file) => sees(file).renameArchitecture("nemotron_h_omni"),
  },
  {
    family: "llama4, which sees",
    golden: "llama4",
    rewrite: (file) => sees(file).set("%s.use_qk_norm", entry("bool", true)),
  },
  {
    family: "glmocr",
    golden: "glm4",
    both: (file) =>
      file.set("%s.rope.dimension_sections", arrayEntry("int32", [2, 1, 1, 0]))
        .set("%s.attention.key_length", u32(headDim(file)))
        .set("%s.attention.value_length", u32(headDim(file)))
        .set("%s.rope.dimension_count", u32(headDim(file))),
    rewrite: (file) =>
      sees(file).drop("%s.rope.dimension_sections", "%s.rope.dimension_count")
        .set("%s.rope.mrope_section", arrayEntry("int32", [2, 1, 1]))
        .set("%s.rope.partial_rotary_factor", f32(1)).renameArchitecture("glmocr")
        .renameTensors(/\.attn_output\./, ".attn_out.")
        .renameTensors(/\.post_attention_norm\./, ".post_attn_norm.")
        .renameTensors(/\.post_ffw_norm\./, ".post_ffn_norm.")
        .splitRows(/\.ffn_up\./, ".ffn_gate.", ".ffn_up."),
  },
];

function headDim(file: Rewritten): number {
  if (file.has("%s.attention.key_length")) return file.number("%s.attention.key_length");
  return file.number("%s.embedding_length") / file.number("%s.attention.head_count");
}

function qwen35(file: Rewritten): Rewritten {
  const blocks = file.number("%s.block_count");
  const kv = file.number("%s.attention.head_count_kv");
  return sees(file).renameTensors(/\.ssm_dt\.bias$/, ".ssm_dt")
    .set("%s.attention.head_count_kv", arrayEntry("uint32", new Array(blocks).fill(kv)))
    .set("%s.rope.dimension_sections", arrayEntry("int32", [2, 1, 1]))
    .set("%s.ssm.v_head_reordered", entry("bool", true))
    .set("%s.rope.mrope_interleaved", entry("bool", true));
}

/** Makes the values of a head as many as those of its key: the first rows of its weight for values once more. */
function equalHeads(file: Rewritten): void {
  const key = file.number("%s.attention.key_length_mla");
  const value = file.number("%s.attention.value_length_mla");
  if (key === value) return;
  const heads = file.number("%s.attention.head_count");
  file.set("%s.attention.value_length_mla", u32(key));
  file.tensors = file.tensors.map((tensor) => {
    const { name, shape } = tensor;
    const data = tensor.data as Uint8Array;
    if (name.endsWith(".attn_v_b.weight")) {
      const each = data.length / heads;
      const rows = each / value;
      const parts = Array.from({ length: heads }, (_, h) => {
        const head = data.subarray(h * each, (h + 1) * each);
        return resized(head, key * rows);
      });
      return { ...tensor, shape: [shape[0], key, shape[2]], data: joined(parts) };
    }
    if (!name.endsWith(".attn_output.weight")) return tensor;
    const rows = shape[1];
    const each = data.length / rows / heads;
    const parts = Array.from(
      { length: rows * heads },
      (_, i) => resized(data.subarray(i * each, (i + 1) * each), each / value * key),
    );
    return { ...tensor, shape: [heads * key, rows], data: joined(parts) };
  });
}

/** The bytes cut to a length, or begun again until they have it. */
function resized(bytes: Uint8Array, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => bytes[i % bytes.length]);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
