// All-gather: several cards have each computed some columns of rows. Each card writes its own for the others and reads
// theirs, through host memory that all of them read and write, or through memory of each card that the others write
// (program/exchange.h).
//
// Small exchanges use packets, each thread's for the same thread of the others; no thread waits for another of its
// card. Large ones:
//
// A card's columns of all rows are cut into parts. Each thread block does one, and each card's part i is for the
// others' part i, so no block waits for another of its own card. Blocks begin in the order of their numbers. The lowest
// number that some card has not done runs on all of them, as all lower ones are done: so it ends.
//
// A block's threads write, then each fences, then they meet at a barrier, then the number is written, which says that
// the part is there. A reader that sees the number fences, and reads memory itself.
#ifndef M40_KERNELS_EXCHANGE_CUH
#define M40_KERNELS_EXCHANGE_CUH

#include "elementwise.cuh"
#include "exchange_args.cuh"
#include "intrinsics.cuh"
#include "waiting.cuh"

namespace m40::cuda {

struct ExchangeShared {
  uint32_t fault;
};

// A part of a card's columns of all rows, in units of kWide columns.
template <uint32_t kWide>
struct ExchangePart {
  uint32_t columns;  // units a row
  uint32_t begin, end;

  __device__ ExchangePart(const ExchangeArgs& args, uint32_t card, uint32_t part, uint32_t n_parts) {
    columns = (args.bounds[card + 1] - args.bounds[card]) / kWide;
    const uint64_t n = uint64_t{args.n_rows} * columns;
    begin = static_cast<uint32_t>(n * part / n_parts);
    end = static_cast<uint32_t>(n * (part + 1) / n_parts);
  }
};

// Polls of a waiting thread between its reads of the clock and of the host's memory. All waiting warps read one word
// there, and their reads take a round trip to the host one after the other: 700 of them take longer than many an
// exchange.
constexpr uint32_t exchange_looks = 4096;

// What a thread that waits for a card reads now and then: not 0: why it stops waiting.
struct ExchangePatience {
  const ExchangeArgs& args;
  uint32_t card;
  uint32_t looks = 0;
  uint32_t begun = microseconds();

  __device__ ExchangePatience(const ExchangeArgs& exchange_args, uint32_t other) : args(exchange_args), card(other) {}

  __device__ __forceinline__ uint32_t ended() {
    spin_pause_for_device();
    if (++looks % exchange_looks != 0) return 0;
    if (look(args.give_up) != 0) return exchange_given_up;
    if (microseconds() - begun <= exchange_patience_us) return 0;
    show(args.give_up, uint32_t{1});
    return 1 + card;
  }
};

// A row's values from a column of the card's own on.
__device__ __forceinline__ void load_own(const ExchangeArgs& args, uint32_t row, uint32_t column, float4& values) {
  if (!args.activates) {
    values = *reinterpret_cast<const float4*>(args.input + size_t{row} * args.input_stride + column);
    return;
  }
  values.x = activation_of(args.activation, row, column);
  values.y = activation_of(args.activation, row, column + 1);
  values.z = activation_of(args.activation, row, column + 2);
  values.w = activation_of(args.activation, row, column + 3);
}
__device__ __forceinline__ void load_own(const ExchangeArgs& args, uint32_t row, uint32_t column, float2& values) {
  if (!args.activates) {
    values = *reinterpret_cast<const float2*>(args.input + size_t{row} * args.input_stride + column);
    return;
  }
  values.x = activation_of(args.activation, row, column);
  values.y = activation_of(args.activation, row, column + 1);
}
__device__ __forceinline__ void load_own(const ExchangeArgs& args, uint32_t row, uint32_t column, float& value) {
  value = args.activates ? activation_of(args.activation, row, column) : args.input[size_t{row} * args.input_stride + column];
}

// Thread 0: whether the k-th next card has handed over its part of that exchange (it may have that of the next one,
// too); else why not.
__device__ __forceinline__ uint32_t wait_for_card(const ExchangeArgs& args, uint32_t k, uint32_t part, uint64_t number) {
  const uint32_t place = args.layout.place_of_next(args.card, args.n_cards, k);
  const uint64_t* const handed_over = reinterpret_cast<const uint64_t*>(args.memory + ExchangeLayout::number_offset(place, part));
  ExchangePatience patience(args, args.next_card(k));
  while (look(handed_over) < number + 1) {
    if (const uint32_t fault = patience.ended()) return fault;
  }
  __threadfence_system();
  return 0;
}

template <class V>
__device__ __forceinline__ void exchange(const ExchangeArgs& args, uint32_t part, uint32_t n_parts, ExchangeShared& shared) {
  constexpr uint32_t kWide = sizeof(V) / sizeof(float), kStep = exchange_threads * exchange_loads;
  const uint64_t number = look(args.steps) * args.n_exchanges + args.index;
  // Whatever is wrong with a step, its later exchanges are not waited for.
  if (threadIdx.x == 0) shared.fault = look(args.fault);
  __syncthreads();
  if (shared.fault != 0) return;
  {
    const ExchangePart<kWide> own(args, args.card, part, n_parts);
#pragma unroll 1
    for (uint32_t first = own.begin + threadIdx.x; first < own.end; first += kStep) {
      V values[exchange_loads];
#pragma unroll
      for (uint32_t j = 0; j < exchange_loads; j++) {
        const uint32_t i = first + j * exchange_threads;
        if (i < own.end) load_own(args, i / own.columns, i % own.columns * kWide, values[j]);
      }
#pragma unroll
      for (uint32_t j = 0; j < exchange_loads; j++) {
        const uint32_t i = first + j * exchange_threads;
        if (i >= own.end) continue;
#pragma unroll 1
        for (uint32_t k = 1; k <= args.n_targets(); k++) {
          const uint64_t offset = args.layout.slot_offset(args.layout.own_place(args.card, args.n_cards, k), number);
          reinterpret_cast<V*>(args.targets[k - 1] + offset)[i] = values[j];
        }
        if (args.in_place) continue;
        *reinterpret_cast<V*>(args.output + size_t{i / own.columns} * args.output_stride + args.bounds[args.card] + i % own.columns * kWide) = values[j];
      }
    }
  }
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) {
    for (uint32_t k = 1; k <= args.n_targets(); k++) {
      const uint32_t place = args.layout.own_place(args.card, args.n_cards, k);
      show(reinterpret_cast<uint64_t*>(args.targets[k - 1] + ExchangeLayout::number_offset(place, part)), number + 1);
    }
  }
#pragma unroll 1
  for (uint32_t k = 1; k < args.n_cards; k++) {
    const uint32_t card = args.next_card(k);
    if (threadIdx.x == 0) {
      shared.fault = wait_for_card(args, k, part, number);
      if (shared.fault != 0) atomicCAS(args.fault, 0u, shared.fault);
    }
    __syncthreads();
    if (shared.fault != 0) return;
    const ExchangePart<kWide> theirs(args, card, part, n_parts);
    const uint32_t place = args.layout.place_of_next(args.card, args.n_cards, k);
    const V* const from = reinterpret_cast<const V*>(args.memory + args.layout.slot_offset(place, number));
#pragma unroll 1
    for (uint32_t first = theirs.begin + threadIdx.x; first < theirs.end; first += kStep) {
      V values[exchange_loads];
#pragma unroll
      for (uint32_t j = 0; j < exchange_loads; j++) {
        if (first + j * exchange_threads < theirs.end) values[j] = __ldcv(from + first + j * exchange_threads);
      }
#pragma unroll
      for (uint32_t j = 0; j < exchange_loads; j++) {
        const uint32_t i = first + j * exchange_threads;
        if (i >= theirs.end) continue;
        const uint32_t row = i / theirs.columns, column = i % theirs.columns * kWide;
        *reinterpret_cast<V*>(args.output + size_t{row} * args.output_stride + args.bounds[card] + column) = values[j];
      }
    }
  }
}

// ---- packets ------------------------------------------------------------------------------------------

struct ExchangePacket {
  float values[2];
  uint32_t numbers[2];  // after each of them
};

__device__ __forceinline__ void show_packet(uint4* to, float2 values, uint32_t number) {
  const uint32_t a = float_to_bits(values.x), b = float_to_bits(values.y);
#ifdef M40_EMULATED
  uint64_t* const halves = reinterpret_cast<uint64_t*>(to);
  __atomic_store_n(halves, uint64_t{number} << 32 | a, __ATOMIC_RELEASE);
  __atomic_store_n(halves + 1, uint64_t{number} << 32 | b, __ATOMIC_RELEASE);
#else
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(a), "r"(number), "r"(b), "r"(number) : "memory");
#endif
}

__device__ __forceinline__ ExchangePacket look_at_packet(const uint4* from) {
  uint4 words;
#ifdef M40_EMULATED
  const uint64_t* const halves = reinterpret_cast<const uint64_t*>(from);
  const uint64_t a = __atomic_load_n(halves, __ATOMIC_ACQUIRE), b = __atomic_load_n(halves + 1, __ATOMIC_ACQUIRE);
  words = uint4{static_cast<uint32_t>(a), static_cast<uint32_t>(a >> 32), static_cast<uint32_t>(b), static_cast<uint32_t>(b >> 32)};
#else
  asm volatile("ld.global.cv.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w) : "l"(from) : "memory");
#endif
  return {{bits_to_float(words.x), bits_to_float(words.z)}, {words.y, words.w}};
}

// Grid: as many blocks as a card's packets want. All columns are even in number.
__device__ __forceinline__ void exchange_packets(const ExchangeArgs& args, uint32_t block, uint32_t n_blocks) {
  const uint64_t number = look(args.steps) * args.n_exchanges + args.index;
  const uint32_t mark = static_cast<uint32_t>(number + 1), step = n_blocks * exchange_threads, begin = block * exchange_threads + threadIdx.x;
  if (look(args.fault) != 0) return;
  {
    const uint32_t columns = (args.bounds[args.card + 1] - args.bounds[args.card]) / 2, n = args.n_rows * columns;
    for (uint32_t i = begin; i < n; i += step) {
      const uint32_t row = i / columns, column = i % columns * 2;
      float2 values;
      load_own(args, row, column, values);
#pragma unroll 1
      for (uint32_t k = 1; k <= args.n_targets(); k++) {
        const uint64_t offset = args.layout.packets_offset(args.layout.own_place(args.card, args.n_cards, k), number);
        show_packet(reinterpret_cast<uint4*>(args.targets[k - 1] + offset) + i, values, mark);
      }
      if (!args.in_place) *reinterpret_cast<float2*>(args.output + size_t{row} * args.output_stride + args.bounds[args.card] + column) = values;
    }
  }
#pragma unroll 1
  for (uint32_t k = 1; k < args.n_cards; k++) {
    const uint32_t card = args.next_card(k);
    const uint32_t columns = (args.bounds[card + 1] - args.bounds[card]) / 2, n = args.n_rows * columns;
    const uint32_t place = args.layout.place_of_next(args.card, args.n_cards, k);
    const uint4* const from = reinterpret_cast<const uint4*>(args.memory + args.layout.packets_offset(place, number));
    float* const output = args.output + args.bounds[card];
#pragma unroll 1
    for (uint32_t first = begin; first < n; first += exchange_loads * step) {
      ExchangePatience patience(args, card);
      ExchangePacket packets[exchange_loads];
      for (;;) {
        bool complete = true;
#pragma unroll
        for (uint32_t j = 0; j < exchange_loads; j++) {
          if (first + j * step < n) packets[j] = look_at_packet(from + first + j * step);
        }
#pragma unroll
        for (uint32_t j = 0; j < exchange_loads; j++) {
          if (first + j * step < n && (packets[j].numbers[0] != mark || packets[j].numbers[1] != mark)) complete = false;
        }
        if (complete) break;
        if (const uint32_t fault = patience.ended()) {
          atomicCAS(args.fault, 0u, fault);
          return;
        }
      }
#pragma unroll
      for (uint32_t j = 0; j < exchange_loads; j++) {
        const uint32_t i = first + j * step;
        if (i >= n) continue;
        *reinterpret_cast<float2*>(output + size_t{i / columns} * args.output_stride + i % columns * 2) = float2{packets[j].values[0], packets[j].values[1]};
      }
    }
  }
}

}  // namespace m40::cuda

#endif
