// Checks sampling against the description in m40.h, with whole sorts in float64, and times it.
//
//   sample_bench check   vocabularies, distributions with and without ties, all parameters together and apart
//   sample_bench time    one and 32 outputs over vocabularies of 32,000 to 262,144
//
// Shaped draws are checked against the CPU library's, which are the same by definition.
//
// Link with cuda/ops/sample.cu and cuda/cpu/sample_shaped.cpp.
#include <float.h>

#include "../../cuda/ops/ops.h"
#include "../../cuda/cpu/philox.h"
#include "../../cuda/cpu/sample_shaped.h"
#include "../../cuda/program/sample_weights.h"
#include "bench.h"

using namespace m40;
using namespace m40::cuda;

namespace {

double uniform() { return (random_u32() + 0.5) / 4294967296.0; }
float normal() { return static_cast<float>(sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform())); }

template <class T>
T* device_copy(const std::vector<T>& values) {
  void* memory = nullptr;
  must(cudaMalloc(&memory, values.size() * sizeof(T) + 16), "cudaMalloc");
  must(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  return static_cast<T*>(memory);
}

m40_sampling greedy() {
  m40_sampling s = {};
  s.top_p = s.typical_p = 1;
  s.dynatemp_exponent = 1;
  s.repetition_penalty = 1;
  s.mask = M40_NONE;
  return s;
}

// What an output draws, with whole sorts.
struct Expected {
  int32_t token;
  double logprob;
  std::vector<int32_t> top;
  bool forbidden;
  float surprise;
  // How near the draw was to another token's: the least distance of a decision, as a share of the sum.
  double margin;
};

struct Batch {
  uint32_t columns;
  std::vector<float> logits;
  std::vector<m40_sampling> sampling;
  std::vector<m40_token_count> counts;
  std::vector<m40_token_bias> biases;
  std::vector<uint32_t> masks;
  uint32_t mask_words() const { return (columns + 31) / 32; }
};

float limited(double value) { return static_cast<float>(std::clamp(value, -double(FLT_MAX), double(FLT_MAX))); }

Expected expected(const Batch& batch, uint32_t output) {
  const m40_sampling& s = batch.sampling[output];
  const float* logits = batch.logits.data() + uint64_t{output} * batch.columns;
  std::vector<float> l(logits, logits + batch.columns);
  for (uint32_t i = 0; i < s.n_token_counts; i++) {
    const m40_token_count& c = batch.counts[s.first_token_count + i];
    const double x = l[c.token], p = s.repetition_penalty;
    l[c.token] = limited((x > 0 ? x / p : x * p) - c.count * double(s.frequency_penalty) - (c.count > 0 ? double(s.presence_penalty) : 0));
  }
  for (uint32_t i = 0; i < s.n_token_biases; i++) {
    const m40_token_bias& b = batch.biases[s.first_token_bias + i];
    const double biased = double(l[b.token]) + double(b.bias);
    l[b.token] = isinf(biased) ? -INFINITY : limited(biased);
  }
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < batch.columns; i++) {
    if (l[i] == -INFINITY) continue;
    if (s.mask == M40_NONE || (batch.masks[uint64_t{s.mask} * batch.mask_words() + i / 32] >> (i % 32) & 1)) order.push_back(i);
  }
  Expected result = {-1, 0, {}, order.empty(), 0, 1};
  if (order.empty()) return result;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return l[a] != l[b] ? l[a] > l[b] : a < b; });
  double largest = -INFINITY, sum = 0;
  for (uint32_t i = 0; i < batch.columns; i++) largest = std::max(largest, double(logits[i]));
  for (uint32_t i = 0; i < batch.columns; i++) sum += exp(logits[i] - largest);
  const double log_sum = largest + log(sum);
  std::vector<uint32_t> by_logit(batch.columns);
  for (uint32_t i = 0; i < batch.columns; i++) by_logit[i] = i;
  const uint32_t n_top = std::min(s.n_top_logprobs, batch.columns);
  std::partial_sort(by_logit.begin(), by_logit.begin() + n_top, by_logit.end(), [&](uint32_t a, uint32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  result.top.assign(by_logit.begin(), by_logit.begin() + n_top);
  const auto weight = [&](uint32_t i) { return exp((double(l[i]) - double(l[order[0]])) / double(s.temperature)); };
  if (s.temperature == 0) {
    result.token = static_cast<int32_t>(order[0]);
  } else if (is_shaped(s)) {
    std::vector<reference::Candidate> candidates;
    for (uint32_t i : order) candidates.push_back({l[i], static_cast<int32_t>(i)});
    result.token = reference::draw_shaped(s, candidates.data(), static_cast<uint32_t>(candidates.size()), &result.surprise);
  } else {
    size_t n = order.size();
    if (s.min_p > 0) {
      while (n > 0 && weight(order[n - 1]) < double(s.min_p)) n--;
    }
    if (s.top_k != 0) n = std::min<size_t>(n, s.top_k);
    double kept = 0;
    for (size_t i = 0; i < n; i++) kept += weight(order[i]);
    if (s.top_p < 1) {
      const double wanted = kept * double(s.top_p);
      const double whole = kept;
      kept = 0;
      size_t m = 0;
      while (m < n && (m == 0 || kept < wanted)) kept += weight(order[m++]);
      result.margin = std::min(result.margin, fabs(kept - wanted) / whole);
      result.margin = std::min(result.margin, fabs(kept - weight(order[m - 1]) - wanted) / whole);
      n = m;
    }
    const double target = kept * (reference::philox(s.seed_low, s.seed_high, s.counter, s.stream).first / 4294967296.0);
    double passed = 0;
    result.token = static_cast<int32_t>(order[n - 1]);
    for (size_t i = 0; i < n; i++) {
      passed += weight(order[i]);
      if (passed > target) {
        result.token = static_cast<int32_t>(order[i]);
        result.margin = std::min({result.margin, (passed - target) / kept, i == 0 ? 1 : (target - passed + weight(order[i])) / kept});
        break;
      }
    }
  }
  result.logprob = logits[result.token] - log_sum;
  return result;
}

struct Run {
  std::vector<m40_sample> samples;
  std::vector<uint32_t> statuses;
};

struct OnDevice {
  float* logits;
  StepView step = {};
  SampleArgs args = {};
  explicit OnDevice(const Batch& batch) {
    const uint32_t n = static_cast<uint32_t>(batch.sampling.size());
    logits = device_copy(batch.logits);
    step.n_outputs = n;
    step.sampling = device_copy(batch.sampling);
    step.token_counts = device_copy(batch.counts);
    step.token_biases = device_copy(batch.biases);
    step.masks = device_copy(batch.masks);
    step.mask_words = batch.mask_words();
    step.shaped = std::any_of(batch.sampling.begin(), batch.sampling.end(), is_shaped);
    args.logits = logits;
    args.logits_stride = args.columns = batch.columns;
    args.samples = device_copy(std::vector<m40_sample>(n));
    args.statuses = device_copy(std::vector<uint32_t>(n, 77));
    args.scratch = {device_copy(std::vector<uint32_t>(scratch_counters, 0)), device_copy(std::vector<uint8_t>(sample_scratch_bytes(batch.columns, n), 0xFF))};
  }
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() {
    for (const void* memory : {static_cast<const void*>(logits), static_cast<const void*>(step.sampling), static_cast<const void*>(step.token_counts),
                               static_cast<const void*>(step.token_biases), static_cast<const void*>(step.masks), static_cast<const void*>(args.samples),
                               static_cast<const void*>(args.statuses), static_cast<const void*>(args.scratch.counters), static_cast<const void*>(args.scratch.memory)}) {
      cudaFree(const_cast<void*>(memory));
    }
  }
};

Run run(const Batch& batch) {
  OnDevice device(batch);
  const size_t n = batch.sampling.size();
  Run result = {std::vector<m40_sample>(n), std::vector<uint32_t>(n)};
  launch_sample(device.args, device.step, nullptr);
  must(cudaGetLastError(), "launch");
  must(cudaDeviceSynchronize(), "sample");
  must(cudaMemcpy(result.samples.data(), device.args.samples, n * sizeof(m40_sample), cudaMemcpyDeviceToHost), "samples");
  must(cudaMemcpy(result.statuses.data(), device.args.statuses, n * 4, cudaMemcpyDeviceToHost), "statuses");
  return result;
}

enum Distribution { kNormal, kSharp, kFlat, kEqual, kTies, kBands };
const char* const distribution_names[] = {"normal", "sharp", "flat", "equal", "ties", "bands"};

float drawn_logit(int distribution) {
  switch (distribution) {
    case kNormal: return 3 * normal();
    case kSharp: return 3 * normal() - (uniform() < 0.999 ? 12 : 0);
    case kFlat: return 0.01f * normal();
    case kEqual: return 1.5f;
    case kTies: return floorf(2 * normal());
    default: return uniform() < 0.1 ? 5 + 1e-3f * normal() : normal();
  }
}

m40_sampling random_sampling(Batch& batch) {
  m40_sampling s = greedy();
  const auto one_in = [](uint32_t n) { return random_u32() % n == 0; };
  s.temperature = one_in(6) ? 0 : one_in(3) ? 1 : static_cast<float>(0.05 + 2 * uniform());
  if (one_in(2)) s.top_p = static_cast<float>(0.01 + 0.98 * uniform());
  if (one_in(3)) s.min_p = one_in(4) ? 1 : static_cast<float>(exp(-8 * uniform()));
  if (one_in(2)) s.top_k = one_in(3) ? 1 + random_u32() % (2 * batch.columns) : 1 + random_u32() % 100;
  s.seed_low = random_u32();
  s.seed_high = random_u32();
  s.counter = random_u32();
  s.n_top_logprobs = one_in(2) ? random_u32() % 21 : 0;
  if (one_in(3)) {
    s.repetition_penalty = static_cast<float>(0.8 + uniform());
    s.frequency_penalty = static_cast<float>(uniform() - 0.3);
    s.presence_penalty = static_cast<float>(uniform() - 0.3);
    s.first_token_count = static_cast<uint32_t>(batch.counts.size());
    s.n_token_counts = random_u32() % 1500;
    for (uint32_t i = 0; i < s.n_token_counts; i++) batch.counts.push_back({static_cast<int32_t>(random_u32() % batch.columns), random_u32() % 5});
  }
  if (one_in(4)) {
    s.first_token_bias = static_cast<uint32_t>(batch.biases.size());
    s.n_token_biases = random_u32() % 40;
    for (uint32_t i = 0; i < s.n_token_biases; i++) batch.biases.push_back({static_cast<int32_t>(random_u32() % batch.columns), one_in(8) ? -INFINITY : 10 * normal()});
  }
  if (one_in(2)) {
    if (one_in(2)) s.typical_p = static_cast<float>(0.01 + 0.98 * uniform());
    if (one_in(2)) s.xtc_probability = static_cast<float>(uniform());
    s.xtc_threshold = static_cast<float>(exp(-8 * uniform()));
    if (one_in(2)) s.dynatemp_range = static_cast<float>(2 * uniform());
    if (one_in(2)) s.dynatemp_exponent = static_cast<float>(0.1 + 3 * uniform());
    if (one_in(2)) s.mirostat = 2;
    s.mirostat_mu = static_cast<float>(18 * uniform() - 1);
  }
  if (one_in(4)) {
    s.mask = static_cast<uint32_t>(batch.masks.size() / batch.mask_words());
    const uint32_t density = random_u32() % 3;
    for (uint32_t i = 0; i < batch.mask_words(); i++) batch.masks.push_back(density == 0 ? random_u32() : density == 1 ? random_u32() & random_u32() & random_u32() & random_u32() : one_in(64) ? 1u << random_u32() % 32 : 0);
  }
  return s;
}

int check(uint32_t most_columns, uint32_t rounds) {
  int failures = 0, checks = 0, narrow = 0;
  const auto expect = [&](bool good, const char* format, auto... values) {
    checks++;
    if (good || failures++ > 40) return;
    printf("FAILED: ");
    printf(format, values...);
    printf("\n");
  };
  for (uint32_t columns : {1u, 2u, 17u, 513u, 2048u, 2049u, 8192u, 8193u, 32000u, 128256u, 262144u}) {
    if (columns > most_columns) continue;
    for (int distribution = kNormal; distribution <= kBands; distribution++) {
      for (uint32_t round = 0; round < (columns > 10000 ? 1 : rounds); round++) {
        Batch batch;
        batch.columns = columns;
        const uint32_t n = columns > 100000 ? 24 : 40;
        for (uint32_t i = 0; i < n; i++) {
          batch.sampling.push_back(random_sampling(batch));
          for (uint32_t j = 0; j < columns; j++) batch.logits.push_back(drawn_logit(distribution));
        }
        if (batch.masks.empty()) batch.masks.push_back(0);
        const Run first = run(batch), second = run(batch);
        for (uint32_t i = 0; i < n; i++) {
          const Expected wanted = expected(batch, i);
          const m40_sample& got = first.samples[i];
          const m40_sampling& s = batch.sampling[i];
          if (wanted.forbidden) {
            expect(first.statuses[i] == M40_OUTPUT_NOTHING_ALLOWED, "%u columns, %s: status %u where nothing is allowed", columns, distribution_names[distribution], first.statuses[i]);
            continue;
          }
          expect(first.statuses[i] == M40_OUTPUT_OK && memcmp(&got, &second.samples[i], sizeof got) == 0, "%u columns, %s: status %u, or two runs differ", columns,
                 distribution_names[distribution], first.statuses[i]);
          if (got.token != wanted.token && wanted.margin < 1e-9) {
            narrow++;
          } else {
            expect(got.token == wanted.token, "%u columns, %s, output %u: token %d, wanted %d (margin %.2e; temperature %g, top_k %u, top_p %g, min_p %g, %u counts, mask %d)", columns,
                   distribution_names[distribution], i, got.token, wanted.token, wanted.margin, double(s.temperature), s.top_k, double(s.top_p), double(s.min_p), s.n_token_counts, int(s.mask));
            expect(!is_shaped(s) || got.surprise == wanted.surprise, "%u columns, %s: surprise %g, wanted %g", columns, distribution_names[distribution], double(got.surprise),
                   double(wanted.surprise));
            expect(fabs(got.logprob - wanted.logprob) < 1e-5, "%u columns: log-probability %g, wanted %g", columns, double(got.logprob), wanted.logprob);
          }
          bool same = true;
          for (uint32_t j = 0; j < M40_MAX_TOP_LOGPROBS; j++) same = same && got.top_tokens[j] == (j < wanted.top.size() ? wanted.top[j] : -1);
          expect(same, "%u columns, %s: the likeliest %u tokens are others", columns, distribution_names[distribution], s.n_top_logprobs);
        }
      }
    }
  }
  // What is not finite.
  Batch batch;
  batch.columns = 9000;
  for (uint32_t i = 0; i < 4; i++) {
    batch.sampling.push_back(greedy());
    for (uint32_t j = 0; j < batch.columns; j++) batch.logits.push_back(normal());
  }
  batch.logits[8999] = NAN;
  batch.logits[9000 + 3] = INFINITY;
  batch.logits[18000 + 8500] = -INFINITY;
  batch.counts.push_back({});
  batch.biases.push_back({});
  batch.masks.push_back(0);
  const Run result = run(batch);
  for (uint32_t i = 0; i < 4; i++) expect(result.statuses[i] == (i < 3 ? uint32_t{M40_OUTPUT_NOT_FINITE} : uint32_t{M40_OUTPUT_OK}), "output %u with what is not finite: status %u", i, result.statuses[i]);
  printf("%d checks, %d failed, %d draws within 1e-9 of another token went to it\n", checks, failures, narrow);
  return failures != 0;
}

#ifndef M40_EMULATED

void time_sampling(uint32_t columns, uint32_t n, const char* name, const m40_sampling& sampling, uint32_t n_counts) {
  Batch batch;
  batch.columns = columns;
  batch.masks.push_back(0);
  batch.biases.push_back({});
  for (uint32_t i = 0; i < n_counts + 1; i++) batch.counts.push_back({static_cast<int32_t>((i * 7919u + 13) % columns), 1});
  for (uint32_t i = 0; i < n; i++) {
    m40_sampling s = sampling;
    s.counter = i;
    s.n_token_counts = n_counts;
    batch.sampling.push_back(s);
    for (uint32_t j = 0; j < columns; j++) batch.logits.push_back(drawn_logit(kNormal));
  }
  OnDevice device(batch);
  cudaEvent_t a, b;
  cudaEventCreate(&a), cudaEventCreate(&b);
  std::vector<float> times;
  constexpr int each = 10;
  for (int i = 0; i < 9; i++) {
    cudaEventRecord(a);
    for (int j = 0; j < each; j++) launch_sample(device.args, device.step, nullptr);
    cudaEventRecord(b);
    must(cudaEventSynchronize(b), "run");
    float ms;
    cudaEventElapsedTime(&ms, a, b);
    if (i > 0) times.push_back(ms * 1000 / each);
  }
  cudaEventDestroy(a), cudaEventDestroy(b);
  std::sort(times.begin(), times.end());
  printf("%6u columns, %2u outputs, %-34s %7.2f us\n", columns, n, name, double(times[times.size() / 2]));
}

int time_all() {
  for (uint32_t columns : {32000u, 128256u, 262144u}) {
    for (uint32_t n : {1u, 32u}) {
      m40_sampling s = greedy();
      time_sampling(columns, n, "greedy", s, 0);
      s.n_top_logprobs = 20;
      time_sampling(columns, n, "greedy, 20 log-probabilities", s, 0);
      s.n_top_logprobs = 0;
      s.temperature = 0.8f;
      time_sampling(columns, n, "temperature 0.8", s, 0);
      s.top_p = 0.95f;
      time_sampling(columns, n, "temperature 0.8, top_p 0.95", s, 0);
      s.top_k = 40;
      time_sampling(columns, n, "and top_k 40", s, 0);
      s.repetition_penalty = 1.1f;
      time_sampling(columns, n, "and a penalty on 2000 tokens", s, 2000);
      s = greedy();
      s.temperature = 0.8f;
      s.typical_p = 0.9f;
      time_sampling(columns, n, "temperature 0.8, typical_p 0.9", s, 0);
      s.typical_p = 1;
      s.xtc_probability = 1;
      s.xtc_threshold = 0.01f;
      time_sampling(columns, n, "temperature 0.8, XTC", s, 0);
      s.xtc_probability = 0;
      s.dynatemp_range = 0.5f;
      time_sampling(columns, n, "dynamic temperature 0.3 to 1.3", s, 0);
      s.dynatemp_range = 0;
      s.mirostat = 2;
      s.mirostat_mu = 8;
      time_sampling(columns, n, "temperature 0.8, mirostat 2", s, 0);
    }
  }
  return 0;
}

#endif

}  // namespace

int main(int n, char** arguments) {
  const std::string what = n > 1 ? arguments[1] : "check";
  if (what == "check") return check(262144, 4);
  if (what == "quick") return check(10000, 1);
#ifndef M40_EMULATED
  if (what == "time") return time_all();
#endif
  fprintf(stderr, "sample_bench check | quick | time\n");
  return 2;
}
