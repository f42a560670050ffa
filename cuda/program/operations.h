// Describes each operation of m40.h once, field by field of its record. Its name, the layout of its struct and the
// checks of its buffers and weights follow from here. So do the size of a program's arena, the lifetime of a buffer's
// values, and what may be fused.
#ifndef M40_RUNTIME_OPERATIONS_H
#define M40_RUNTIME_OPERATIONS_H

#include <stdint.h>

#include "../include/m40.h"

namespace m40 {

// What a field of a record is.
enum class Role : uint8_t {
  kNumber,
  kState,    // of the cache, of so many values
  kReads,    // a buffer
  kWrites,
  kUpdates,  // reads and writes
  kLends,    // is read by steps that hand out hidden states, by no others
  kVector,   // a weight [columns]
  kMatrix,   // [rows, columns]
  kExperts,  // [experts, rows, columns]
};

// The rows that a buffer has to have.
enum class RowKind : uint8_t { kAny, kTokens, kOutputs, kExperts, kAsFirst };  // kAsFirst: as the record's first buffer

// A number that a record determines; of element i, for arrays.
using Count = uint64_t (*)(const m40_op& op, uint32_t i);

struct Field {
  const char* name;
  uint32_t offset;  // in the record's struct
  uint32_t n_bytes;
  Role role = Role::kNumber;
  bool optional = false;  // may be M40_NONE
  // Of buffers.
  RowKind row_kind = RowKind::kAny;
  uint32_t element = M40_ELEMENT_F32;
  // Columns that a buffer has at least, and a weight exactly; values of a state.
  Count columns = nullptr;
  // Of weights. Without rows: any number of them.
  Count experts = nullptr;
  Count rows = nullptr;
  // Whether the operation uses it; nullptr: always.
  bool (*used)(const m40_op& op) = nullptr;

  bool is_buffer() const { return role >= Role::kReads && role <= Role::kLends; }
  bool is_weight() const { return role >= Role::kVector; }
  bool reads() const { return role == Role::kReads || role == Role::kUpdates; }
  bool writes() const { return role == Role::kWrites || role == Role::kUpdates; }
  uint32_t value(const m40_op& op, uint32_t i = 0) const { return op.words[offset / sizeof(uint32_t) + i]; }
};

struct Operation {
  uint32_t kind;
  const char* name;         // "matmul"
  const char* struct_name;  // "m40_op_matmul"
  uint32_t n_bytes;         // of its struct
  const Field* fields;      // all of them, in their order there
  uint32_t n_fields;
  bool uses_kv_blocks = false;
  // Elements of its arrays that are used; nullptr: all.
  Count n_weights = nullptr;
  // Rows a token of its buffers of RowKind::kExperts.
  Count n_used = nullptr;
  // Columns that it writes of those of its output; nullptr: all.
  Count written = nullptr;

  const Field* begin() const { return fields; }
  const Field* end() const { return fields + n_fields; }
  // Elements of a field that count in this record.
  uint32_t n_elements(const Field& field, const m40_op& op) const {
    if (field.used != nullptr && !field.used(op)) return 0;
    const uint32_t n = field.n_bytes / sizeof(uint32_t);
    return n == 1 || n_weights == nullptr ? n : static_cast<uint32_t>(n_weights(op, 0));
  }
};

// All of them, by kind: number i is of kind i + 1.
struct OperationList {
  const Operation* first;
  uint32_t n;
  const Operation* begin() const { return first; }
  const Operation* end() const { return first + n; }
};
OperationList operations();

// nullptr for a kind that is not in m40.h.
const Operation* find_operation(uint32_t kind);

// "matmul" for M40_OP_MATMUL; "unknown" for what is not in m40.h.
const char* op_name(uint32_t kind);

// Whether it stores or reads K and V.
bool uses_kv_blocks(const m40_op& op);

// The field that names the record's state; nullptr where it has none.
const Field* find_state(const m40_op& op);

// Whether the record reads the buffer, in steps of any kind. What is not described reads all.
bool reads_buffer(const m40_op& op, uint32_t buffer);
bool writes_buffer(const m40_op& op, uint32_t buffer);
// Whether the record writes all of the buffer's first `columns` columns, and reads none of them.
bool replaces_buffer(const m40_op& op, uint32_t buffer, uint64_t columns);

// visit(tensor) for each weight that the record names.
template <class Visit>
void for_each_weight(const m40_op& op, const Visit& visit) {
  const Operation* operation = find_operation(op.kind);
  if (operation == nullptr) return;
  for (const Field& field : *operation) {
    if (!field.is_weight()) continue;
    for (uint32_t i = 0; i < operation->n_elements(field, op); i++) {
      if (field.value(op, i) != M40_NONE) visit(field.value(op, i));
    }
  }
}

}  // namespace m40

#endif
