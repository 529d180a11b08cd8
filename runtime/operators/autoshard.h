// The public entry for auto-sharding: from request to verified answer.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/operators/autoshard/autoshard_graph.h"
#include "core/status.h"
#include "search/operators/autoshard/solver.h"

namespace shardwright {

// The answer to one request. `iterations` are those of the counter-example loop; the list is empty
// if no solution costs less than the loop's first bound.
struct AutoshardAnswer {
  operators::autoshard::Request request;
  operators::autoshard::Solution solution;
  operators::autoshard::Evaluation evaluation;  // of the solution, by the verifier
  std::vector<std::string> schedule;            // of the solution
  std::vector<operators::autoshard::Iteration> iterations;
};

// Answers in the order of the requests, with `threads` threads (0 = all cores); the answers are the
// same for any number of threads. Errors: as operators::autoshard::Solver::prove();
// kVerificationFailed if search and verifier disagree.
// Thread safety: may be called from any number of threads at once.
std::vector<Result<AutoshardAnswer>> autoshard(
    std::span<const operators::autoshard::Request> requests, int threads);

}  // namespace shardwright
