// Auto-sharding solved exactly, one request or many at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/operators/autoshard/autoshard_evaluate.h"
#include "core/operators/autoshard/autoshard_graph.h"
#include "core/status.h"
#include "search/executor.h"
#include "search/operators/autoshard/elimination.h"
#include "search/operators/autoshard/pairwise_model.h"

namespace shardwright::operators::autoshard {

struct Request {
  std::shared_ptr<const Graph> graph;
  std::int64_t devices = 1;
  CostModel model = CostModel::kV2;
};

struct Solution {
  std::int64_t scaled_optimum = 0;
  double optimum = 0;
  std::uint64_t num_optimal = 0;  // UINT64_MAX = that many or more
  Assignment assignment;          // one optimum, always the same for a request
  std::size_t states = 0;         // of all tables of the search

  friend bool operator==(const Solution&, const Solution&) = default;
};

// Solves requests one after another in the same memory.
// Thread safety: one thread at a time.
class Solver {
 public:
  // Errors: as check_request; kUnsupported with `where` = the op at which the tables of the search
  // exceed Elimination::kMaxStates.
  Status prove(const Request& request);

  // Of the last request that was proved.
  std::int64_t scaled_optimum() const { return elimination_.optimum(); }
  std::uint64_t num_optimal() const { return elimination_.num_optimal(); }
  Solution solution();
  // An assignment that costs less than `scaled_bound`, if there is one. Its cost is at most halfway
  // between the optimum and the bound, so repeated calls, each below the last cost, end soon.
  std::optional<Assignment> find_below(std::int64_t scaled_bound);

 private:
  Assignment assignment(std::int64_t slack);

  Request request_;
  PairwiseModel pairs_;
  Elimination elimination_;
};

// prove() and solution() of a solver made for this request.
Result<Solution> solve(const Request& request);

// Solves many requests at once. The answers are in the order of requests and the same for any
// executor.
std::vector<Result<Solution>> solve_all(std::span<const Request> requests, Executor& executor);

}  // namespace shardwright::operators::autoshard
