// The cases on which the parameters of the operators' solver are measured.
#pragma once

#include <cstdint>
#include <string>

#include "search/operators/solve/solver_parameters.h"

namespace shardwright::perf {

struct SolverOutcome {
  bool proved = false;
  bool found = false;
  double cost = 0;         // of the best choice; 0 if none was found
  double lower_bound = 0;  // 0 for a local search alone
  std::uint64_t work = 0;  // work until the proof ended, or the whole limit
};

// `name` is one of
// - `resnet`: the recorded ResNet-50 on 2x2 within 400,000,000 bytes;
// - `narrow`, `wide`: generated instances that are proved by tables and labels;
// - `dense`: a generated instance that is proved by branch and bound;
// - `sparse`, `large`: generated instances for local search alone, from the first feasible choice;
// - the path of a cost instance, recognised by its slash or dot.
// `work` is a limit. Exits if the case does not exist.
SolverOutcome solve_case(const std::string& name, std::uint64_t seed, std::uint64_t work,
                         const operators::SolverParameters& parameters);

}  // namespace shardwright::perf
