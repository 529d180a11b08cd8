// What the parameters of the proof are measured on.
#pragma once

#include <cstdint>
#include <string>

#include "search/embedding/bound/bound_parameters.h"

namespace shardwright::perf {

struct ProofOutcome {
  bool proved = false;    // the rating is optimal
  bool accepted = false;  // by the check of the certificate
  double gap = 0;         // between the bound and the rating, as a part of the rating
  std::uint64_t work = 0;
};

// Proves a bound against the best rating that tests/golden/embedding/milp.json.gz has for a golden
// case, which is named by its number. `work` is a limit. Exits if the case does not exist.
ProofOutcome prove_case(const std::string& name, std::uint64_t work,
                        const embedding::BoundParameters& parameters);

}  // namespace shardwright::perf
