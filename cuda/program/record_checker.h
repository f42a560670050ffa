// Checks a program's operations: what follows from their description (operations.h), and what is special.
#ifndef M40_RUNTIME_RECORD_CHECKER_H
#define M40_RUNTIME_RECORD_CHECKER_H

#include "operations.h"
#include "validate.h"

namespace m40 {

// Throws Failure with M40_INVALID_ARGUMENT. With tensors == nullptr, it ignores tensor indices.
void check_record(const ProgramDescription& program, const TensorLookup* tensors, uint32_t index);

}  // namespace m40

#endif
