// The cases on which the parameters of the proof are measured.
#pragma once

#include <cstdint>
#include <string>

#include "search/embedding/bound/bound_parameters.h"

namespace shardwright::perf {

struct ProofOutcome {
  bool proved = false;    // the rating is proved to be optimal
  bool accepted = false;  // the check accepts the certificate
  double gap = 0;         // 1 - bound / rating
  std::uint64_t work = 0;
};

// Proves a bound for a golden case, which `name` names by its number. The proof runs against the
// best rating of the case in tests/golden/embedding/milp.json.gz, for at most `work` units of work.
// Exits if the case does not exist.
ProofOutcome prove_case(const std::string& name, std::uint64_t work,
                        const embedding::BoundParameters& parameters);

}  // namespace shardwright::perf
