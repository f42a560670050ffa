import type { MetadataValue } from "../metadata.ts";

/** A key that changes what a model computes where somebody heeds it. */
export interface ChangingKey {
  /** Behind the architecture's prefix, or from `tokenizer.` on. */
  readonly key: RegExp;
  /** What it changes, as it completes "it changes". */
  readonly what: string;
  /** Values that change nothing; absent: all change something. */
  readonly unless?: (value: MetadataValue) => boolean;
}

/** Not there, or off: 0, false, or an empty list. */
const off = (value: MetadataValue) =>
  value === 0 || value === false || typeof value === "object" && value.length === 0 ||
  typeof value === "object" && isAll(value, 0);

/** A factor that multiplies nothing: 1, and 0, which stands for none. */
const one = (value: MetadataValue) => value === 1 || value === 0;

const yes = (value: MetadataValue) => value === true;

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
      /^rope\.scaling\.(beta_fast|beta_slow|mscale|mscale_all_dim|extrapolation_factor|yarn_.*)$/,
    what: "how positions are scaled",
    unless: one,
  },
  { key: /^rope\.scaling_beta$/, what: "how sharp attention is", unless: off },
  {
    key:
      /^rope\.(global|local|swa)\.|^rope\.(freq_base|dimension_count)_swa$|^rope\.freq_base_(global|local)$/,
    what: "the positions of some layers",
  },
  { key: /^attention\.temperature_scale$/, what: "how sharp attention is", unless: off },
  { key: /^attention\.rope_pattern$/, what: "which layers know of positions" },
  // Attention.
  { key: /^attention\.scale$/, what: "how sharp attention is", unless: off },
  { key: /^attention\.(output_scale|value_scale)$/, what: "what attention gives", unless: one },
  { key: /^attention\.clamp_kqv$/, what: "the values of attention", unless: off },
  { key: /^attention\.max_alibi_bias$/, what: "the positions of all layers", unless: off },
  {
    key:
      /^(attn|final|router|attention|output)_?(\.|_)logit_softcapping$|^attention\.logit_softcapping$/,
    what: "attention or logits",
    unless: off,
  },
  {
    key: /^attention\.(key|value)_length_(swa|mla)$/,
    what: "the heads of some layers",
    unless: off,
  },
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
