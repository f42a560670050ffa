// m40_abi_version and m40_layout: the caller compares its own structs with them before it uses any.
#include "../include/m40.h"

#include <stddef.h>

#include <string>

#include "operations.h"
#include "structs.generated.h"

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

  // What the struct says in addition to its fields: JSON members, each after a comma.
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

std::string describe() {
  std::string json;
#define STRUCT(name, fields)                   \
  {                                            \
    Layout layout(json, #name, sizeof(name));  \
    fields                                     \
  }
#define FIELD(name, member) layout.field(#member, offsetof(name, member), sizeof(name::member));
  M40_STRUCTS(STRUCT, FIELD)
#undef STRUCT
#undef FIELD
  for (const m40::Operation& operation : m40::operations()) describe_operation(json, operation);
  {
    // The members of the union share one place, listed as "payload".
    Layout layout(json, "m40_op", sizeof(m40_op));
    layout.field("kind", offsetof(m40_op, kind), sizeof(m40_op::kind));
    layout.field("flags", offsetof(m40_op, flags), sizeof(m40_op::flags));
    layout.field("payload", offsetof(m40_op, words), sizeof(m40_op::words));
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
