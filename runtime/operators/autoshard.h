// Auto-sharding from request to verified answer.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/operators/autoshard/autoshard_evaluate.h"
#include "core/status.h"
#include "search/operators/autoshard/improve.h"
#include "search/operators/autoshard/solver.h"

namespace shardwright {

// Everything there is to say about one request. Iterations are those of the counter-example loop,
// empty where nothing costs less than its first bound.
struct AutoshardAnswer {
  operators::autoshard::Request request;
  operators::autoshard::Solution solution;
  operators::autoshard::Evaluation evaluation;  // of the solution, by the verifier
  std::vector<std::string> schedule;            // of the solution
  std::vector<operators::autoshard::Iteration> iterations;
};

// Answers in the order of requests, the same for any number of threads (0 = one per core). Errors:
// as operators::autoshard::Solver::prove; kVerificationFailed where search and verifier disagree.
std::vector<Result<AutoshardAnswer>> autoshard(
    std::span<const operators::autoshard::Request> requests, int threads);

}  // namespace shardwright
