// The options of every table, with their costs: what a search chooses from.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// Immutable list of sharding options in enumeration order, with the problem they belong to and the
// layouts they point to. Shared by every plan made from it.
// Thread safety: const members may be called from any thread.
class SearchSpace {
 public:
  // `layouts` owns every layout that `options` points to.
  static std::shared_ptr<const SearchSpace> make(std::shared_ptr<const Problem> problem,
                                                 std::shared_ptr<const ShardLayoutInterner> layouts,
                                                 std::vector<ShardingOption> options) {
    return std::shared_ptr<const SearchSpace>(
        new SearchSpace(std::move(problem), std::move(layouts), std::move(options)));
  }

  const Problem& problem() const { return *problem_; }
  const std::shared_ptr<const Problem>& shared_problem() const { return problem_; }
  std::span<const ShardingOption> options() const { return options_; }
  const ShardingOption& option(OptionId id) const { return options_[id.index()]; }
  std::size_t size() const { return options_.size(); }

 private:
  SearchSpace(std::shared_ptr<const Problem> problem,
              std::shared_ptr<const ShardLayoutInterner> layouts,
              std::vector<ShardingOption> options)
      : problem_(std::move(problem)), layouts_(std::move(layouts)), options_(std::move(options)) {}

  std::shared_ptr<const Problem> problem_;
  std::shared_ptr<const ShardLayoutInterner> layouts_;
  std::vector<ShardingOption> options_;
};

}  // namespace shardwright::embedding
