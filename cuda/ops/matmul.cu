// Plans products: which weights go in one launch, how the columns are split, where partial sums lie.
#include <algorithm>

#include "launch_list.h"
#include "matmul_launch.cuh"
#include "matmul_packed.h"
#include "matmul_plan.h"
#include "matmul_prefill.h"
#include "multiprocessors.h"

namespace m40::cuda {

static_assert(static_cast<int>(MatmulPrologue::kNorm) == norm_prologue && static_cast<int>(MatmulPrologue::kActivation) == activation_prologue, "one numbering");

namespace {

constexpr uint32_t decode_pass = 32;  // tokens

uint64_t partial_floats(uint32_t rows, uint64_t splits, uint32_t n_tokens) {
  return splits == 1 ? 0 : (splits * rows * n_tokens + 3) / 4 * 4;  // the next weight's can be loaded four at a time
}

bool decode_pair(uint32_t type, uint32_t other) {
#define M40_PAIR(name, other_name) if (type == M40_TYPE_##name && other == M40_TYPE_##other_name) return true;
  M40_MATMUL_PAIRS(M40_PAIR)
#undef M40_PAIR
  return false;
}

// Calls f with the indices of the weights of each launch for so many tokens, and the types that they are of.
template <class Function>
void for_each_launch(const MatmulArgs& args, uint32_t n_tokens, bool aligned, const Function& f) {
  // No rare type pairs.
  if (!decode_pairs(aligned ? n_tokens : 2)) return for_each_type(args, [&](uint32_t type, const uint32_t* indices, uint32_t n) { f(type, type, indices, n); });
  uint32_t types[M40_MAX_MATMUL_WEIGHTS], n_types = 0;
  for_each_type(args, [&](uint32_t type, const uint32_t*, uint32_t) { types[n_types++] = type; });
  uint32_t all[M40_MAX_MATMUL_WEIGHTS];
  for (uint32_t i = 0; i < args.n_weights; i++) all[i] = i;
  if (n_types == 2 && decode_pair(types[0], types[1])) return f(types[0], types[1], all, args.n_weights);
  if (n_types == 2 && decode_pair(types[1], types[0])) return f(types[1], types[0], all, args.n_weights);
  for_each_type(args, [&](uint32_t type, const uint32_t* indices, uint32_t n) { f(type, type, indices, n); });
}

void launch_decode_types(uint32_t type, uint32_t other, const MatmulDecodeArgs& args, const MatmulDecodeLaunch& launch, cudaStream_t stream) {
  if (LaunchList* list = LaunchList::current()) return list->add(body_key(Body::kProduct, type, other, launch.tokens), dim3(launch.n_blocks), args);
#define M40_PAIR(name, other_name) \
  if (type == M40_TYPE_##name && other == M40_TYPE_##other_name) return launch_decode<M40_TYPE_##name, M40_TYPE_##other_name>(args, launch, stream);
  M40_MATMUL_PAIRS(M40_PAIR)
#undef M40_PAIR
  for_type(type, [&](auto t) { launch_decode<decltype(t)::value, decltype(t)::value>(args, launch, stream); });
}

bool has_packed(const MatmulArgs& args) {
  return args.packed && std::any_of(args.weights, args.weights + args.n_weights, [](const MatmulWeight& w) { return has_packed_pairs(w.weight.type); });
}

bool has_rare(const MatmulArgs& args) {
  return std::any_of(args.weights, args.weights + args.n_weights, [](const MatmulWeight& w) { return is_rare(w.weight.type); });
}

// Thread blocks of the weights at these indices in one launch for as many tokens as one block takes, each with so many
// rows.
uint64_t blocks_of(const MatmulArgs& args, const uint32_t* indices, uint32_t n, uint32_t set_rows) {
  uint64_t n_blocks = 0;
  for (uint32_t i = 0; i < n; i++) {
    const MatmulWeight& w = args.weights[indices[i]];
    n_blocks += uint64_t{(w.weight.rows + set_rows - 1) / set_rows} * decode_splits(w.split_rows(), args.columns);
  }
  return n_blocks;
}

constexpr uint32_t fours = 4 * 32;  // rows of a block whose warps have four groups of rows

// Rows of a warp, of a type and so many thread blocks of four groups of rows.
uint32_t row_groups_of(uint32_t type, uint32_t tokens, uint64_t n_fours, uint32_t n_multiprocessors) {
  return is_rare(type) ? 4 : decode_row_groups(tokens, n_fours, n_multiprocessors);
}

uint64_t rounds_of(uint64_t n_blocks, uint64_t n_at_once) { return (n_blocks + n_at_once - 1) / n_at_once; }

// Thread blocks of so many tokens and four groups of rows that a multiprocessor runs at a time.
uint32_t blocks_at_once(uint32_t type, int tokens) {
  uint32_t n = 1;
  for_type(type, [&](auto t) { n = decode_residency<decltype(t)::value>(tokens, 4); });
  return n;
}

// What so many thread blocks of 32 tokens take, which are alone on a multiprocessor, and what it takes to do as much in
// blocks of 8: two, side by side, take three fifths of the time of one of 32 with 24 multiprocessors (from 53% to 60%,
// Q4_K).
uint64_t time_by_32(uint64_t n_fours, uint64_t n_multiprocessors) { return 5 * rounds_of(n_fours, n_multiprocessors); }
uint64_t time_by_8(uint32_t type, uint64_t n_fours, uint32_t n_tokens, uint64_t n_multiprocessors) {
  return 3 * rounds_of(n_fours * ((n_tokens + 7) / 8), blocks_at_once(type, 8) * n_multiprocessors);
}

// Whether a block of 16 tokens, alone on a multiprocessor, takes less time than two of 8. On an H200, which has two
// banks, 6% more with Q4_K, whose blocks of 8 run side by side, and 4% less with Q6_K, whose do not.
bool sixteen_pay(uint32_t type) { return has_four_register_banks() || blocks_at_once(type, 8) == 1; }

// Tokens of a thread block: fewer than the most that share its weights where a multiprocessor would have nothing to do,
// as with the few rows of a router. Bits do not depend on it.
uint32_t tokens_of(uint32_t type, uint32_t other, uint64_t n_fours, uint32_t n_tokens, bool aligned, uint32_t n_multiprocessors) {
  uint32_t tokens = decode_tokens(type, n_tokens, aligned);
  if (tokens == 32) {
    // Where the last round of those leaves most multiprocessors idle.
    if (type != other || time_by_8(type, n_fours, n_tokens, n_multiprocessors) >= time_by_32(n_fours, n_multiprocessors)) return tokens;
    tokens = 8;
  }
  if (tokens == 16 && (!sixteen_pay(type) || n_fours * ((n_tokens + 7) / 8) <= blocks_at_once(type, 8) * uint64_t{n_multiprocessors})) tokens = 8;
  const uint32_t fewest = is_rare(type) ? 4 : 2;
  while (tokens > fewest && n_fours * ((2 * n_tokens + tokens - 1) / tokens) <= n_multiprocessors) tokens /= 2;
  return tokens;
}

// Rows of a weight, whole tiles but for its last.
struct WeightRows {
  uint32_t weight, first, end;
};

constexpr uint32_t least_rest_columns = 512;

// Where the last wave of thread blocks of 32 tokens leaves most multiprocessors idle, and blocks of 8 compute its rows
// in less time, moves these rows to a launch of their own. They are the last rows, of one type. Returns the number of
// weights that they are of.
uint32_t cut_rest(const MatmulArgs& args, uint32_t n_tokens, uint32_t n_multiprocessors, WeightRows* rows, uint32_t n, WeightRows (&rest)[M40_MAX_MATMUL_WEIGHTS]) {
  WeightRows kept[M40_MAX_MATMUL_WEIGHTS];
  std::copy(rows, rows + n, kept);
  const auto type_of = [&](uint32_t i) { return args.weights[rows[i].weight].weight.type; };
  const auto splits_of = [&](uint32_t i) { return decode_splits(args.weights[rows[i].weight].split_rows(), args.columns); };
  const auto sets_of = [&](uint32_t i) { return (rows[i].end + fours - 1) / fours; };
  uint64_t n_blocks = 0, n_cut = 0;
  for (uint32_t i = 0; i < n; i++) n_blocks += uint64_t{sets_of(i)} * splits_of(i);
  if (n_blocks < n_multiprocessors) return 0;
  const uint32_t type = type_of(n - 1);
  uint32_t n_rest = 0;
  for (uint32_t i = n; i-- > 0 && n_cut < n_blocks % n_multiprocessors;) {
    // A launch more takes longer than a short round.
    if (type_of(i) != type || args.columns / splits_of(i) < least_rest_columns) return 0;
    const uint32_t wanted = static_cast<uint32_t>(n_blocks % n_multiprocessors - n_cut), splits = splits_of(i), sets = std::min(sets_of(i), (wanted + splits - 1) / splits);
    kept[i].end = (sets_of(i) - sets) * fours;
    rest[n_rest++] = {rows[i].weight, kept[i].end, rows[i].end};
    n_cut += uint64_t{sets} * splits;
  }
  uint64_t whole = time_by_32(n_blocks, n_multiprocessors);
  if (type_of(0) == type) whole = std::min(whole, time_by_8(type, n_blocks, n_tokens, n_multiprocessors));
  if (time_by_32(n_blocks - n_cut, n_multiprocessors) + time_by_8(type, n_cut, n_tokens, n_multiprocessors) >= whole) return 0;
  std::copy(kept, kept + n, rows);
  return n_rest;
}

PackedWeight rows_of(const PackedWeight& weight, const WeightRows& rows) {
  PackedWeight some = weight;
  some.rows = rows.end - rows.first;
  for (int plane = 0; plane < 2; plane++) {
    if (weight.planes[plane] == nullptr) continue;
    some.planes[plane] = static_cast<const uint8_t*>(weight.planes[plane]) + packed_expert_bytes(weight.type, rows.first, weight.columns, plane);
  }
  return some;
}

// Rows of weights of a type, or of a pair, in one launch.
void launch_rows(const MatmulArgs& args, uint32_t first, uint32_t n_tokens, uint32_t type, uint32_t other, const WeightRows* rows, uint32_t n,
                 MatmulDecodeLaunch launch, cudaStream_t stream) {
  const uint32_t token_blocks = (n_tokens + launch.tokens - 1) / launch.tokens, set_rows = 32 * launch.row_groups;
  MatmulDecodeArgs decode = {};
  decode.input = args.input + size_t{first} * args.input_stride;
  decode.input_stride = args.input_stride;
  decode.output = args.output + size_t{first} * args.output_stride;
  decode.output_stride = args.output_stride;
  decode.residual = args.residual == nullptr ? nullptr : args.residual + size_t{first} * args.output_stride;
  decode.scale = args.scale;
  decode.n_tokens = n_tokens;
  decode.columns = args.columns;
  decode.partials = static_cast<float*>(args.scratch.memory);
  decode.counters = args.scratch.counters;
  decode.norm_weight = args.prologue.norm_weight;
  decode.epsilon = args.prologue.epsilon;
  decode.normed = args.prologue.normed;
  decode.activation = args.prologue.activation;
  launch.prologue = args.prologue.kind;
  uint32_t n_counters = 0;
  uint64_t n_partials = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (rows[i].first == rows[i].end) continue;
    const MatmulWeight& from = args.weights[rows[i].weight];
    const PackedWeight weight = rows_of(from.weight, rows[i]);
    const float* const bias = from.bias == nullptr ? nullptr : from.bias + rows[i].first;
    const uint32_t splits = decode_splits(from.split_rows(), args.columns), row_sets = (weight.rows + set_rows - 1) / set_rows;
    decode.weights[decode.n_weights++] = {weight, bias, from.factor, from.output_column + rows[i].first, splits, launch.n_blocks, n_counters, n_partials};
    launch.n_blocks += row_sets * splits * token_blocks;
    if (splits > 1) n_counters += row_sets * token_blocks;
    n_partials += partial_floats(weight.rows, splits, n_tokens);
  }
  decode.n_blocks = launch.n_blocks;
  launch_decode_types(type, other, decode, launch, stream);
}

void launch_decode_pass(const MatmulArgs& args, uint32_t first, uint32_t n_tokens, cudaStream_t stream) {
  const bool aligned = can_load_four(args);
  const uint32_t n_multiprocessors = multiprocessors();
  for_each_launch(args, n_tokens, aligned, [&](uint32_t type, uint32_t other, const uint32_t* indices, uint32_t n) {
    MatmulDecodeLaunch launch = {};
    const uint64_t n_fours = blocks_of(args, indices, n, fours);
    launch.tokens = tokens_of(type, other, n_fours, n_tokens, aligned, n_multiprocessors);
    launch.row_groups = row_groups_of(type, launch.tokens, n_fours * ((n_tokens + launch.tokens - 1) / launch.tokens), n_multiprocessors);
    WeightRows rows[M40_MAX_MATMUL_WEIGHTS], rest[M40_MAX_MATMUL_WEIGHTS];
    for (uint32_t i = 0; i < n; i++) rows[i] = {indices[i], 0, args.weights[indices[i]].weight.rows};
    uint32_t n_rest = 0;
    if (const LaunchList* list = LaunchList::current()) {
      // Bits depend on neither.
      if (aligned) launch.tokens = list->tokens();
      launch.row_groups = 4;
    } else if (decode_tokens(type, n_tokens, aligned) == 32) {
      n_rest = cut_rest(args, n_tokens, n_multiprocessors, rows, n, rest);
      if (n_rest != 0) launch.tokens = 32;
    }
    launch_rows(args, first, n_tokens, type, other, rows, n, launch, stream);
    if (n_rest == 0) return;
    launch.tokens = 8;
    const uint32_t rest_type = args.weights[rest[0].weight].weight.type;
    launch_rows(args, first, n_tokens, rest_type, rest_type, rest, n_rest, launch, stream);
  });
}

}  // namespace

uint64_t matmul_scratch_bytes(const uint32_t*, const uint32_t* rows, uint32_t n_weights, uint32_t columns, uint32_t max_rows, bool packed) {
  // A part of a weight has no more splits than a weight of so many rows.
  uint64_t floats = 0;
  for (uint32_t i = 0; i < n_weights; i++) floats += partial_floats(rows[i], decode_splits(rows[i], columns), max_rows < decode_pass ? max_rows : decode_pass);
  const uint64_t exact = std::max(floats * sizeof(float), prefill_scratch_bytes(rows, n_weights, columns, max_rows));
  return packed ? std::max(exact, packed_scratch_bytes(rows, n_weights, columns, max_rows)) : exact;
}

// Every thread block does the prologue again. That costs no more than a launch with one token, where all of them run at
// once: a multiprocessor that does several, one after the other, does the prologue as often. With two tokens it costs
// more.
bool matmul_fuses(const MatmulArgs& args) {
  if (args.prologue.kind == MatmulPrologue::kNone) return true;
  if (has_packed(args)) return false;  // pairs are made by a launch of their own
  // Written down, a prologue is a body of its own: a thread block may compute many blocks, and each would repeat it.
  if (args.prefill || args.n_rows != 1 || LaunchList::current() != nullptr) return false;
  bool at_once = true;
  const uint32_t n_multiprocessors = multiprocessors();
  for_each_launch(args, 1, can_load_four(args), [&](uint32_t type, uint32_t, const uint32_t* indices, uint32_t n) {
    const uint32_t row_groups = row_groups_of(type, 1, blocks_of(args, indices, n, fours), n_multiprocessors);
    const uint64_t n_blocks = blocks_of(args, indices, n, 32 * row_groups);
    if (is_rare(type) || n_blocks > decode_blocks_at_once(row_groups) * uint64_t{n_multiprocessors}) at_once = false;
  });
  return at_once;
}

void launch_matmul(const MatmulArgs& args, cudaStream_t stream) {
  if (args.n_rows == 0) return;
  if (has_packed(args)) {
    MatmulArgs packed = args, others = args;
    packed.n_weights = others.n_weights = 0;
    for (uint32_t i = 0; i < args.n_weights; i++) {
      MatmulArgs& of = has_packed_pairs(args.weights[i].weight.type) ? packed : others;
      of.weights[of.n_weights++] = args.weights[i];
    }
    launch_packed_matmul(packed, stream);
    if (others.n_weights == 0) return;
    others.packed = false;
    return launch_matmul(others, stream);
  }
  if (args.prefill) return launch_prefill_matmul(args, stream);
  // A rare type has no kernel for several tokens where columns cannot be loaded four at a time.
  const bool one_by_one = !can_load_four(args) && has_rare(args);
  const uint32_t pass = one_by_one ? 1 : decode_pass;
  for (uint32_t first = 0; first < args.n_rows; first += pass) {
    launch_decode_pass(args, first, args.n_rows - first < pass ? args.n_rows - first : pass, stream);
  }
}

}  // namespace m40::cuda
