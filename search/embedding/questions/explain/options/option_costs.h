// What every option of a table costs in a plan if nothing else changes.
#pragma once

#include <vector>

#include "core/embedding/evaluation/evaluate.h"
#include "core/embedding/plan.h"
#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"
#include "search/budget.h"
#include "search/embedding/model/rank_state/plan_loads.h"
#include "search/embedding/questions/explain/options/excluded_options.h"
#include "search/embedding/questions/explain/options/option_cost.h"

namespace shardwright::embedding {

// Exchanges the option of one table of a plan at a time. Keeps references.
// Thread safety: const members may be called from any thread.
class OptionCosts {
 public:
  // `available` is what reservation and margin leave. Precondition: `plan` is a plan of the space's
  // problem, and `evaluation` its evaluation.
  OptionCosts(const SearchSpace& space, const Topology& available, const Plan& plan,
              const Evaluation& evaluation, const ExcludedOptions& excluded);

  // All options of the table at `position` of the plan: the chosen one first, then possible ones by
  // rating and time, then the others. O(options x shards x ranks). Nothing if the budget was
  // interrupted first.
  std::vector<OptionCost> of_table(std::size_t position, const Budget& budget = {}) const;

 private:
  const SearchSpace& space_;
  const Topology& available_;
  const Plan& plan_;
  const Evaluation& evaluation_;
  const ExcludedOptions& excluded_;
  PlanLoads loads_;
  std::vector<std::vector<const ShardingOption*>> options_;  // by table
};

}  // namespace shardwright::embedding
