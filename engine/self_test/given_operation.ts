/**
 * Operations of which only the fields are given that matter: the others say "nothing special".
 *
 * @module
 */
import { Arithmetic, HeadNorm, KHeads, NONE, OPS, type StructOf } from "../device/mod.ts";
import { type Operation, OPTIONAL_FIELDS, WEIGHT_FIELDS } from "../program/mod.ts";

type Kind = keyof typeof OPS;
type Fields<K extends Kind> = Partial<StructOf<typeof OPS[K]>>;

/** An operation of which fields may be left out; arrays may be shorter than the record's. */
export type GivenOperation = { [K in Kind]: { readonly kind: K } & Readonly<Fields<K>> }[Kind];

/** The columns at which adjacent outputs of so many rows each begin. */
function startsOf(rows: readonly number[]): number[] {
  return rows.map((_, i) => rows.slice(0, i).reduce((a, b) => a + b, 0));
}

/** What is left out, by what is given; fields that may be NONE are that. */
const DEFAULTS: { readonly [K in Kind]: (given: Fields<K>) => Fields<K> } = {
  embed: () => ({ scale: 1 }),
  norm: () => ({ n_groups: 1, weight_per_group: 0, input_column: 0, output_column: 0 }),
  matmul: ({ weight = [], rows = [] }) => ({
    n_weights: weight.length,
    scale: 1,
    output_column: startsOf(rows),
    arithmetic: Arithmetic.exact,
  }),
  rope_store: (given) => {
    const { q, n_heads = 0, n_kv_heads = 0, head_dim = 0, q_norm = NONE, k_norm = NONE } = given;
    const { k_column = n_heads * head_dim } = given;
    const normalised = q_norm !== NONE || k_norm !== NONE;
    return {
      kv: q,
      k_column,
      v_column: k_column + n_kv_heads * head_dim,
      value_dim: head_dim,
      rope_offset: 0,
      head_norm: normalised ? HeadNorm.before : HeadNorm.none,
      v_norm: 0,
      original_context: 0,
      temperature_length: 0,
      temperature_offset: 0,
      temperature_scale: 0,
      norm_epsilon: 0,
      freq_base: 10000,
      freq_scale: 1,
      ext_factor: 0,
      attention_factor: 1,
      beta_fast: 0,
      beta_slow: 0,
    };
  },
  attention: ({ head_dim }) => ({ value_dim: head_dim, window: 0, chunk: 0, softcap: 0 }),
  activation: ({ input, columns, gated }) => ({
    up: gated ? input : NONE,
    up_column: gated ? columns : 0,
    alpha: 0,
    limit: 0,
  }),
  add: () => ({}),
  select: () => ({}),
  softcap: () => ({ scale: 1, softcap: 0 }),
  route: () => ({ n_shared: 0, score: 0, n_groups: 1, n_groups_used: 1, scale: 1, least_sum: 0 }),
  expert_matmul: ({ weight = [], shared = [], rows = [] }) => ({
    n_weights: weight.length,
    n_shared: shared.length > 0 ? 1 : 0,
    shared,
    output_column: startsOf(rows),
    arithmetic: Arithmetic.exact,
  }),
  expert_sum: () => ({ output_column: 0, scale: 1 }),
  sample: () => ({ hidden_columns: 0 }),
  head_matmul: () => ({ copied: 0 }),
  conv: () => ({
    state: 0,
    activation: NONE,
    input_column: 0,
    factor_column: NONE,
    gate_column: NONE,
    output_column: 0,
  }),
  delta_rule: ({ n_heads }) => ({
    state: 0,
    gate_heads: n_heads,
    gate_stride: 0,
    k_heads: KHeads.grouped,
    scale: 1,
    epsilon: 1e-6,
  }),
  selective_scan: () => ({ state: 0 }),
  copy: () => ({
    n_groups: 1,
    input_column: 0,
    input_stride: 0,
    output_column: 0,
    output_stride: 0,
  }),
  exchange: ({ input, output, card = 0, bounds = [] }) => ({
    input_column: input === output ? bounds[card] : 0,
    n_cards: bounds.length - 1,
  }),
};

/** The operation with all of its fields. */
export function completed(given: GivenOperation): Operation {
  const { kind } = given;
  // deno-lint-ignore no-explicit-any -- the kind says which fields there are
  const values = { ...DEFAULTS[kind](given as any), ...given } as Record<string, unknown>;
  const optional = OPTIONAL_FIELDS[kind] ?? [];
  const weights = WEIGHT_FIELDS[kind] ?? [];
  for (const [name, { type }] of Object.entries(OPS[kind].fields)) {
    const isArray = typeof type !== "string";
    if (optional.includes(name)) values[name] ??= isArray ? [] : NONE;
    const value = values[name];
    if (value === undefined) throw new TypeError(`the given ${kind} has no ${name}`);
    if (!isArray) continue;
    const rest = weights.includes(name) ? NONE : 0;
    values[name] = Array.from({ length: type[1] }, (_, i) => (value as number[])[i] ?? rest);
  }
  return values as Operation;
}
