// m40_abi_version and m40_layout: what the caller compares its own structs with before it trusts them.
#include "../include/m40.h"

#include <stdio.h>

#include <string>

namespace {

class Layout {
 public:
  Layout(std::string& json, const char* name, size_t n_bytes) : json_(json) {
    json_ += json_.empty() ? "{" : ", ";
    json_ += std::string("\"") + name + "\": {\"bytes\": " + std::to_string(n_bytes) + ", \"fields\": {";
  }
  ~Layout() { json_ += "}}"; }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  void field(const char* name, size_t offset, size_t n_bytes) {
    if (!first_) json_ += ", ";
    first_ = false;
    json_ += std::string("\"") + name + "\": [" + std::to_string(offset) + ", " + std::to_string(n_bytes) + "]";
  }

 private:
  std::string& json_;
  bool first_ = true;
};

#define STRUCT(type) \
  using S = type;    \
  Layout layout(json, #type, sizeof(type))
#define FIELD(name) layout.field(#name, offsetof(S, name), sizeof(S::name))

std::string describe() {
  std::string json;
  {
    STRUCT(m40_error);
    FIELD(status);
    FIELD(message);
  }
  {
    STRUCT(m40_device_info);
    FIELD(name);
    FIELD(memory_bytes);
    FIELD(free_bytes);
    FIELD(compute_capability);
    FIELD(multiprocessors);
    FIELD(clock_khz);
    FIELD(memory_clock_khz);
    FIELD(memory_bus_bits);
    FIELD(ecc);
    FIELD(driver_version);
    FIELD(kind);
    FIELD(instruction_set);
    FIELD(driver);
    FIELD(tile_tokens);
  }
  {
    STRUCT(m40_device_state);
    FIELD(memory_bytes);
    FIELD(used_bytes);
    FIELD(free_bytes);
    FIELD(temperature_celsius);
    FIELD(power_milliwatts);
    FIELD(power_limit_milliwatts);
    FIELD(clock_khz);
    FIELD(memory_clock_khz);
    FIELD(utilisation_percent);
  }
  {
    STRUCT(m40_context_options);
    FIELD(device);
    FIELD(n_threads);
    FIELD(instruction_set);
  }
  {
    STRUCT(m40_tensor_desc);
    FIELD(type);
    FIELD(n_experts);
    FIELD(rows);
    FIELD(columns);
  }
  {
    STRUCT(m40_cache_desc);
    FIELD(n_layers);
    FIELD(n_kv_heads);
    FIELD(head_dim);
    FIELD(page_tokens);
    FIELD(n_pages);
    FIELD(type);
  }
  {
    STRUCT(m40_buffer_desc);
    FIELD(rows);
    FIELD(rows_factor);
    FIELD(columns);
    FIELD(element);
  }
  {
    STRUCT(m40_op_embed);
    FIELD(output);
    FIELD(table);
    FIELD(position_table);
    FIELD(columns);
    FIELD(scale);
  }
  {
    STRUCT(m40_op_norm);
    FIELD(input);
    FIELD(output);
    FIELD(weight);
    FIELD(bias);
    FIELD(residual);
    FIELD(norm);
    FIELD(columns);
    FIELD(epsilon);
  }
  {
    STRUCT(m40_op_matmul);
    FIELD(input);
    FIELD(output);
    FIELD(residual);
    FIELD(n_weights);
    FIELD(columns);
    FIELD(weight);
    FIELD(bias);
    FIELD(rows);
    FIELD(output_column);
  }
  {
    STRUCT(m40_op_rope);
    FIELD(qkv);
    FIELD(layer);
    FIELD(n_heads);
    FIELD(n_kv_heads);
    FIELD(head_dim);
    FIELD(rope_dim);
    FIELD(rope);
    FIELD(factors);
    FIELD(q_norm);
    FIELD(k_norm);
    FIELD(original_context);
    FIELD(norm_epsilon);
    FIELD(freq_base);
    FIELD(freq_scale);
    FIELD(ext_factor);
    FIELD(attention_factor);
    FIELD(beta_fast);
    FIELD(beta_slow);
  }
  {
    STRUCT(m40_op_attention);
    FIELD(qkv);
    FIELD(output);
    FIELD(layer);
    FIELD(n_heads);
    FIELD(n_kv_heads);
    FIELD(head_dim);
    FIELD(window);
    FIELD(scale);
    FIELD(softcap);
  }
  {
    STRUCT(m40_op_activation);
    FIELD(input);
    FIELD(output);
    FIELD(activation);
    FIELD(gated);
    FIELD(columns);
  }
  {
    STRUCT(m40_op_add);
    FIELD(a);
    FIELD(b);
    FIELD(output);
    FIELD(columns);
  }
  {
    STRUCT(m40_op_select);
    FIELD(input);
    FIELD(output);
    FIELD(columns);
  }
  {
    STRUCT(m40_op_softcap);
    FIELD(input);
    FIELD(output);
    FIELD(columns);
    FIELD(scale);
    FIELD(softcap);
  }
  {
    STRUCT(m40_op_route);
    FIELD(input);
    FIELD(experts);
    FIELD(weights);
    FIELD(n_experts);
    FIELD(n_used);
    FIELD(normalise);
    FIELD(scale);
  }
  {
    STRUCT(m40_op_expert_matmul);
    FIELD(input);
    FIELD(experts);
    FIELD(output);
    FIELD(n_weights);
    FIELD(columns);
    FIELD(n_used);
    FIELD(n_experts);
    FIELD(weight);
    FIELD(rows);
    FIELD(output_column);
  }
  {
    STRUCT(m40_op_expert_sum);
    FIELD(input);
    FIELD(weights);
    FIELD(residual);
    FIELD(output);
    FIELD(columns);
    FIELD(n_used);
  }
  {
    STRUCT(m40_op_sample);
    FIELD(logits);
    FIELD(columns);
    FIELD(hidden);
    FIELD(hidden_columns);
  }
  {
    // The members of the union share one place, listed as "payload".
    STRUCT(m40_op);
    FIELD(kind);
    FIELD(flags);
    layout.field("payload", offsetof(S, words), sizeof(S::words));
  }
  {
    STRUCT(m40_limits);
    FIELD(n_tokens);
    FIELD(n_sequences);
    FIELD(n_outputs);
    FIELD(n_sequence_pages);
    FIELD(n_vocab);
    FIELD(reserved);
    FIELD(step_bytes);
  }
  {
    STRUCT(m40_step_header);
    FIELD(n_tokens);
    FIELD(n_sequences);
    FIELD(n_outputs);
    FIELD(n_decode);
    FIELD(page_stride);
    FIELD(tokens);
    FIELD(positions);
    FIELD(sequences);
    FIELD(page_table);
    FIELD(outputs);
    FIELD(sampling);
    FIELD(token_counts);
    FIELD(n_token_counts);
    FIELD(token_biases);
    FIELD(n_token_biases);
    FIELD(masks);
    FIELD(n_masks);
  }
  {
    STRUCT(m40_output);
    FIELD(row);
    FIELD(kind);
  }
  {
    STRUCT(m40_sampling);
    FIELD(temperature);
    FIELD(top_p);
    FIELD(min_p);
    FIELD(repetition_penalty);
    FIELD(frequency_penalty);
    FIELD(presence_penalty);
    FIELD(top_k);
    FIELD(n_top_logprobs);
    FIELD(seed_low);
    FIELD(seed_high);
    FIELD(counter);
    FIELD(stream);
    FIELD(mask);
    FIELD(first_token_count);
    FIELD(n_token_counts);
    FIELD(first_token_bias);
    FIELD(n_token_biases);
  }
  {
    STRUCT(m40_token_count);
    FIELD(token);
    FIELD(count);
  }
  {
    STRUCT(m40_token_bias);
    FIELD(token);
    FIELD(bias);
  }
  {
    STRUCT(m40_sample);
    FIELD(token);
    FIELD(logprob);
    FIELD(top_tokens);
    FIELD(top_logprobs);
  }
  {
    STRUCT(m40_result);
    FIELD(kind);
    FIELD(status);
    FIELD(sample);
  }
  return json + "}";
}

static_assert(sizeof(m40_op) == 128, "operation records are 128 bytes");
static_assert(sizeof(m40_op_rope) <= sizeof(m40_op::words) && sizeof(m40_op_matmul) <= sizeof(m40_op::words),
              "every record fits the union's words");

}  // namespace

extern "C" uint32_t m40_abi_version(void) { return M40_ABI_VERSION; }

extern "C" const char* m40_layout(void) {
  try {
    static const std::string json = describe();
    return json.c_str();
  } catch (...) {
    return "{}";
  }
}
