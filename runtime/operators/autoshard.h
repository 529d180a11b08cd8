// The public entry for auto-sharding: from requests to verified answers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/operators/autoshard/autoshard_graph.h"
#include "core/status.h"
#include "search/operators/autoshard/solver.h"

namespace shardwright {

// The answer to one request. `iterations` are those of the counter-example loop, in order. The list
// is empty if no solution costs less than the loop's first bound.
struct AutoshardAnswer {
  operators::autoshard::Request request;
  operators::autoshard::Solution solution;
  operators::autoshard::Evaluation evaluation;  // of `solution`, by the verifier
  std::vector<std::string> schedule;            // of `solution`
  std::vector<operators::autoshard::Iteration> iterations;
};

// Returns one answer per request, in the order of the requests. Uses `threads` threads (0 = all
// cores), whose number does not change the answers. Errors: as
// operators::autoshard::Solver::prove(); kVerificationFailed if search and verifier disagree.
// Thread safety: may be called from any number of threads at once.
std::vector<Result<AutoshardAnswer>> autoshard(
    std::span<const operators::autoshard::Request> requests, int threads);

}  // namespace shardwright
