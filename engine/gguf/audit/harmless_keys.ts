/**
 * Keys that need no reader, after the architecture's prefix: what they say is said by tensors, holds for pictures or
 * sound alone, or is for people and for other programs.
 */
export const HARMLESS_KEYS: readonly RegExp[] = [
  // Pictures and sound.
  /^(vision|audio|mm|image|video)([._]|$)/,
  /^(n_deepstack_layers|spatial_merge_size|image_token_index|use_qk_norm)$/,
  /^(rope\.(dimension_sections|mrope_section|mrope_interleaved)|mrope_sections)$/,
  // What tensors say as well.
  /^(vocab_size|tensor_data_layout|feed_forward_length|max_position_embeddings)$/,
  /^use_parallel_residual$/,
  /^(expert_shared_count|expert_shared_feed_forward_length|expert_feed_forward_length)$/,
  /^(leading_dense_block_count|expert_used_count|expert_count)$/,
  /^attention\.(head_count|head_count_kv|key_length|value_length|head_dim)$/,
  // Of a model whose layers have no positions, no norms of that kind, no windows or no experts in groups.
  /^rope\.(dimension_count|freq_base|freq_scale|scale_linear)$/,
  /^rope\.scaling\.(type|factor|attn_factor|finetuned|original_context_length)$/,
  // YaRN's magnitude, which follows from its factor.
  /^rope\.scaling\.yarn_attn_factor$/,
  /^attention\.(layer_norm_epsilon|layer_norm_rms_epsilon|group_norm_epsilon|group_norm_groups)$/,
  /^attention\.(sliding_window_pattern|temperature_length|causal)$/,
  /^expert_group_used_count$/,
  // Embeddings and classes made of what a model computes.
  /^(pooling_type|classifier\..*|dense_[23]_feat_(in|out))$/,
];

/** The same of a vocabulary, behind `tokenizer.`. */
export const HARMLESS_TOKENIZER_KEYS: readonly RegExp[] = [
  // Templates are read when conversations are.
  /^chat_templates?(\..*)?$/,
  /^(huggingface\.json|rwkv\.world)$/,
  // Kinds of vocabularies that do without.
  /^ggml\.(pre|scores|merges|token_type|token_type_count|precompiled_charsmap|added_tokens)$/,
  /^ggml\.(remove_extra_whitespaces|add_space_prefix|add_sep_token)$/,
  // Tokens with a name, which no text becomes by that, and lists of them; those that end an answer are read.
  /^ggml\.\w+_token_ids?$/,
  /^ggml\.add_(padding|unknown|mask|cls|sep|seperator|separator)_token$/,
];
