// m40_abi_version and m40_layout: what the caller compares its own structs with before it trusts them.
#include "../include/m40.h"

#include <stdio.h>

#include <string>

#include "operations.h"

namespace {

class Layout {
 public:
  Layout(std::string& json, const char* name, size_t n_bytes) : json_(json) {
    json_ += json_.empty() ? "{" : ", ";
    json_ += std::string("\"") + name + "\": {\"bytes\": " + std::to_string(n_bytes) + ", \"fields\": {";
  }
  ~Layout() { json_ += "}" + rest_ + "}"; }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  void field(const char* name, size_t offset, size_t n_bytes) {
    if (!first_) json_ += ", ";
    first_ = false;
    json_ += std::string("\"") + name + "\": [" + std::to_string(offset) + ", " + std::to_string(n_bytes) + "]";
  }

  // What the struct says beside its fields: JSON members, each after a comma.
  void rest(const std::string& members) { rest_ = members; }

 private:
  std::string& json_;
  std::string rest_;
  bool first_ = true;
};

const char* role_name(m40::Role role) {
  switch (role) {
    case m40::Role::kNumber: return "number";
    case m40::Role::kState: return "state";
    case m40::Role::kReads: return "reads";
    case m40::Role::kWrites: return "writes";
    case m40::Role::kUpdates: return "updates";
    case m40::Role::kLends: return "lends";
    case m40::Role::kVector: return "vector";
    case m40::Role::kMatrix: return "matrix";
    case m40::Role::kExperts: return "experts";
  }
  return "";
}

// An operation's struct says its kind and its fields' roles, too.
void describe_operation(std::string& json, const m40::Operation& operation) {
  Layout layout(json, operation.struct_name, operation.n_bytes);
  for (const m40::Field& field : operation) layout.field(field.name, field.offset, field.n_bytes);
  std::string roles;
  for (const m40::Field& field : operation) {
    roles += std::string(roles.empty() ? "" : ", ") + "\"" + field.name + "\": \"" + role_name(field.role) + "\"";
  }
  layout.rest(", \"kind\": " + std::to_string(operation.kind) + ", \"roles\": {" + roles + "}");
}

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
    FIELD(energy_millijoules);
    FIELD(temperature_celsius);
    FIELD(power_milliwatts);
    FIELD(power_limit_milliwatts);
    FIELD(clock_khz);
    FIELD(memory_clock_khz);
    FIELD(utilisation_percent);
  }
  {
    STRUCT(m40_power_limit);
    FIELD(code);
    FIELD(before_milliwatts);
    FIELD(least_milliwatts);
    FIELD(most_milliwatts);
  }
  {
    STRUCT(m40_management);
    FIELD(status);
    FIELD(code);
    FIELD(n_devices);
    FIELD(reserved);
    FIELD(driver);
  }
  {
    STRUCT(m40_device_health);
    FIELD(name);
    FIELD(memory_bytes);
    FIELD(used_bytes);
    FIELD(free_bytes);
    FIELD(corrected_errors);
    FIELD(uncorrected_errors);
    FIELD(lifetime_corrected_errors);
    FIELD(lifetime_uncorrected_errors);
    FIELD(process_bytes);
    FIELD(process_id);
    FIELD(n_processes);
    FIELD(code);
    FIELD(cuda_device);
    FIELD(compute_capability);
    FIELD(compute_mode);
    FIELD(persistence);
    FIELD(ecc);
    FIELD(ecc_next);
    FIELD(retired_pages);
    FIELD(retired_pages_uncorrected);
    FIELD(retirement_pending);
    FIELD(pcie_generation);
    FIELD(pcie_width);
    FIELD(pcie_max_generation);
    FIELD(pcie_max_width);
    FIELD(pcie_replays);
    FIELD(clock_khz);
    FIELD(max_clock_khz);
    FIELD(set_clock_khz);
    FIELD(memory_clock_khz);
    FIELD(max_memory_clock_khz);
    FIELD(throttle);
    FIELD(power_milliwatts);
    FIELD(power_limit_milliwatts);
    FIELD(default_power_limit_milliwatts);
    FIELD(min_power_limit_milliwatts);
    FIELD(max_power_limit_milliwatts);
    FIELD(temperature_celsius);
    FIELD(slowdown_celsius);
    FIELD(shutdown_celsius);
  }
  {
    STRUCT(m40_context_options);
    FIELD(device);
    FIELD(n_threads);
    FIELD(executor);
    FIELD(instruction_set);
  }
  {
    STRUCT(m40_tensor_desc);
    FIELD(type);
    FIELD(n_experts);
    FIELD(rows);
    FIELD(columns);
    FIELD(first_row);
    FIELD(whole_rows);
  }
  {
    STRUCT(m40_cache_desc);
    FIELD(n_layers);
    FIELD(n_groups);
    FIELD(page_tokens);
    FIELD(n_pages);
    FIELD(type);
    FIELD(n_kv_heads);
    FIELD(head_dim);
    FIELD(value_dim);
    FIELD(group);
    FIELD(n_states);
    FIELD(n_slots);
    FIELD(state_values);
  }
  {
    STRUCT(m40_buffer_desc);
    FIELD(rows);
    FIELD(rows_factor);
    FIELD(columns);
    FIELD(element);
  }
  for (const m40::Operation& operation : m40::operations()) describe_operation(json, operation);
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
    FIELD(lane);
    FIELD(step_bytes);
  }
  {
    STRUCT(m40_inbox);
    FIELD(process);
    FIELD(address);
    FIELD(offset);
    FIELD(n_bytes);
    FIELD(device);
    FIELD(handle);
    FIELD(reserved);
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
    FIELD(states);
    FIELD(prefill_share);
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
    FIELD(typical_p);
    FIELD(xtc_probability);
    FIELD(xtc_threshold);
    FIELD(dynatemp_range);
    FIELD(dynatemp_exponent);
    FIELD(mirostat);
    FIELD(mirostat_mu);
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
    FIELD(surprise);
  }
  {
    STRUCT(m40_result);
    FIELD(kind);
    FIELD(status);
    FIELD(sample);
  }
  {
    STRUCT(m40_run_header);
    FIELD(n_steps);
    FIELD(rows);
    FIELD(end_tokens);
    FIELD(n_end_tokens);
  }
  {
    STRUCT(m40_run_row);
    FIELD(n_tokens);
    FIELD(first_end_token);
    FIELD(n_end_tokens);
    FIELD(later_slot);
    FIELD(later_from);
  }
  {
    STRUCT(m40_ring);
    FIELD(read);
    FIELD(stop);
    FIELD(host_reserved);
    FIELD(over);
    FIELD(device_reserved);
  }
  {
    STRUCT(m40_ring_entry);
    FIELD(number);
    FIELD(step);
    FIELD(row);
    FIELD(status);
    FIELD(goes_on);
    FIELD(sample);
  }
  {
    STRUCT(m40_channel_argument);
    FIELD(value);
    FIELD(n_bytes);
  }
  return json + "}";
}

static_assert(sizeof(m40_op) == 128, "operation records are 128 bytes");

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
