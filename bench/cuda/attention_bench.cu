// Checks rope, the KV cache and attention against float64, and times them.
//
//   attention_bench check   shapes, cache types, KV block sizes, windows, caps, ragged steps; bits across batches and cuts
//   attention_bench time    decode and prefill of a 7B shape (and others), over more layers than any L2 holds
//
// Link with cuda/ops/{attention,rope}.cu.
#include "attention_check.h"
#ifndef M40_EMULATED
#include "attention_times.h"
#endif

int main(int n, char** arguments) {
  const std::string what = n > 1 ? arguments[1] : "check";
  if (what == "check") return check(false);
  if (what == "quick") return check(true);
#ifndef M40_EMULATED
  if (what == "time") return time_all();
#endif
  fprintf(stderr, "attention_bench check | quick | time\n");
  return 2;
}
