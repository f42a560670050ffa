#include "operations.h"

#include <stddef.h>

#include <algorithm>

namespace m40 {

namespace {

// The words of operation_fields.generated.h: what a field is, and counts from the record.
constexpr Field buffer(Field field, Role role, RowKind row_kind, Count columns, uint32_t element = M40_ELEMENT_F32) {
  field.role = role;
  field.row_kind = row_kind;
  field.columns = columns;
  field.element = element;
  return field;
}
constexpr Field reads(Field field, RowKind row_kind, Count columns, uint32_t element = M40_ELEMENT_F32) {
  return buffer(field, Role::kReads, row_kind, columns, element);
}
constexpr Field writes(Field field, RowKind row_kind, Count columns, uint32_t element = M40_ELEMENT_F32) {
  return buffer(field, Role::kWrites, row_kind, columns, element);
}
constexpr Field updates(Field field, RowKind row_kind, Count columns) { return buffer(field, Role::kUpdates, row_kind, columns); }
constexpr Field lends(Field field, RowKind row_kind, Count columns) { return buffer(field, Role::kLends, row_kind, columns); }
constexpr Field state(Field field, Count values) {
  field.role = Role::kState;
  field.columns = values;
  return field;
}
constexpr Field vector(Field field, Count columns) {
  field.role = Role::kVector;
  field.columns = columns;
  return field;
}
constexpr Field matrix(Field field, Count rows, Count columns) {
  field.role = Role::kMatrix;
  field.rows = rows;
  field.columns = columns;
  return field;
}
constexpr Field experts(Field field, Count n_experts, Count rows, Count columns) {
  field.role = Role::kExperts;
  field.experts = n_experts;
  field.rows = rows;
  field.columns = columns;
  return field;
}
constexpr Field optional(Field field) {
  field.optional = true;
  return field;
}
constexpr Field where(bool (*used)(const m40_op& op), Field field) {
  field.used = used;
  return field;
}

constexpr uint64_t wide(uint32_t number) { return number; }
uint64_t max(uint64_t a, uint64_t b) { return std::max(a, b); }
uint64_t max(uint64_t a, uint64_t b, uint64_t c) { return std::max({a, b, c}); }
// Of an array's first n elements.
template <class Of>
uint64_t most(uint32_t n, const Of& of) {
  uint64_t largest = 0;
  for (uint32_t i = 0; i < n; i++) largest = std::max(largest, of(i));
  return largest;
}
template <class Of>
uint64_t total(uint32_t n, const Of& of) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += of(i);
  return sum;
}

#define FIELD(name, member) \
  Field { #member, offsetof(m40_op_##name, member), sizeof(m40_op_##name::member) }
#define COUNT(...) []([[maybe_unused]] const m40_op& op, [[maybe_unused]] uint32_t i) -> uint64_t { return __VA_ARGS__; }
#define OPERATION(KIND, name, ...) \
  {M40_OP_##KIND, #name, "m40_op_" #name, sizeof(m40_op_##name), name##_fields, sizeof(name##_fields) / sizeof(Field), __VA_ARGS__}

#include "operation_fields.generated.h"

#undef FIELD
#undef COUNT
#undef OPERATION

// Whether its fields are all of the struct's, in their order, and have all that their roles need.
constexpr bool complete(const Operation& operation) {
  uint32_t end = 0;
  for (uint32_t i = 0; i < operation.n_fields; i++) {
    const Field& field = operation.fields[i];
    const bool array = field.n_bytes != sizeof(uint32_t);
    if (field.offset != end || field.n_bytes % sizeof(uint32_t) != 0) return false;
    if (field.role != Role::kNumber && (field.columns == nullptr || (array && operation.n_weights == nullptr))) return false;
    if (field.role == Role::kExperts && (field.experts == nullptr || field.rows == nullptr)) return false;
    if (field.row_kind == RowKind::kExperts && operation.n_used == nullptr) return false;
    end += field.n_bytes;
  }
  return end == operation.n_bytes && end <= sizeof(m40_op::words);
}

constexpr bool all_complete() {
  for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    if (all[i].kind != i + 1 || !complete(all[i])) return false;
  }
  return true;
}

static_assert(all_complete(), "a record, or a field of one, is not described");

// Whether a field that has a role names the buffer.
template <class HasRole>
bool names_buffer(const m40_op& op, uint32_t buffer, const HasRole& has_role) {
  const Operation* operation = find_operation(op.kind);
  return std::any_of(operation->begin(), operation->end(), [&](const Field& field) {
    return field.is_buffer() && has_role(field) && field.value(op) == buffer;
  });
}

}  // namespace

OperationList operations() { return {all, sizeof(all) / sizeof(all[0])}; }

const Operation* find_operation(uint32_t kind) { return kind >= 1 && kind <= operations().n ? &all[kind - 1] : nullptr; }

const char* op_name(uint32_t kind) {
  const Operation* operation = find_operation(kind);
  return operation == nullptr ? "unknown" : operation->name;
}

bool uses_kv_blocks(const m40_op& op) {
  const Operation* operation = find_operation(op.kind);
  return operation == nullptr || operation->uses_kv_blocks;
}

const Field* find_state(const m40_op& op) {
  const Operation* operation = find_operation(op.kind);
  if (operation == nullptr) return nullptr;
  const Field* found = std::find_if(operation->begin(), operation->end(), [](const Field& field) { return field.role == Role::kState; });
  return found == operation->end() ? nullptr : found;
}

bool reads_buffer(const m40_op& op, uint32_t buffer) {
  return find_operation(op.kind) == nullptr || names_buffer(op, buffer, [](const Field& field) { return field.reads(); });
}

bool writes_buffer(const m40_op& op, uint32_t buffer) {
  return find_operation(op.kind) == nullptr || names_buffer(op, buffer, [](const Field& field) { return field.writes(); });
}

bool replaces_buffer(const m40_op& op, uint32_t buffer, uint64_t columns) {
  if (reads_buffer(op, buffer)) return false;
  const Operation& operation = *find_operation(op.kind);
  return names_buffer(op, buffer, [&](const Field& field) {
    const uint64_t end = field.columns(op, 0);
    return field.writes() && end >= columns && (operation.written == nullptr || operation.written(op, 0) == end);
  });
}

}  // namespace m40
