// What every option of a table would cost in a plan in which nothing else changes.
#pragma once

#include <memory>
#include <vector>

#include "core/embedding/evaluate.h"
#include "core/embedding/search_space.h"
#include "runtime/embedding/explain/excluded_options.h"
#include "runtime/embedding/explain/explain.h"
#include "search/embedding/questions/replan/rank_tally.h"

namespace shardwright {

// A plan whose tables are exchanged one at a time.
// Keeps references. Thread safety: const members may be called from any thread.
class OptionCosts {
 public:
  // `available` is what reservation and margin leave; the plan is one of the space's problem.
  OptionCosts(const embedding::SearchSpace& space, const embedding::Topology& available,
              const embedding::Plan& plan, const embedding::Evaluation& evaluation,
              const ExcludedOptions& excluded);

  // Of the table at a position of the plan. O(options x shards x ranks).
  TableExplanation explain(std::size_t position) const;

 private:
  const embedding::SearchSpace& space_;
  const embedding::Topology& available_;
  const embedding::Plan& plan_;
  const embedding::Evaluation& evaluation_;
  const ExcludedOptions& excluded_;
  RankTally tally_;
  std::vector<std::vector<const embedding::ShardingOption*>> options_;  // by table
};

}  // namespace shardwright
