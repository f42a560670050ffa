// Sampling by the samplers that few requests ask for, as m40_sampling describes them.
#ifndef M40_REFERENCE_SAMPLE_SHAPED_H
#define M40_REFERENCE_SAMPLE_SHAPED_H

#include "sample_candidate.h"

namespace m40::reference {

// A token of the n (at least one), which are left in another order. surprise: as m40_sample has it.
int32_t draw_shaped(const m40_sampling& sampling, Candidate* candidates, uint32_t n, float* surprise);

}  // namespace m40::reference

#endif
