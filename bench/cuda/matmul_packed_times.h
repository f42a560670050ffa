// Times of products with packed pairs beside those in FP32, in turn.
#ifndef M40_BENCH_CUDA_MATMUL_PACKED_TIMES_H
#define M40_BENCH_CUDA_MATMUL_PACKED_TIMES_H

#include "../../cuda/ops/packed_types.h"
#include "matmul_times.h"

namespace {

void time_packed(const Buffers& b, uint32_t type, const std::vector<uint32_t>& counts) {
  for (const Shape& shape : layer) {
    std::vector<void*> memory;
    double rows = 0;
    for (uint32_t r : shape.rows) rows += r;
    const auto copies = make_copies(std::vector<uint32_t>(shape.rows.size(), type), shape, 400 << 20, memory);
    for (uint32_t n : counts) {
      const size_t used = n > 32 ? 2 : copies.size();
      std::vector<double> us[2];
      for (int turn = 0; turn < 3; turn++) {
        for (int packed = 0; packed < 2; packed++) {
          us[packed].push_back(time_graph([&](cudaStream_t s) { for (size_t i = 0; i < used; i++) product(b, shape, copies[i], n, n > 32, s, false, packed == 1); }, static_cast<int>(used)));
        }
      }
      for (auto& times : us) std::sort(times.begin(), times.end());
      const double flops = 2.0 * rows * shape.columns * n;
      printf("%-5s %-8s n=%-4u FP32 %8.1f us %6.2f TFLOP/s | packed %8.1f us %6.2f TFLOP/s | %.3f times as fast\n", find_tensor_type(type)->name, shape.name, n, us[0][1],
             flops / us[0][1] / 1e6, us[1][1], flops / us[1][1] / 1e6, us[0][1] / us[1][1]);
      fflush(stdout);
    }
    for (void* m : memory) cudaFree(m);
  }
}

}  // namespace

#endif
