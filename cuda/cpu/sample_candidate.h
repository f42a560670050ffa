// A token that may be sampled, and the order of preference.
#ifndef M40_REFERENCE_SAMPLE_CANDIDATE_H
#define M40_REFERENCE_SAMPLE_CANDIDATE_H

#include <stdint.h>

#include "../include/m40.h"

namespace m40::reference {

struct Candidate {
  float logit;
  int32_t token;
};

inline bool likelier(const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit > b.logit : a.token < b.token; }

}  // namespace m40::reference

#endif
