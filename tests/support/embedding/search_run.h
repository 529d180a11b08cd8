// Runs the compat search on a given executor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/embedding/compat/embedding_search.h"
#include "search/embedding/model/option_pool.h"
#include "search/explore.h"

namespace shardwright::test_support {

// All results of one compat search.
struct SearchRun {
  StopReason reason = StopReason::kFinished;
  std::uint64_t num_proposals = 0;
  std::uint64_t num_plans = 0;
  std::uint64_t work = 0;
  double best_rating = 0;
  std::optional<embedding::Plan> plan;
  std::optional<embedding::Storage> lowest_failed;
  std::vector<embedding::OptionId> lowest_failed_options;
  std::vector<embedding::ProposalRecord> trace;
  std::vector<const embedding::ShardingOption*> options;  // by option id
  std::shared_ptr<const void> owner;                      // keeps `options` alive
};

inline SearchRun run_search(std::shared_ptr<const embedding::SearchSpace> space,
                            const embedding::Topology& available, Executor& executor,
                            std::optional<std::uint64_t> work_limit = {}, bool trace = true) {
  embedding::OptionPool pool(std::move(space));
  embedding::EmbeddingSearch search(pool, available, executor.workers(), trace);
  Budget budget(work_limit, {});
  SearchRun run;
  run.reason = explore(search, executor, budget);
  run.num_proposals = search.num_proposals();
  run.num_plans = search.num_plans();
  run.work = budget.work_done();
  run.best_rating = search.best_rating();
  run.plan = search.best_plan();
  run.lowest_failed = search.lowest_failed_storage();
  run.lowest_failed_options = search.lowest_failed_options();
  run.trace = search.trace();
  run.options = pool.all_options();
  run.owner = pool.owner();
  return run;
}

inline SearchRun run_search(std::shared_ptr<const embedding::SearchSpace> space,
                            const embedding::Topology& available) {
  InlineExecutor executor;
  return run_search(std::move(space), available, executor);
}

// Rebuilds the options of every traced proposal. A trace stores only what differs from the same
// proposer's previous proposal.
class TraceReader {
 public:
  const std::vector<embedding::OptionId>& next(const embedding::ProposalRecord& traced) {
    if (traced.proposer >= current_.size()) current_.resize(traced.proposer + 1);
    std::vector<embedding::OptionId>& options = current_[traced.proposer];
    if (traced.full) options.assign(traced.changes.size(), embedding::OptionId());
    for (const embedding::ProposalChange& change : traced.changes) {
      options.at(change.position) = change.option;
    }
    return options;
  }

 private:
  std::vector<std::vector<embedding::OptionId>> current_;  // by proposer
};

// Returns the ranks of all shards, one list per entry of the plan.
inline std::vector<std::vector<embedding::Rank>> ranks_of(const embedding::Plan& plan) {
  std::vector<std::vector<embedding::Rank>> all;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    auto& ranks = all.emplace_back();
    for (std::uint32_t s = 0; s < plan[i].option->num_shards(); ++s)
      ranks.push_back(plan[i].rank(s));
  }
  return all;
}

}  // namespace shardwright::test_support
