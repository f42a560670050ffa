// Written by `deno task abi` out of cuda/include/m40.h: change that, not this.
constexpr Field embed_fields[] = {
    writes(FIELD(embed, output), RowKind::kTokens, COUNT(wide(op.embed.columns))),
    matrix(FIELD(embed, table), nullptr, COUNT(wide(op.embed.columns))),
    optional(matrix(FIELD(embed, position_table), nullptr, COUNT(wide(op.embed.columns)))),
    FIELD(embed, columns),
    FIELD(embed, scale),
};

constexpr Field norm_fields[] = {
    reads(FIELD(norm, input), RowKind::kAny, COUNT(wide(op.norm.input_column) + wide(op.norm.n_groups) * wide(op.norm.columns))),
    writes(FIELD(norm, output), RowKind::kAsFirst, COUNT(wide(op.norm.output_column) + wide(op.norm.n_groups) * wide(op.norm.columns))),
    optional(vector(FIELD(norm, weight), COUNT(wide(op.norm.weight_per_group) ? wide(op.norm.n_groups) * wide(op.norm.columns) : wide(op.norm.columns)))),
    optional(vector(FIELD(norm, bias), COUNT(wide(op.norm.weight_per_group) ? wide(op.norm.n_groups) * wide(op.norm.columns) : wide(op.norm.columns)))),
    optional(reads(FIELD(norm, residual), RowKind::kAsFirst, COUNT(wide(op.norm.output_column) + wide(op.norm.n_groups) * wide(op.norm.columns)))),
    optional(vector(FIELD(norm, factor), COUNT(1))),
    FIELD(norm, norm),
    FIELD(norm, columns),
    FIELD(norm, n_groups),
    FIELD(norm, weight_per_group),
    FIELD(norm, input_column),
    FIELD(norm, output_column),
    FIELD(norm, epsilon),
};

constexpr Field matmul_fields[] = {
    reads(FIELD(matmul, input), RowKind::kAny, COUNT(wide(op.matmul.columns))),
    writes(FIELD(matmul, output), RowKind::kAsFirst, COUNT(most(op.matmul.n_weights, [&](uint32_t i) { return wide(op.matmul.output_column[i]) + wide(op.matmul.rows[i]); }))),
    optional(reads(FIELD(matmul, residual), RowKind::kAsFirst, COUNT(most(op.matmul.n_weights, [&](uint32_t i) { return wide(op.matmul.output_column[i]) + wide(op.matmul.rows[i]); })))),
    FIELD(matmul, n_weights),
    FIELD(matmul, columns),
    FIELD(matmul, scale),
    matrix(FIELD(matmul, weight), COUNT(wide(op.matmul.rows[i])), COUNT(wide(op.matmul.columns))),
    optional(vector(FIELD(matmul, bias), COUNT(wide(op.matmul.rows[i])))),
    optional(vector(FIELD(matmul, factor), COUNT(1))),
    FIELD(matmul, rows),
    FIELD(matmul, output_column),
    FIELD(matmul, arithmetic),
};

constexpr Field rope_store_fields[] = {
    updates(FIELD(rope_store, q), RowKind::kTokens, COUNT(wide(op.rope_store.n_heads) * wide(op.rope_store.head_dim))),
    optional(reads(FIELD(rope_store, kv), RowKind::kTokens, COUNT(max(wide(op.rope_store.k_column) + wide(op.rope_store.n_kv_heads) * wide(op.rope_store.head_dim), wide(op.rope_store.v_column) == M40_NONE ? 0 : wide(op.rope_store.v_column) + wide(op.rope_store.n_kv_heads) * wide(op.rope_store.value_dim))))),
    FIELD(rope_store, k_column),
    FIELD(rope_store, v_column),
    FIELD(rope_store, layer),
    FIELD(rope_store, n_heads),
    FIELD(rope_store, n_kv_heads),
    FIELD(rope_store, head_dim),
    FIELD(rope_store, value_dim),
    FIELD(rope_store, rope_dim),
    FIELD(rope_store, rope_offset),
    FIELD(rope_store, rope),
    where([](const m40_op& op) { return wide(op.rope_store.rope) != M40_ROPE_NONE; }, optional(vector(FIELD(rope_store, factors), COUNT(wide(op.rope_store.rope_dim) / 2)))),
    FIELD(rope_store, head_norm),
    optional(vector(FIELD(rope_store, q_norm), COUNT(wide(op.rope_store.head_dim)))),
    optional(vector(FIELD(rope_store, k_norm), COUNT(wide(op.rope_store.head_dim)))),
    FIELD(rope_store, v_norm),
    FIELD(rope_store, original_context),
    FIELD(rope_store, temperature_length),
    FIELD(rope_store, temperature_offset),
    FIELD(rope_store, temperature_scale),
    FIELD(rope_store, norm_epsilon),
    FIELD(rope_store, freq_base),
    FIELD(rope_store, freq_scale),
    FIELD(rope_store, ext_factor),
    FIELD(rope_store, attention_factor),
    FIELD(rope_store, beta_fast),
    FIELD(rope_store, beta_slow),
};

constexpr Field attention_fields[] = {
    reads(FIELD(attention, q), RowKind::kTokens, COUNT(wide(op.attention.n_heads) * wide(op.attention.head_dim))),
    writes(FIELD(attention, output), RowKind::kTokens, COUNT(wide(op.attention.n_heads) * wide(op.attention.value_dim))),
    optional(vector(FIELD(attention, sinks), COUNT(wide(op.attention.n_heads)))),
    FIELD(attention, layer),
    FIELD(attention, n_heads),
    FIELD(attention, n_kv_heads),
    FIELD(attention, head_dim),
    FIELD(attention, value_dim),
    FIELD(attention, window),
    FIELD(attention, chunk),
    FIELD(attention, scale),
    FIELD(attention, softcap),
};

constexpr Field activation_fields[] = {
    reads(FIELD(activation, input), RowKind::kAny, COUNT(wide(op.activation.columns))),
    optional(reads(FIELD(activation, up), RowKind::kAsFirst, COUNT(wide(op.activation.up_column) + wide(op.activation.columns)))),
    writes(FIELD(activation, output), RowKind::kAsFirst, COUNT(wide(op.activation.columns))),
    FIELD(activation, activation),
    FIELD(activation, gated),
    FIELD(activation, columns),
    FIELD(activation, up_column),
    FIELD(activation, alpha),
    FIELD(activation, limit),
};

constexpr Field add_fields[] = {
    reads(FIELD(add, a), RowKind::kAny, COUNT(wide(op.add.columns))),
    reads(FIELD(add, b), RowKind::kAsFirst, COUNT(wide(op.add.columns))),
    optional(reads(FIELD(add, gate), RowKind::kAsFirst, COUNT(1))),
    writes(FIELD(add, output), RowKind::kAsFirst, COUNT(wide(op.add.columns))),
    FIELD(add, columns),
};

constexpr Field select_fields[] = {
    reads(FIELD(select, input), RowKind::kTokens, COUNT(wide(op.select.columns))),
    writes(FIELD(select, output), RowKind::kOutputs, COUNT(wide(op.select.columns))),
    FIELD(select, columns),
};

constexpr Field softcap_fields[] = {
    reads(FIELD(softcap, input), RowKind::kAny, COUNT(wide(op.softcap.columns))),
    writes(FIELD(softcap, output), RowKind::kAsFirst, COUNT(wide(op.softcap.columns))),
    FIELD(softcap, columns),
    FIELD(softcap, scale),
    FIELD(softcap, softcap),
};

constexpr Field route_fields[] = {
    reads(FIELD(route, input), RowKind::kTokens, COUNT(wide(op.route.n_experts))),
    writes(FIELD(route, experts), RowKind::kTokens, COUNT(wide(op.route.n_used) + wide(op.route.n_shared)), M40_ELEMENT_U32),
    writes(FIELD(route, weights), RowKind::kTokens, COUNT(wide(op.route.n_used) + wide(op.route.n_shared))),
    optional(vector(FIELD(route, bias), COUNT(wide(op.route.n_experts)))),
    FIELD(route, n_experts),
    FIELD(route, n_used),
    FIELD(route, n_shared),
    FIELD(route, score),
    FIELD(route, normalise),
    FIELD(route, n_groups),
    FIELD(route, n_groups_used),
    FIELD(route, scale),
    FIELD(route, least_sum),
};

constexpr Field expert_matmul_fields[] = {
    reads(FIELD(expert_matmul, input), RowKind::kAny, COUNT(wide(op.expert_matmul.columns))),
    reads(FIELD(expert_matmul, experts), RowKind::kTokens, COUNT(wide(op.expert_matmul.n_used)), M40_ELEMENT_U32),
    writes(FIELD(expert_matmul, output), RowKind::kExperts, COUNT(most(op.expert_matmul.n_weights, [&](uint32_t i) { return wide(op.expert_matmul.output_column[i]) + wide(op.expert_matmul.rows[i]); }))),
    optional(reads(FIELD(expert_matmul, weights), RowKind::kTokens, COUNT(wide(op.expert_matmul.n_used)))),
    FIELD(expert_matmul, n_weights),
    FIELD(expert_matmul, columns),
    FIELD(expert_matmul, n_used),
    FIELD(expert_matmul, n_experts),
    FIELD(expert_matmul, n_shared),
    experts(FIELD(expert_matmul, weight), COUNT(wide(op.expert_matmul.n_experts)), COUNT(wide(op.expert_matmul.rows[i])), COUNT(wide(op.expert_matmul.columns))),
    where([](const m40_op& op) { return wide(op.expert_matmul.n_shared) != 0; }, matrix(FIELD(expert_matmul, shared), COUNT(wide(op.expert_matmul.rows[i])), COUNT(wide(op.expert_matmul.columns)))),
    optional(vector(FIELD(expert_matmul, bias), COUNT(wide(op.expert_matmul.n_experts) * wide(op.expert_matmul.rows[i])))),
    optional(vector(FIELD(expert_matmul, factor), COUNT(wide(op.expert_matmul.n_experts)))),
    FIELD(expert_matmul, rows),
    FIELD(expert_matmul, output_column),
    FIELD(expert_matmul, arithmetic),
};

constexpr Field expert_sum_fields[] = {
    reads(FIELD(expert_sum, input), RowKind::kExperts, COUNT(wide(op.expert_sum.columns))),
    optional(reads(FIELD(expert_sum, weights), RowKind::kTokens, COUNT(wide(op.expert_sum.n_used)))),
    optional(reads(FIELD(expert_sum, residual), RowKind::kTokens, COUNT(wide(op.expert_sum.output_column) + wide(op.expert_sum.columns)))),
    writes(FIELD(expert_sum, output), RowKind::kTokens, COUNT(wide(op.expert_sum.output_column) + wide(op.expert_sum.columns))),
    FIELD(expert_sum, columns),
    FIELD(expert_sum, n_used),
    FIELD(expert_sum, output_column),
    FIELD(expert_sum, scale),
};

constexpr Field sample_fields[] = {
    reads(FIELD(sample, logits), RowKind::kOutputs, COUNT(wide(op.sample.columns))),
    FIELD(sample, columns),
    optional(lends(FIELD(sample, hidden), RowKind::kOutputs, COUNT(wide(op.sample.hidden_columns)))),
    FIELD(sample, hidden_columns),
};

constexpr Field head_matmul_fields[] = {
    reads(FIELD(head_matmul, input), RowKind::kTokens, COUNT((wide(op.head_matmul.n_heads) - 1) * wide(op.head_matmul.input_stride) + wide(op.head_matmul.columns) + wide(op.head_matmul.copied))),
    writes(FIELD(head_matmul, output), RowKind::kTokens, COUNT((wide(op.head_matmul.n_heads) - 1) * wide(op.head_matmul.output_stride) + wide(op.head_matmul.rows) + wide(op.head_matmul.copied))),
    experts(FIELD(head_matmul, weight), COUNT(wide(op.head_matmul.n_heads)), COUNT(wide(op.head_matmul.rows)), COUNT(wide(op.head_matmul.columns))),
    FIELD(head_matmul, n_heads),
    FIELD(head_matmul, columns),
    FIELD(head_matmul, rows),
    FIELD(head_matmul, input_stride),
    FIELD(head_matmul, output_stride),
    FIELD(head_matmul, copied),
};

constexpr Field conv_fields[] = {
    reads(FIELD(conv, input), RowKind::kTokens, COUNT(max(wide(op.conv.input_column), wide(op.conv.factor_column) == M40_NONE ? 0 : wide(op.conv.factor_column), wide(op.conv.gate_column) == M40_NONE ? 0 : wide(op.conv.gate_column)) + wide(op.conv.columns))),
    writes(FIELD(conv, output), RowKind::kTokens, COUNT(wide(op.conv.output_column) + wide(op.conv.columns))),
    vector(FIELD(conv, weight), COUNT(wide(op.conv.columns) * wide(op.conv.kernel))),
    optional(vector(FIELD(conv, bias), COUNT(wide(op.conv.columns)))),
    state(FIELD(conv, state), COUNT((wide(op.conv.kernel) - 1) * wide(op.conv.columns))),
    FIELD(conv, columns),
    FIELD(conv, kernel),
    FIELD(conv, activation),
    FIELD(conv, input_column),
    FIELD(conv, factor_column),
    FIELD(conv, gate_column),
    FIELD(conv, output_column),
};

constexpr Field delta_rule_fields[] = {
    reads(FIELD(delta_rule, qkv), RowKind::kTokens, COUNT(max(max(wide(op.delta_rule.q_column), wide(op.delta_rule.k_column)) + wide(op.delta_rule.n_k_heads) * wide(op.delta_rule.key_dim), wide(op.delta_rule.v_column) + wide(op.delta_rule.n_heads) * wide(op.delta_rule.value_dim)))),
    reads(FIELD(delta_rule, gates), RowKind::kTokens, COUNT(max(wide(op.delta_rule.a_column), wide(op.delta_rule.b_column)) + (wide(op.delta_rule.n_heads) / wide(op.delta_rule.gate_heads) - 1) * wide(op.delta_rule.gate_stride) + wide(op.delta_rule.gate_heads))),
    writes(FIELD(delta_rule, output), RowKind::kTokens, COUNT(wide(op.delta_rule.n_heads) * wide(op.delta_rule.value_dim))),
    vector(FIELD(delta_rule, decay), COUNT(wide(op.delta_rule.n_heads))),
    vector(FIELD(delta_rule, a_bias), COUNT(wide(op.delta_rule.n_heads))),
    state(FIELD(delta_rule, state), COUNT(wide(op.delta_rule.n_heads) * wide(op.delta_rule.key_dim) * wide(op.delta_rule.value_dim))),
    FIELD(delta_rule, n_heads),
    FIELD(delta_rule, n_k_heads),
    FIELD(delta_rule, key_dim),
    FIELD(delta_rule, value_dim),
    FIELD(delta_rule, q_column),
    FIELD(delta_rule, k_column),
    FIELD(delta_rule, v_column),
    FIELD(delta_rule, a_column),
    FIELD(delta_rule, b_column),
    FIELD(delta_rule, gate_heads),
    FIELD(delta_rule, gate_stride),
    FIELD(delta_rule, k_heads),
    FIELD(delta_rule, scale),
    FIELD(delta_rule, epsilon),
};

constexpr Field selective_scan_fields[] = {
    reads(FIELD(selective_scan, input), RowKind::kTokens, COUNT(max(max(wide(op.selective_scan.b_column), wide(op.selective_scan.c_column)) + wide(op.selective_scan.n_groups) * wide(op.selective_scan.state_dim), wide(op.selective_scan.x_column) + wide(op.selective_scan.n_heads) * wide(op.selective_scan.head_dim)))),
    reads(FIELD(selective_scan, steps), RowKind::kTokens, COUNT(wide(op.selective_scan.dt_column) + wide(op.selective_scan.n_heads))),
    writes(FIELD(selective_scan, output), RowKind::kTokens, COUNT(wide(op.selective_scan.n_heads) * wide(op.selective_scan.head_dim))),
    vector(FIELD(selective_scan, decay), COUNT(wide(op.selective_scan.n_heads))),
    vector(FIELD(selective_scan, skip), COUNT(wide(op.selective_scan.n_heads))),
    vector(FIELD(selective_scan, dt_bias), COUNT(wide(op.selective_scan.n_heads))),
    state(FIELD(selective_scan, state), COUNT(wide(op.selective_scan.n_heads) * wide(op.selective_scan.head_dim) * wide(op.selective_scan.state_dim))),
    FIELD(selective_scan, n_heads),
    FIELD(selective_scan, n_groups),
    FIELD(selective_scan, head_dim),
    FIELD(selective_scan, state_dim),
    FIELD(selective_scan, x_column),
    FIELD(selective_scan, b_column),
    FIELD(selective_scan, c_column),
    FIELD(selective_scan, dt_column),
};

constexpr Field copy_fields[] = {
    reads(FIELD(copy, input), RowKind::kAny, COUNT(wide(op.copy.input_column) + (wide(op.copy.n_groups) - 1) * wide(op.copy.input_stride) + wide(op.copy.columns))),
    writes(FIELD(copy, output), RowKind::kAsFirst, COUNT(wide(op.copy.output_column) + (wide(op.copy.n_groups) - 1) * wide(op.copy.output_stride) + wide(op.copy.columns))),
    FIELD(copy, columns),
    FIELD(copy, n_groups),
    FIELD(copy, input_column),
    FIELD(copy, input_stride),
    FIELD(copy, output_column),
    FIELD(copy, output_stride),
};

constexpr Field exchange_fields[] = {
    reads(FIELD(exchange, input), RowKind::kAny, COUNT(wide(op.exchange.input_column) + wide(op.exchange.bounds[op.exchange.card + 1]) - wide(op.exchange.bounds[op.exchange.card]))),
    writes(FIELD(exchange, output), RowKind::kAsFirst, COUNT(wide(op.exchange.bounds[op.exchange.n_cards]))),
    FIELD(exchange, input_column),
    FIELD(exchange, n_cards),
    FIELD(exchange, card),
    FIELD(exchange, bounds),
};

constexpr Operation all[] = {
    OPERATION(EMBED, embed, false, nullptr, nullptr, nullptr),
    OPERATION(NORM, norm, false, nullptr, nullptr, COUNT(wide(op.norm.n_groups) * wide(op.norm.columns))),
    OPERATION(MATMUL, matmul, false, COUNT(wide(op.matmul.n_weights)), nullptr, COUNT(total(op.matmul.n_weights, [&](uint32_t i) { return wide(op.matmul.rows[i]); }))),
    OPERATION(ROPE_STORE, rope_store, true, nullptr, nullptr, nullptr),
    OPERATION(ATTENTION, attention, true, nullptr, nullptr, nullptr),
    OPERATION(ACTIVATION, activation, false, nullptr, nullptr, nullptr),
    OPERATION(ADD, add, false, nullptr, nullptr, nullptr),
    OPERATION(SELECT, select, false, nullptr, nullptr, nullptr),
    OPERATION(SOFTCAP, softcap, false, nullptr, nullptr, nullptr),
    OPERATION(ROUTE, route, false, nullptr, nullptr, nullptr),
    OPERATION(EXPERT_MATMUL, expert_matmul, false, COUNT(wide(op.expert_matmul.n_weights)), COUNT(wide(op.expert_matmul.n_used)), COUNT(total(op.expert_matmul.n_weights, [&](uint32_t i) { return wide(op.expert_matmul.rows[i]); }))),
    OPERATION(EXPERT_SUM, expert_sum, false, nullptr, COUNT(wide(op.expert_sum.n_used)), COUNT(wide(op.expert_sum.columns))),
    OPERATION(SAMPLE, sample, false, nullptr, nullptr, nullptr),
    OPERATION(HEAD_MATMUL, head_matmul, false, nullptr, nullptr, COUNT(wide(op.head_matmul.n_heads) * (wide(op.head_matmul.rows) + wide(op.head_matmul.copied)))),
    OPERATION(CONV, conv, false, nullptr, nullptr, COUNT(wide(op.conv.columns))),
    OPERATION(DELTA_RULE, delta_rule, false, nullptr, nullptr, nullptr),
    OPERATION(SELECTIVE_SCAN, selective_scan, false, nullptr, nullptr, nullptr),
    OPERATION(COPY, copy, false, nullptr, nullptr, COUNT(wide(op.copy.n_groups) * wide(op.copy.columns))),
    OPERATION(EXCHANGE, exchange, false, nullptr, nullptr, nullptr),
};
