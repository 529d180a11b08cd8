// What best mode chooses from: the options worth considering, the free memory of every rank, and
// where shards may go.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "search/budget.h"
#include "search/embedding/model/allowed_choices.h"
#include "search/embedding/model/choice.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// Tables are numbered in proposal order. A choice is an option that remains after two reductions:
// options that the placement rules exclude are dropped, and so are dominated options. Option A
// dominates option B of the same table if A can replace B in every placement that the rules allow,
// with no more load and no more memory on any rank. Of equal options the first remains. On a
// machine with a single host, Reach::kHost means every rank. Refers to the pool and its problem.
// Thread safety: immutable; const members may be called from any thread.
class ChoiceModel {
 public:
  // status() is kStopped, and the model is not to be used, if the budget was interrupted.
  ChoiceModel(const OptionPool& pool, const Topology& available, const Budget& budget = {});

  // The model of a search in which it matters where the parts of a table were before: an option
  // dominates only options that cut the table in the same way.
  static ChoiceModel with_all_cuts(const OptionPool& pool, const Topology& available,
                                   const Budget& budget) {
    return ChoiceModel(pool, available, budget, Kind::kAllCuts);
  }

  // The model that the check of a lower bound uses (core/embedding/bound/bound_options.h):
  // it ignores the rules that keep tables together or apart. Without rules it equals this model.
  ChoiceModel for_bounds() const { return ChoiceModel(*pool_, topology_, {}, Kind::kForBounds); }

  // A relaxation of this model: every choice with these runs, or left out if it has none. No shard
  // may take more than it does here.
  ChoiceModel relaxed(std::span<const std::vector<ChoiceRun>> runs) const;

  // kInfeasible if a table has no choice left, with the place of the rule that excluded the last.
  const Status& status() const { return status_; }

  const OptionPool& pool() const { return *pool_; }
  std::uint32_t world_size() const { return world_size_; }
  std::uint32_t local_world_size() const { return local_world_size_; }
  // As in Topology: ranks behind the last host are on none, and there may be no host.
  std::uint32_t num_hosts() const { return world_size_ / local_world_size_; }
  std::uint32_t num_hosted_ranks() const { return num_hosts() * local_world_size_; }
  bool is_one_host() const { return world_size_ == local_world_size_; }
  bool has_uneven_hosts() const { return num_hosted_ranks() != world_size_; }
  // Bytes that shards may take on each rank. A rank with a negative number must stay empty.
  std::span<const Storage> room() const { return topology_.storage(); }
  std::span<const MemoryTier> tiers() const { return topology_.tiers(); }
  const Topology& available() const { return topology_; }

  // The placement rules, in which a table has the id table(i).
  const PlacementRules& rules() const { return pool_->problem().rules(); }

  // The factor of each rank's load in the rating. Empty if all are 1.
  std::span<const double> time_scale() const { return time_scale_; }
  double time_scale(Rank rank) const { return time_scale_.empty() ? 1 : time_scale_[rank]; }

  TableId table(std::size_t table) const { return pool_->tables()[table].table; }
  std::size_t num_tables() const { return first_choice_.size() - 1; }
  // All choices, table after table. Those of one table begin at first_choice(table).
  std::span<const Choice> choices() const { return choices_; }
  std::span<const Choice> choices(std::size_t table) const {
    return std::span(choices_).subspan(first_choice_[table],
                                       first_choice_[table + 1] - first_choice_[table]);
  }
  std::uint32_t first_choice(std::size_t table) const { return first_choice_[table]; }
  // O(log tables).
  std::size_t table_of(std::uint32_t choice) const;
  // The choice for an option: the option itself or the one that dominates it. Empty if the rules
  // exclude the option.
  std::optional<std::uint32_t> choice_of(OptionId option) const {
    const std::uint32_t choice = choice_of_[option.index()];
    return choice == kNone ? std::nullopt : std::optional(choice);
  }
  std::span<const ChoiceRun> runs(const Choice& choice) const {
    return std::span(runs_).subspan(choice.first_run, choice.num_runs);
  }

 private:
  enum class Kind : std::uint8_t { kSearch, kAllCuts, kForBounds };

  ChoiceModel(const OptionPool& pool, const Topology& available, const Budget& budget, Kind kind);
  Reach reach_of(const OptionRow& row) const;
  void add(OptionId id, std::vector<Choice>& choices);
  void add_runs(std::span<const ChoiceRun> runs, Choice& choice);
  bool dominates(const Choice& a, const Choice& b, bool same_for_all_shards) const;
  void keep_undominated(const TableChoices& table, bool same_for_all_shards);

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  const OptionPool* pool_;
  std::uint32_t world_size_;
  std::uint32_t local_world_size_;
  bool load_is_memory_;
  bool all_cuts_;
  Topology topology_;
  std::vector<double> time_scale_;
  Status status_;
  std::vector<Choice> choices_;
  std::vector<ChoiceRun> runs_;
  std::vector<std::uint32_t> first_choice_;
  std::vector<std::uint32_t> choice_of_;  // by option
};

}  // namespace shardwright::embedding
