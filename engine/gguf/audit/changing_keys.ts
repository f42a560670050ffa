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

/**
 * Keys that refuse a file whose architecture does not read them: to do without them would give other results, and
 * nothing would say so.
 */
export const CHANGING_KEYS: readonly ChangingKey[] = [
  // Positions.
  {
    key:
      /^rope\.scaling\.(beta_fast|beta_slow|mscale|mscale_all_dim|extrapolation_factor|yarn_log_multiplier|yarn_beta_.*)$/,
    what: "how positions are scaled",
    unless: (value, other) => one(value) || other("rope.scaling.type") !== "yarn",
  },
  // Where positions are scaled otherwise than by YaRN.
  { key: /^rope\.scaling\.yarn_ext_factor$/, what: "how positions are scaled", unless: off },
  { key: /^rope\.scaling_beta$/, what: "how sharp attention is", unless: off },
  {
    key: /^rope\.(global|local|swa)\.|^rope\.freq_base_(global|local)$/,
    what: "the positions of some layers",
  },
  {
    key: /^rope\.freq_base_swa$/,
    what: "the positions of some layers",
    unless: same("rope.freq_base"),
  },
  {
    key: /^rope\.dimension_count_swa$/,
    what: "the positions of some layers",
    unless: same("rope.dimension_count"),
  },
  { key: /^attention\.temperature_scale$/, what: "how sharp attention is", unless: off },
  { key: /^attention\.rope_pattern$/, what: "which layers know of positions" },
  // Attention.
  {
    key: /^attention\.scale$/,
    what: "how sharp attention is",
    unless: (value, other) =>
      off(value) || Math.abs(Number(value) - Number(other("attention.key_length")) ** -0.5) < 1e-6,
  },
  { key: /^attention\.(output_scale|value_scale)$/, what: "what attention gives", unless: one },
  // What Llama 4 has in any case.
  {
    key: /^attention\.chunk_size$/,
    what: "how far back attention looks",
    unless: (value) => value === 8192,
  },
  { key: /^attention\.clamp_kqv$/, what: "the values of attention", unless: off },
  { key: /^attention\.max_alibi_bias$/, what: "the positions of all layers", unless: off },
  {
    key:
      /^(attn|final|router|attention|output)_?(\.|_)logit_softcapping$|^attention\.logit_softcapping$/,
    what: "attention or logits",
    unless: off,
  },
  { key: /^attention\.key_length_swa$/, what: "some heads", unless: same("attention.key_length") },
  {
    key: /^attention\.value_length_swa$/,
    what: "some heads",
    unless: same("attention.value_length"),
  },
  { key: /^attention\.(key|value)_length_mla$/, what: "how attention is computed", unless: off },
  { key: /^attention\.shared_kv_layers$/, what: "which keys layers look at", unless: off },
  { key: /^attention\.(q|kv)_lora_rank$/, what: "how attention is computed", unless: off },
  { key: /^attention\.indexer\./, what: "which tokens attention looks at", unless: off },
  { key: /^attention\.relative_buckets_count$/, what: "the positions of all layers", unless: off },
  // What multiplies.
  { key: /^(logit|residual|embedding)_scale$/, what: "what layers are given", unless: one },
  { key: /^embedding_length_per_layer_input$/, what: "what layers are given", unless: off },
  { key: /^(altup|laurel)\./, what: "what layers are given" },
  { key: /^activation_sparsity_scale$/, what: "the feed-forward layers", unless: off },
  { key: /^swiglu_clamp/, what: "the feed-forward layers", unless: off },
  // Experts.
  { key: /^expert_weights_scale$/, what: "what experts give", unless: one },
  {
    key: /^expert_(weights_norm|gating_func|group_scale|group_count)$/,
    what: "which experts are used",
    unless: off,
  },
  { key: /^experts_per_group$/, what: "which experts are used", unless: off },
  {
    key: /^(interleave_moe_layer_step|moe_every_n_layers)$/,
    what: "which layers have experts",
    unless: one,
  },
  { key: /^moe_latent_size$/, what: "what experts are given", unless: off },
  // Layers with a state.
  { key: /^ssm\.dt_b_c_rms$/, what: "the layers with a state", unless: off },
  { key: /^ssm\.v_head_reordered$/, what: "the order of heads", unless: yes },
  { key: /^full_attention_interval$/, what: "which layers have attention" },
  // Vocabularies.
  {
    key: /^tokenizer\.ggml\.normalizer\.(lowercase|strip_accents)$/,
    what: "which tokens a text becomes",
    unless: off,
  },
];
