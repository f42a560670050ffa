import type { MetadataValue } from "../metadata.ts";

/** A key that changes what a model computes where the architecture reads it. */
export interface ChangingKey {
  /** Behind the architecture's prefix, or from `tokenizer.` on. */
  readonly key: RegExp;
  /** What it changes, as it completes "it changes". */
  readonly what: string;
  /** Values that change nothing; absent: all change something. */
  readonly unless?: (value: MetadataValue, other: OtherKey) => boolean;
}

/** The value of another key behind the same prefix. */
export type OtherKey = (key: string) => MetadataValue | undefined;

/** Not there, or off: 0, false, or an empty list. */
const off = (value: MetadataValue) =>
  value === 0 || value === false || typeof value === "object" && value.length === 0 ||
  typeof value === "object" && isAll(value, 0);

/** A factor that multiplies nothing: 1, and 0, which stands for none. */
const one = (value: MetadataValue) => value === 1 || value === 0;

const yes = (value: MetadataValue) => value === true;

/** What another key says as well. */
const same = (key: string) => (value: MetadataValue, other: OtherKey) => value === other(key);

function isAll(value: object, wanted: number): boolean {
  return ArrayBuffer.isView(value) &&
    (value as unknown as readonly number[]).every((each) => Number(each) === wanted);
}

/** A key, and when it changes nothing; absent: never. */
type Key = readonly [key: RegExp, unless?: ChangingKey["unless"]];

/** Keys by what they change. */
const CHANGING: Readonly<Record<string, readonly Key[]>> = {
  "how positions are scaled": [
    [
      /^rope\.scaling\.(beta_fast|beta_slow|mscale|mscale_all_dim|extrapolation_factor|yarn_log_multiplier|yarn_beta_.*)$/,
      (value, other) => one(value) || other("rope.scaling.type") !== "yarn",
    ],
    // Where positions are scaled otherwise than by YaRN.
    [/^rope\.scaling\.yarn_ext_factor$/, off],
  ],
  "the positions of some layers": [
    [/^rope\.(global|local|swa)\.|^rope\.freq_base_(global|local)$/],
    [/^rope\.freq_base_swa$/, same("rope.freq_base")],
    [/^rope\.dimension_count_swa$/, same("rope.dimension_count")],
  ],
  "the positions of all layers": [
    [/^attention\.(max_alibi_bias|relative_buckets_count)$/, off],
  ],
  "which layers know of positions": [[/^attention\.rope_pattern$/]],
  "how sharp attention is": [
    [/^rope\.scaling_beta$/, off],
    [/^attention\.temperature_scale$/, off],
    [
      /^attention\.scale$/,
      (value, other) =>
        off(value) ||
        Math.abs(Number(value) - Number(other("attention.key_length")) ** -0.5) < 1e-6,
    ],
  ],
  "what attention gives": [[/^attention\.(output_scale|value_scale)$/, one]],
  // What Llama 4 has in any case.
  "how far back attention looks": [[/^attention\.chunk_size$/, (value) => value === 8192]],
  "the values of attention": [[/^attention\.clamp_kqv$/, off]],
  "attention or logits": [[
    /^(attn|final|router|attention|output)_?(\.|_)logit_softcapping$|^attention\.logit_softcapping$/,
    off,
  ]],
  "some heads": [
    [/^attention\.key_length_swa$/, same("attention.key_length")],
    [/^attention\.value_length_swa$/, same("attention.value_length")],
  ],
  "how attention is computed": [[/^attention\.((key|value)_length_mla|(q|kv)_lora_rank)$/, off]],
  "which keys layers look at": [[/^attention\.shared_kv_layers$/, off]],
  "which tokens attention looks at": [[/^attention\.indexer\./, off]],
  "what layers are given": [
    [/^(logit|residual|embedding)_scale$/, one],
    [/^embedding_length_per_layer_input$/, off],
    [/^(altup|laurel)\./],
  ],
  "the feed-forward layers": [[/^(activation_sparsity_scale$|swiglu_clamp)/, off]],
  "what experts give": [[/^expert_weights_scale$/, one]],
  "which experts are used": [
    [/^(expert_(weights_norm|gating_func|group_scale|group_count)|experts_per_group)$/, off],
  ],
  "which layers have experts": [[/^(interleave_moe_layer_step|moe_every_n_layers)$/, one]],
  "what experts are given": [[/^moe_latent_size$/, off]],
  "the layers with a state": [[/^ssm\.dt_b_c_rms$/, off]],
  "the order of heads": [[/^ssm\.v_head_reordered$/, yes]],
  "which layers have attention": [[/^full_attention_interval$/]],
  "which tokens a text becomes": [
    [/^tokenizer\.ggml\.normalizer\.(lowercase|strip_accents)$/, off],
  ],
};

/**
 * Keys that refuse a file whose architecture does not read them: to do without them would give other results, and
 * nothing would say so.
 */
export const CHANGING_KEYS: readonly ChangingKey[] = Object.entries(CHANGING)
  .flatMap(([what, keys]) => keys.map(([key, unless]) => ({ key, what, unless })));
