// The cost of every option of a table in a plan, including options that constraints exclude.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedding/evaluate.h"
#include "core/embedding/plan.h"
#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"
#include "core/embedding/sharding_option.h"
#include "search/budget.h"
#include "search/embedding/model/greedy_placer.h"
#include "search/executor.h"

namespace shardwright::embedding {

struct ExcludedOption {
  const ShardingOption* option = nullptr;
  std::vector<std::string> excluded_by;  // JSON pointers
};

// The options that the constraints `sharding_types`, `compute_kernels` and `min_partition` exclude,
// by table. Options that a sharder offers only if a constraint names them (grid_shard, key-value
// kernels) are left out.
// Thread safety: immutable; const members may be called from any thread.
class ExcludedOptions {
 public:
  // Excludes nothing. For a space whose options were given and not enumerated.
  explicit ExcludedOptions(const SearchSpace& space) : by_table_(space.problem().tables().size()) {}

  // Enumerates the options at most twice: without `sharding_types` and `compute_kernels`, and then
  // also without `min_partition`.
  ExcludedOptions(const SearchSpace& space, Executor& executor);

  const std::vector<ExcludedOption>& of(TableId table) const { return by_table_[table.index()]; }
  // The search spaces that own the excluded options.
  const std::vector<std::shared_ptr<const SearchSpace>>& owners() const { return owners_; }

 private:
  void add(const SearchSpace& space, bool partition_dropped, Executor& executor);
  bool is_known(const SearchSpace& space, const ShardingOption& option) const;

  std::vector<std::vector<ExcludedOption>> by_table_;
  std::vector<std::vector<const ShardingOption*>> offered_;  // by table
  std::vector<std::shared_ptr<const SearchSpace>> owners_;
};

// A part of a rank's time.
enum class PerfPart : std::uint8_t {
  kForwardCompute,
  kForwardComms,
  kBackwardCompute,
  kBackwardComms,
  kPrefetchCompute
};
template <>
struct EnumNames<PerfPart> {
  static constexpr std::string_view kWhat = "part of the time";
  static constexpr std::array<std::string_view, 5> kNames{"fwd_compute", "fwd_comms", "bwd_compute",
                                                          "bwd_comms", "prefetch_compute"};
};

// The memory that a rank lacks for a shard.
struct MemoryLack {
  Rank rank = 0;
  MemoryTier tier = MemoryTier::kHbm;
  std::int64_t bytes = 0;
};

// The cost of an option of one table, if this option replaces the table's option in the plan and no
// other table changes.
struct OptionCost {
  enum class Standing : std::uint8_t {
    kChosen,
    kPossible,
    kTooLarge,  // does not fit, see `lack`
    kNoPlace,   // the placement rules in `excluded_by` leave no place
    kExcluded,  // the constraints in `excluded_by` rule the option out
  };
  Standing standing = Standing::kPossible;
  const ShardingOption* option = nullptr;
  std::vector<Rank> ranks;  // by shard; for kChosen those of the plan
  // The rating of the plan with this option, in ms, or in bytes for the storage model. Equals the
  // verifier's rating to a relative 1e-9. A rating within 1e-9 of the plan's is replaced by the
  // plan's. Ignores memory for kTooLarge. Absent for kNoPlace.
  std::optional<double> rating;
  double rating_change = 0;      // rating - rating of the plan
  Rank busiest_rank = 0;         // the rank that sets the rating
  std::optional<PerfPart> part;  // the part of busiest_rank's time that changes most
  double part_change_ms = 0;
  double time_ms = 0;                    // summed over the shards
  Storage storage;                       // summed over the shards
  std::optional<MemoryLack> lack;        // kExcluded options may have one, too
  std::vector<std::string> excluded_by;  // JSON pointers into the problem file
};

template <>
struct EnumNames<OptionCost::Standing> {
  static constexpr std::string_view kWhat = "standing";
  static constexpr std::array<std::string_view, 5> kNames{"chosen", "possible", "too_large",
                                                          "no_place", "excluded"};
};

// Computes OptionCosts by exchanging the option of one table in a plan. Refers to its arguments.
// Thread safety: const members may be called from any thread.
class OptionCosts {
 public:
  // `available`: the topology less reservation and margin. Precondition: `plan` is a plan of the
  // space's problem, and `evaluation` its evaluation.
  OptionCosts(const SearchSpace& space, const Topology& available, const Plan& plan,
              const Evaluation& evaluation, const ExcludedOptions& excluded);

  // Returns all options of the table at `position` of the plan: first the chosen option, then
  // possible options by ascending rating and time, then all others. Empty if the budget was
  // interrupted. O(options x shards x ranks).
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
