// Problems that differ in memory alone, from little memory to much: what one says about the others.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/evaluation/evaluate.h"
#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"

namespace shardwright::embedding {

// The evaluation of `plan`, if it is valid and rates below `rating` (absent = any rating).
std::optional<Evaluation> evaluate_if_better(const Problem& problem, const Topology& available,
                                             const Plan& plan, std::optional<double> rating);

// A plan that fits fits with more memory, too, and rates the same there. A bound that holds with
// more memory holds with less.
// Thread safety: one thread at a time.
class MemoryChain {
 public:
  // The plan of the last problem that had one: planning the next one may start from it. May be
  // null.
  const std::shared_ptr<const Plan>& start() const { return start_; }

  // Adds the answer for the next problem; `plan` and `rating` are absent if nothing fits.
  void add(const std::optional<Plan>& plan, std::optional<double> rating,
           std::optional<double> lower_bound);

  // The lower bounds of all problems, in the order of add(), each raised to those of problems with
  // more memory but not above its own rating. Absent where none was added.
  std::vector<std::optional<double>> lower_bounds() const;

 private:
  struct Answer {
    std::optional<double> rating;
    std::optional<double> lower_bound;
  };

  std::shared_ptr<const Plan> start_;
  std::vector<Answer> answers_;
};

}  // namespace shardwright::embedding
