// Random problems so small that all their plans can be listed, and a class that lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/embedding/plan.h"
#include "core/embedding/search_space.h"
#include "tests/support/random.h"

namespace shardwright::test_support {

// Two or three small tables on two to four ranks. The memory is often too small. If there are three
// ranks, the last may belong to no host.
inline nlohmann::json random_small_problem(Random& random) {
  using nlohmann::json;
  const std::size_t ranks = 2 + random.below(3);
  Random for_hosts = random;
  const bool uneven = ranks == 3 && for_hosts.below(2) == 0;
  const std::size_t local = uneven || (ranks == 4 && random.below(2) == 0) ? 2 : ranks;
  json problem = {{"reservation", {{"type", "none"}}}, {"batch_size", 1}};
  json hbm = json::array();
  for (std::size_t rank = 0; rank < ranks; ++rank)
    hbm.push_back(400'000 + 100'000 * (random.below(3) == 0 ? random.below(8) : 0));
  problem["topology"] = {{"world_size", ranks},
                         {"local_world_size", local},
                         {"ddr_cap", 1000},
                         {"custom", {{"hbm_cap", hbm}}}};
  const std::vector<json> kinds = {"table_wise", "column_wise", "row_wise", "table_row_wise",
                                   "table_column_wise"};
  const std::size_t tables = 2 + random.below(2);
  for (std::size_t i = 0; i < tables; ++i) {
    const std::string name = "t" + std::to_string(i);
    problem["tables"].push_back(
        {{"name", name}, {"num_embeddings", 700 + 150 * random.below(12)}, {"embedding_dim", 64}});
    json& rules = problem["constraints"][name];
    rules = {{"sharding_types", json::array({kinds[random.below(5)], kinds[random.below(5)]})},
             {"compute_kernels", {"fused", "dense"}},
             {"min_partition", 32}};
    json& types = rules["sharding_types"];
    if (types[0] == types[1]) types.erase(1);
    if (random.below(4) == 0) rules["ranks"] = {random.below(ranks), random.below(ranks)};
    if (random.below(5) == 0) rules["distinct_ranks"] = true;
    if (random.below(6) == 0) rules["shard_ranks"] = {{"0", {random.below(ranks)}}};
  }
  const json pair = {{"tables", {"t0", "t1"}}, {"on", random.below(2) == 0 ? "rank" : "host"}};
  for (const char* group : {"keep_together", "keep_apart"}) {
    if (random.below(4) == 0 && !uneven) problem[group] = json::array({pair});
  }
  return problem;
}

// Lists the plans with every option of every table on all ranks, whether placement rules allow them
// or not. Thread safety: one thread at a time.
class EveryPlan {
 public:
  // The listing ends once `judge` returns true.
  EveryPlan(std::shared_ptr<const embedding::SearchSpace> space,
            std::function<bool(const embedding::Plan&)> judge)
      : space_(std::move(space)), judge_(std::move(judge)) {}

  // Returns true if `judge` returned true for a plan.
  bool run(std::size_t table = 0) {
    if (table == space_->problem().tables().size())
      return judge_(embedding::Plan::make(space_, options_, ranks_));
    for (const embedding::ShardingOption& option : space_->options()) {
      if (option.table.index() != table) continue;
      options_.push_back(&option);
      if (place(table, option.num_shards())) return true;
      options_.pop_back();
    }
    return false;
  }

 private:
  bool place(std::size_t table, std::uint32_t shards) {
    if (shards == 0) return run(table + 1);
    for (embedding::Rank rank = 0; rank < space_->problem().topology().world_size(); ++rank) {
      ranks_.push_back(rank);
      if (place(table, shards - 1)) return true;
      ranks_.pop_back();
    }
    return false;
  }

  std::shared_ptr<const embedding::SearchSpace> space_;
  std::function<bool(const embedding::Plan&)> judge_;
  std::vector<const embedding::ShardingOption*> options_;
  std::vector<embedding::Rank> ranks_;
};

// Returns the number of plans that EveryPlan lists.
inline double number_of_plans(const embedding::SearchSpace& space) {
  std::vector<double> ways(space.problem().tables().size(), 0);
  for (const embedding::ShardingOption& option : space.options()) {
    double own = 1;
    for (std::uint32_t i = 0; i < option.num_shards(); ++i)
      own *= space.problem().topology().world_size();
    ways[option.table.index()] += own;
  }
  double all = 1;
  for (const double own : ways)
    all *= own;
  return all;
}

}  // namespace shardwright::test_support
