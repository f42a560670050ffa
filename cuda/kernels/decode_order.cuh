// In which order a lane of a decode product multiplies: which of a token's sums takes which of four columns next.
//
// No result depends on it, for each sum takes its columns from the first to the last. But the assembler chooses
// registers as it comes upon them, and an operand costs a clock where another one of the same instruction lies in its
// register bank. So orders are chosen by what Maxwell's schedule then loses (docs/kernels/matmul.md, "Clocks by the
// schedule"), where a kernel walks one type and one number of tokens. CUDA 12's assembler chooses others than CUDA
// 11's: what costs least with one costs an eighth more with the other, or spills, so each has orders of its own.
#ifndef M40_KERNELS_DECODE_ORDER_CUH
#define M40_KERNELS_DECODE_ORDER_CUH

#include "formats.cuh"

namespace m40::cuda {

// The tables of orders that follow no rule.
enum DecodeTable { no_table, searched_table };

struct DecodeOrder {
  // The column of a load of quants at which the next load starts. With many tokens, the last columns of this one take
  // long enough, and registers are short.
  int refill;
  // Whether the products go column by column, each with all rows; else row by row, each with all columns.
  bool rows_inside = false;
  // The first column's first row, and by how many rows each column, each token, and each four columns start later than
  // the previous one.
  int first_row = 0, rows_later = 0, rows_later_by_token = 0, rows_later_by_four = 0;
  // Whether every second column goes through its rows from the last to the first, and every second four columns through
  // the tokens.
  bool rows_back = false, tokens_back = false;
  // Which of the tables below says it all instead, for four rows.
  DecodeTable table = no_table;
};

// `deno task sass --search` finds them by random changes, and keeps each that costs no more clocks (docs/kernels/matmul.md,
// "Clocks by the schedule").
struct DecodeOrderTable {
  // Of each four columns: its tokens, a hexadecimal digit each.
  uint64_t tokens[8];
  // Of each four columns and token: a column an octal digit, the row that it starts with, and 4 where it goes
  // backwards.
  uint16_t columns[8][16];

  __device__ constexpr int token(int four, int turn, int n_tokens) const { return static_cast<int>(tokens[four] >> 4 * (n_tokens - 1 - turn) & 15); }
  __device__ constexpr int row(int four, int of_token, int column, int i) const {
    const int digit = columns[four][of_token] >> 3 * (3 - column) & 7;
    return ((digit & 4 ? 3 - i : i) + digit) % 4;
  }
};

// The table of an order that the search tries: it compiles one kernel with a decode_order() of its own.
#ifndef M40_SEARCHED_TABLE
#define M40_SEARCHED_TABLE {}
#endif

// In the order of DecodeTable.
__device__ constexpr DecodeOrderTable decode_tables[] = {M40_SEARCHED_TABLE};

// CUDA's major version. A C++ compiler, for emulation, takes the orders of CUDA 11.
#ifdef __CUDACC_VER_MAJOR__
constexpr int cuda_version = __CUDACC_VER_MAJOR__;
#else
constexpr int cuda_version = 11;
#endif

__host__ __device__ constexpr DecodeOrder back_and_forth(int refill) { return {refill, true, 0, 2, 1, 1, true, true}; }

// Of four tokens and CUDA 11. kOneType: the kernel walks no other type, nor other numbers of tokens.
template <bool kOneType>
__host__ __device__ constexpr DecodeOrder decode_order_11(uint32_t type, int late) {
  if (!kOneType) return {late};
  switch (type) {
    case M40_TYPE_Q4_K: return {28, true, 1, 3, 2, 1, true, true};
    case M40_TYPE_Q4_0: return {12};
    case M40_TYPE_Q4_1: return back_and_forth(late);
    default: return {late};
  }
}

// Of CUDA 12. Straight ones spill in Q4_K with Q6_K and in experts of Q4_K, Q4_1 and MXFP4.
template <bool kOneType>
__host__ __device__ constexpr DecodeOrder decode_order_12(uint32_t type, int late) {
  if (!kOneType) {
    switch (type) {
      case M40_TYPE_Q4_K:
      case M40_TYPE_Q4_1: return back_and_forth(late);
      case M40_TYPE_MXFP4: return {late, true, 2, 2, 0, 0, false, true};
      default: return {late};
    }
  }
  switch (type) {
    case M40_TYPE_Q4_K: return {16, true, 2, 1, 2, 2, true, true};
    case M40_TYPE_Q6_K: return {late, true, 1, 3, 3, 1};
    default: return decode_order_11<kOneType>(type, late);
  }
}

// Of sixteen tokens. Back and forth, other types' loops are too long for the compiler to unroll: all sums would be in local
// memory, and a turn take thrice the clocks.
__host__ __device__ constexpr DecodeOrder decode_order_of_16(uint32_t type, int late) {
  switch (type) {
    case M40_TYPE_Q5_0:
    case M40_TYPE_Q6_K:
    case M40_TYPE_Q8_0: return back_and_forth(late);
    default: return {0, true, 2, 2, 0, 2, false, true};
  }
}

// Of eight tokens, which go column by column (by_column in part_sums.cuh).
template <bool kOneType>
__host__ __device__ constexpr DecodeOrder decode_order_by_column(uint32_t type, int late) {
  if (kOneType && cuda_version < 12) {
    switch (type) {
      case M40_TYPE_Q4_K: return {28, true, 2, 0, 3};
      case M40_TYPE_Q5_0:
      case M40_TYPE_Q2_K:
      case M40_TYPE_Q5_K: return {24, false, 0, 3, 0, 0, true, true};
      case M40_TYPE_Q6_K: return {28, true, 1, 2, 7, 1};
      case M40_TYPE_Q8_0: return {8, false, 1, 0, 6};
      default: break;
    }
  }
  return {late, false, 0, 0, 0, 0, false, true};
}

template <uint32_t kType, int T, bool kOneType>
__host__ __device__ constexpr DecodeOrder decode_order() {
  constexpr int kColumns = Format<kType>::kColumns;
  if (cuda_version >= 12 && T == 2 && kType == M40_TYPE_IQ3_S && !kOneType) return {8};  // spills with all at the first column
  if (T < 4 || kColumns <= 8) return {0};
  if (T == 16) return decode_order_of_16(kType, kColumns - 8);
  if (T == 8 && Format<kType>::kSumsParts && Format<kType>::kDeltas == 0) return decode_order_by_column<kOneType>(kType, kColumns - 8);
  if (T == 8) return {kColumns - 8};
  return cuda_version >= 12 ? decode_order_12<kOneType>(kType, kColumns - 8) : decode_order_11<kOneType>(kType, kColumns - 8);
}

// Of experts' rows that whole tiles leave of a prompt's.
template <uint32_t kType, int T>
__host__ __device__ constexpr DecodeOrder rests_order() {
  constexpr int kColumns = Format<kType>::kColumns;
  // Straight ones spill.
  if (T >= 4 && kType == M40_TYPE_Q4_K) return back_and_forth(kColumns - 8);
  if (T >= 4 && kType == M40_TYPE_IQ3_S) return {kColumns - 8, true, 2, 1, 2, 2, true, true};
  if (T == 8 && kColumns > 8) return {kColumns - 8};
  return decode_order<kType, T, false>();
}

struct DecodeProduct {
  int row, column;
};
struct DecodeColumnProduct {
  int row, token;
};

// Product number i of a column of a load, R rows and T tokens, where these go column by column: row by row, each with all
// tokens, or, of an order with rows_inside, token by token. Then rows_later_by_token is by how many tokens each row starts
// later, or by how many rows each token; tokens_back says whether every second row goes through its tokens from the last
// to the first, rows_back whether every second token or column does so with the rows.
template <int R, int T>
__host__ __device__ constexpr DecodeColumnProduct decode_column_product(const DecodeOrder& order, int column, int i) {
  int row = order.rows_inside ? i % R : i / T, token = order.rows_inside ? i / R : i % T;
  const int outer = order.rows_inside ? token : row;
  if (order.rows_inside) {
    if (order.tokens_back && column % 2 == 1) token = T - 1 - token;
    if (order.rows_back && outer % 2 == 1) row = R - 1 - row;
    row += order.rows_later_by_token * outer;
  } else {
    if (order.tokens_back && outer % 2 == 1) token = T - 1 - token;
    if (order.rows_back && column % 2 == 1) row = R - 1 - row;
    token = (token + order.rows_later_by_token * outer) % T;
  }
  return {(row + order.first_row + order.rows_later * (column % 4) + order.rows_later_by_four * (column / 4)) % R, token};
}

// Whether every column has each product once.
template <int R, int T>
__host__ __device__ constexpr bool takes_each_product(const DecodeOrder& order, int n_columns) {
  for (int column = 0; column < n_columns; column++) {
    bool taken[R][T] = {};
    for (int i = 0; i < R * T; i++) {
      const DecodeColumnProduct at = decode_column_product<R, T>(order, column, i);
      if (taken[at.row][at.token]) return false;
      taken[at.row][at.token] = true;
    }
  }
  return true;
}

// The token that comes next in four columns of a load, after `turn` others.
__device__ constexpr int decode_token(const DecodeOrder& order, int four, int turn, int n_tokens) {
  if (order.table != no_table) return decode_tables[order.table - 1].token(four, turn, n_tokens);
  return order.tokens_back && four % 2 == 1 ? n_tokens - 1 - turn : turn;
}
template <int T>
__device__ constexpr int decode_token(const DecodeOrder& order, int four, int turn) {
  return decode_token(order, four, turn, T);
}

// Product number i of a token, four columns and R rows.
template <int R>
__device__ constexpr DecodeProduct decode_product(const DecodeOrder& order, int four, int token, int i) {
  if (!order.rows_inside) return {i / 4, i % 4};
  if (R == 4 && order.table != no_table) return {decode_tables[order.table - 1].row(four, token, i / 4, i % 4), i / 4};
  const int column = i / R, row = order.rows_back && column % 2 == 1 ? R - 1 - i % R : i % R;
  return {(row + order.first_row + order.rows_later * column + order.rows_later_by_token * token + order.rows_later_by_four * four) % R, column};
}

// Whether every sum takes its columns in their order, each once.
template <int R>
__device__ constexpr bool takes_columns_in_order(const DecodeOrder& order, int n_fours, int n_tokens) {
  for (int four = 0; four < n_fours; four++) {
    uint32_t tokens = 0;
    for (int turn = 0; turn < n_tokens; turn++) tokens |= 1u << decode_token(order, four, turn, n_tokens);
    if (tokens != (1u << n_tokens) - 1) return false;
  }
  for (int of = 0; of < n_fours * n_tokens; of++) {
    int next[R] = {};
    for (int i = 0; i < 4 * R; i++) {
      const DecodeProduct at = decode_product<R>(order, of / n_tokens, of % n_tokens, i);
      if (at.column != next[at.row]++) return false;
    }
  }
  return true;
}

}  // namespace m40::cuda

#endif
