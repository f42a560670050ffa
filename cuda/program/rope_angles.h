// The angles of rotary positions, which libraries compute once a program, on the host, in float64.
#ifndef M40_RUNTIME_ROPE_ANGLES_H
#define M40_RUNTIME_ROPE_ANGLES_H

#include "../include/m40.h"

namespace m40 {

// The angle a position of each of the rope_dim / 2 pairs. factors: [rope_dim / 2], or nullptr.
void rope_angles(const m40_op_rope_store& op, const float* factors, double* angles);

}  // namespace m40

#endif
