#include "executor.h"

#include "../ops/exchange.h"
#include "inbox.h"
#include "operation_args.h"
#include "state_operations.h"

namespace m40::cuda {

namespace {

// Puts the launches of a program's operations on the stream, one after the other.
class Execution : OperationArgs {
 public:
  Execution(const m40_program& program, const StepShape& shape) : OperationArgs(program, shape), shape_(shape) {
    for (int i = 0; i < 2; i++) groupings_[i].memory = memory(program.plan.expert_groups[i]);
  }

  void run(const std::function<void(size_t)>& before) {
    for (size_t i = 0; i < program_.ops.size(); i++) {
      if (before) before(i);
      if (program_.fusions[i] != Fusion::kNone && !keeps_hidden(i) && run_fused(i)) {
        i++;
        continue;
      }
      run_op(i);
    }
    if (n_exchanges_ != 0) launch_count_step(exchanged_steps(), stream_);
  }

 private:
  void run_op(size_t i) {
    const m40_op& op = program_.ops[i];
    switch (op.kind) {
      case M40_OP_EMBED: return embed(op.embed);
      case M40_OP_NORM: return norm(norm_args(op.norm));
      case M40_OP_MATMUL: return matmul(i, {}, nullptr, 0);
      case M40_OP_ROPE_STORE: return launch_rope_store(rope_store_args(i), step_, cache_, stream_);
      case M40_OP_ATTENTION: return launch_attention(attention_args(op.attention), step_, cache_, stream_);
      case M40_OP_ACTIVATION: return activation(op.activation);
      case M40_OP_ADD: return add(op.add);
      case M40_OP_SELECT: return select(op.select);
      case M40_OP_SOFTCAP: return softcap(op.softcap);
      case M40_OP_ROUTE: return route(op.route);
      case M40_OP_EXPERT_MATMUL: return expert_matmul(i, expert_matmul_args(i));
      case M40_OP_EXPERT_SUM: return launch_expert_sum(expert_sum_args(op.expert_sum), stream_);
      case M40_OP_SAMPLE: return sample(op.sample);
      case M40_OP_HEAD_MATMUL: return head_matmul(i);
      case M40_OP_CONV:
      case M40_OP_DELTA_RULE:
      case M40_OP_SELECTIVE_SCAN: return launch_state_operation(program_, shape_, op);
      case M40_OP_COPY: return copy(op.copy);
      case M40_OP_EXCHANGE: return exchange(op.exchange, nullptr);
    }
  }

  // Whether operation i writes hidden states that the step wants: fused, it would keep them to itself.
  bool keeps_hidden(size_t i) const {
    if (!shape_.hidden) return false;
    return writes_buffer(program_.ops[i], find_sample(program_.ops)->hidden);
  }

  void embed(const m40_op_embed& op) const {
    EmbedArgs args = {};
    args.output = buffer(op.output);
    args.output_stride = stride(op.output);
    args.table = tensor(op.table).packed;
    args.has_positions = op.position_table != M40_NONE;
    if (args.has_positions) args.position_table = tensor(op.position_table).packed;
    args.columns = op.columns;
    args.scale = op.scale;
    launch_embed(args, step_, stream_);
  }

  void norm(const NormArgs& args) const {
    if (args.n_rows != 0) launch_norm(args, stream_);
  }

  void matmul(size_t i, const MatmulPrologue& prologue, const float* input, uint32_t input_stride) const {
    MatmulArgs args = matmul_args(i);
    if (args.n_rows == 0) return;
    if (input != nullptr) {
      args.input = input;
      args.input_stride = input_stride;
      args.prologue = prologue;
    }
    const uint32_t n_rows = args.n_rows;
    const uint32_t n_decode = decode_rows(program_.ops[i].matmul.output);
    if (n_decode != 0) {
      args.n_rows = n_decode;
      launch_matmul(args, stream_);
    }
    if (n_decode < n_rows) {
      args.n_rows = n_rows - n_decode;
      args.input += uint64_t{n_decode} * args.input_stride;
      args.output += uint64_t{n_decode} * args.output_stride;
      if (args.residual != nullptr) args.residual += uint64_t{n_decode} * args.output_stride;
      args.prefill = true;
      args.prefill_share = step_.prefill_share;
      launch_matmul(args, stream_);
    }
    const m40_op_matmul& op = program_.ops[i].matmul;
    if (op.residual == M40_NONE || adds_residual(op)) return;
    const uint32_t column = op.output_column[0];
    launch_add({buffer(op.output) + column, stride(op.output), buffer(op.residual) + column, stride(op.residual), nullptr, 0,
                buffer(op.output) + column, stride(op.output), n_rows, op.rows[0]},
               stream_);
  }

  // A norm with the activation before it or after it.
  bool gated_norm(const m40_op_norm& op, const m40_op_activation& gate, NormGate gates) const {
    NormArgs args = norm_args(op);
    args.gate = buffer(gate.input);
    args.gate_stride = stride(gate.input);
    args.gates = gates;
    norm(args);
    return true;
  }

  // The operation and the one after it in one launch; false where this step's rows do not allow it.
  bool run_fused(size_t i) {
    const m40_op& op = program_.ops[i];
    if (op.kind == M40_OP_EXPERT_MATMUL && program_.ops[i + 1].kind == M40_OP_EXPERT_SUM) {
      const ExpertSumArgs sum = expert_sum_args(program_.ops[i + 1].expert_sum);
      ExpertMatmulArgs args = expert_matmul_args(i);
      args.sum = &sum;
      if (step_.n_decode != step_.n_tokens || !expert_matmul_sums(args)) return false;
      expert_matmul(i, args);
      return true;
    }
    if (op.kind == M40_OP_EXPERT_MATMUL) {
      const m40_op_activation& activation = program_.ops[i + 1].activation;
      ExpertMatmulArgs args = expert_matmul_args(i);
      args.activates = true;
      args.activation = activation.activation;
      args.alpha = activation.alpha;
      args.limit = activation.limit;
      args.output = buffer(activation.output);
      args.output_stride = stride(activation.output);
      if (step_.n_decode != step_.n_tokens || !expert_matmul_activates(args)) return false;
      expert_matmul(i, args);
      return true;
    }
    if (op.kind == M40_OP_ROPE_STORE) {
      const RopeStoreArgs rope = rope_store_args(i);
      const AttentionArgs attention = attention_args(program_.ops[i + 1].attention);
      if (!rope_attention_fuses(rope, attention, step_)) return false;
      launch_rope_attention(rope, attention, step_, cache_, stream_);
      return true;
    }
    const m40_op& next = program_.ops[i + 1];
    if (next.kind == M40_OP_EXCHANGE) {
      exchange(next.exchange, &op.activation);
      return true;
    }
    if (next.kind == M40_OP_ACTIVATION) return gated_norm(op.norm, next.activation, NormGate::kOutput);
    if (next.kind == M40_OP_NORM) return gated_norm(next.norm, op.activation, NormGate::kInput);
    MatmulPrologue prologue;
    uint32_t input;
    if (op.kind == M40_OP_NORM) {
      prologue.kind = MatmulPrologue::kNorm;
      prologue.norm_weight = vector(op.norm.weight);
      prologue.epsilon = op.norm.epsilon;
      if (program_.fusions[i] == Fusion::kKept) prologue.normed = buffer(op.norm.output);
      input = op.norm.input;
    } else {
      prologue.kind = MatmulPrologue::kActivation;
      prologue.activation = op.activation.activation;
      input = op.activation.input;
    }
    MatmulArgs args = matmul_args(i + 1);
    if (args.n_rows == 0) return true;
    if (decode_rows(program_.ops[i + 1].matmul.output) != args.n_rows) return false;
    args.input = buffer(input);
    args.input_stride = stride(input);
    args.prologue = prologue;
    if (!matmul_fuses(args)) return false;
    matmul(i + 1, prologue, args.input, args.input_stride);
    return true;
  }

  void activation(const m40_op_activation& op) const {
    if (rows(op.input) != 0) launch_activation(activation_args(op), stream_);
  }

  ActivationArgs activation_args(const m40_op_activation& op) const {
    return {buffer(op.input), stride(op.input), op.gated != 0 ? buffer(op.up) + op.up_column : nullptr, stride(op.up), buffer(op.output),
            stride(op.output), rows(op.input), op.columns, op.activation, op.alpha, op.limit};
  }

  void add(const m40_op_add& op) const {
    if (rows(op.a) == 0) return;
    launch_add({buffer(op.a), stride(op.a), buffer(op.b), stride(op.b), optional_buffer(op.gate), stride(op.gate), buffer(op.output),
                stride(op.output), rows(op.a), op.columns},
               stream_);
  }

  void select(const m40_op_select& op) const {
    if (step_.n_outputs == 0) return;
    launch_select({buffer(op.input), stride(op.input), buffer(op.output), stride(op.output), op.columns}, step_, stream_);
  }

  void softcap(const m40_op_softcap& op) const {
    if (rows(op.input) == 0) return;
    launch_softcap({buffer(op.input), stride(op.input), buffer(op.output), stride(op.output), rows(op.input), op.columns, op.scale,
                    op.softcap},
                   stream_);
  }

  void route(const m40_op_route& op) {
    for (ExpertGrouping& grouping : groupings_) grouping.forget();
    launch_route({buffer(op.input), stride(op.input), indices(op.experts), stride(op.experts), buffer(op.weights), stride(op.weights),
                  step_.n_tokens, op, vector(op.bias)},
                 stream_);
  }

  // Whether an operation before number i chose the experts.
  bool routed(size_t i, uint32_t experts) const {
    for (size_t k = 0; k < i; k++) {
      if (program_.ops[k].kind == M40_OP_ROUTE && program_.ops[k].route.experts == experts) return true;
    }
    return false;
  }

  void expert_matmul(size_t i, ExpertMatmulArgs args) {
    const m40_op_expert_matmul& op = program_.ops[i].expert_matmul;
    if (!routed(i, op.experts)) {
      launch_check_experts(indices(op.experts), args.experts_stride, args.n_tokens, op.n_used, args.n_experts(), &results_->expert_fault_token,
                           stream_);
    }
    expert_products(args);
  }

  // Of the step's decoded tokens, and of its prompts'.
  void expert_products(ExpertMatmulArgs args) {
    const uint32_t n_decode = step_.n_decode, n_tokens = step_.n_tokens;
    if (n_decode != 0) {
      args.n_tokens = n_decode;
      args.grouping = &groupings_[0];
      launch_expert_matmul(args, stream_);
    }
    if (n_decode < n_tokens) {
      args.n_tokens = n_tokens - n_decode;
      args.input += uint64_t{n_decode} * (args.input_per_slot ? args.n_used : 1) * args.input_stride;
      args.experts += uint64_t{n_decode} * args.experts_stride;
      args.output += uint64_t{n_decode} * args.n_used * args.output_stride;
      if (args.slot_scale != nullptr) args.slot_scale += uint64_t{n_decode} * args.slot_scale_stride;
      args.prefill = true;
      args.prefill_share = step_.prefill_share;
      args.copied = 0;
      args.grouping = &groupings_[1];
      launch_expert_matmul(args, stream_);
    }
  }

  // Heads are to a token's rows what experts are, and each is used.
  void head_matmul(size_t i) {
    const m40_op_head_matmul& op = program_.ops[i].head_matmul;
    uint64_t row = program_.plan.packed_rows[i];
    const PackedWeight weight = packed(op.weight, op.columns, &row);
    // The product of decoded rows copies by itself, where heads are rows.
    const bool as_rows = heads_are_rows(op, program_.buffers.data());
    const uint32_t first = as_rows ? step_.n_decode : 0;
    if (op.copied != 0 && first < step_.n_tokens) {
      launch_copy_heads({buffer(op.input) + size_t{first} * stride(op.input) + op.columns, stride(op.input), op.input_stride,
                         buffer(op.output) + size_t{first} * stride(op.output) + op.rows, stride(op.output), op.output_stride, step_.n_tokens - first, op.n_heads,
                         op.copied},
                        stream_);
    }
    if (!as_rows) {
      for (uint32_t h = 0; h < op.n_heads; h++) head_product(op, h, packed_expert(weight, h));
      return;
    }
    ExpertMatmulArgs args = {};
    args.input = buffer(op.input);
    args.input_stride = op.input_stride;
    args.input_per_slot = true;
    args.experts = indices_at(program_.plan.heads);
    args.output = buffer(op.output);
    args.output_stride = op.output_stride;
    args.n_used = op.n_heads;
    args.columns = op.columns;
    args.n_weights = 1;
    args.weights[0] = weight;
    args.copied = op.copied;
    expert_products(args);
  }

  void head_product(const m40_op_head_matmul& op, uint32_t head, const PackedWeight& weight) const {
    MatmulArgs args = {};
    args.input = buffer(op.input) + uint64_t{head} * op.input_stride;
    args.input_stride = stride(op.input);
    args.output = buffer(op.output) + uint64_t{head} * op.output_stride;
    args.output_stride = stride(op.output);
    args.columns = op.columns;
    args.n_weights = 1;
    args.weights[0] = {weight, nullptr, 0};
    args.scratch = scratch_;
    args.n_rows = step_.n_decode;
    launch_matmul(args, stream_);
    args.input += uint64_t{step_.n_decode} * args.input_stride;
    args.output += uint64_t{step_.n_decode} * args.output_stride;
    args.n_rows = step_.n_tokens - step_.n_decode;
    args.prefill = true;
    args.prefill_share = step_.prefill_share;
    launch_matmul(args, stream_);
  }

  void copy(const m40_op_copy& op) const {
    if (rows(op.input) == 0) return;
    launch_copy_heads({buffer(op.input) + op.input_column, stride(op.input), op.input_stride, buffer(op.output) + op.output_column,
                       stride(op.output), op.output_stride, rows(op.input), op.n_groups, op.columns},
                      stream_);
  }

  uint64_t* exchanged_steps() const { return reinterpret_cast<uint64_t*>(memory(program_.plan.exchanged_steps)); }

  void exchange(const m40_op_exchange& op, const m40_op_activation* activation) {
    ExchangeArgs args = {};
    args.input = buffer(op.input) + op.input_column;
    args.input_stride = stride(op.input);
    args.output = buffer(op.output);
    args.output_stride = stride(op.output);
    args.n_rows = rows(op.input);
    args.n_cards = op.n_cards;
    args.card = op.card;
    std::copy(op.bounds, op.bounds + op.n_cards + 1, args.bounds);
    args.in_place = op.input == op.output;
    args.activates = activation != nullptr;
    if (activation != nullptr) args.activation = activation_args(*activation);
    args.index = n_exchanges_++;
    args.n_exchanges = program_.exchange.n_operations();
    args.steps = exchanged_steps();
    args.fault = &results_->exchange_fault;
    void* on_device = nullptr;
    check(cudaHostGetDevicePointer(&on_device, program_.exchange.memory(), 0), "the memory of exchanges");
    args.give_up = static_cast<uint32_t*>(on_device);
    args.layout = program_.exchange.layout();
    if (args.layout.shared) {
      args.memory = args.targets[0] = static_cast<uint8_t*>(on_device);
    } else {
      args.memory = reinterpret_cast<const uint8_t*>(memory(program_.plan.inbox));
      for (size_t i = 0; i < program_.targets.size(); i++) args.targets[i] = program_.targets[i]->memory();
    }
    launch_exchange(args, stream_);
  }

  void sample(const m40_op_sample& op) const {
    if (step_.n_outputs == 0) return;
    uint8_t* results = reinterpret_cast<uint8_t*>(results_);
    SampleArgs args = {};
    args.logits = buffer(op.logits);
    args.logits_stride = stride(op.logits);
    args.columns = op.columns;
    args.statuses = reinterpret_cast<uint32_t*>(results + StepResults::statuses_offset());
    args.samples = reinterpret_cast<m40_sample*>(results + StepResults::samples_offset(program_.limits.limits));
    args.scratch = scratch_;
    launch_sample(args, step_, stream_);
  }

  const StepShape& shape_;
  uint32_t n_exchanges_ = 0;  // that have been launched
  ExpertGrouping groupings_[2];
};

}  // namespace

void launch_program(const m40_program& program, const StepShape& shape, const std::function<void(size_t)>& before) {
  Execution(program, shape).run(before);
}

}  // namespace m40::cuda
