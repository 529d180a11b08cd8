// What best mode chooses from: the options worth considering, the room of every rank, and where
// shards may go.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/topology.h"
#include "search/embedding/model/admissible.h"
#include "search/embedding/model/choice.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// Tables are numbered in proposal order. Options that no placement rule admits are left out, and
// those that another one of the same table can replace in every placement that the rules allow, at
// no more load and no more memory on any rank; of equal ones the first stays. On a single host,
// "one host" means every rank. Keeps references to the pool and its problem. Thread safety:
// immutable; const members may be called from any thread.
class ChoiceModel {
 public:
  ChoiceModel(const OptionPool& pool, const Topology& available);

  // The choices that the check of a lower bound counts (core/embedding/bound/bound_options.h), whatever
  // groups of tables the rules keep together or apart. The same model where there are no rules.
  ChoiceModel for_bounds() const { return ChoiceModel(*pool_, topology_, true); }

  // kInfeasible where a table has no choice, with the place of the rule that forbids the last.
  const Status& status() const { return status_; }

  std::uint32_t world_size() const { return world_size_; }
  std::uint32_t local_world_size() const { return local_world_size_; }
  std::uint32_t num_hosts() const { return world_size_ / local_world_size_; }
  // Bytes that shards may take, by rank. May be negative: such a rank must stay empty.
  std::span<const Storage> room() const { return topology_.storage(); }

  // Where shards may be; asked with table().
  const PlacementRules& rules() const { return pool_->problem().rules(); }

  // By what the load of a rank counts in the rating. Empty where all count alike.
  std::span<const double> time_scale() const { return time_scale_; }
  double time_scale(Rank rank) const { return time_scale_.empty() ? 1 : time_scale_[rank]; }

  TableId table(std::size_t table) const { return pool_->tables()[table].table; }
  std::size_t num_tables() const { return first_choice_.size() - 1; }
  // All choices, table after table; `choices(table)` begin at `first_choice(table)`.
  std::span<const Choice> choices() const { return choices_; }
  std::span<const Choice> choices(std::size_t table) const {
    return std::span(choices_).subspan(first_choice_[table],
                                       first_choice_[table + 1] - first_choice_[table]);
  }
  std::uint32_t first_choice(std::size_t table) const { return first_choice_[table]; }
  // O(log tables).
  std::size_t table_of(std::uint32_t choice) const;
  // The choice that stands for an option: its own, or the one that replaces it. Empty where no rule
  // admits the option.
  std::optional<std::uint32_t> choice_of(OptionId option) const {
    const std::uint32_t choice = choice_of_[option.index()];
    return choice == kNone ? std::nullopt : std::optional(choice);
  }
  std::span<const ChoiceRun> runs(const Choice& choice) const {
    return std::span(runs_).subspan(choice.first_run, choice.num_runs);
  }

 private:
  ChoiceModel(const OptionPool& pool, const Topology& available, bool for_bounds);
  Reach reach_of(const OptionRow& row) const;
  void add(OptionId id, std::vector<Choice>& choices);
  bool replaces(const Choice& a, const Choice& b, bool same_for_all_shards) const;
  void keep_irreplaceable(const TableChoices& table, bool same_for_all_shards);

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  const OptionPool* pool_;
  std::uint32_t world_size_;
  std::uint32_t local_world_size_;
  bool load_is_memory_;
  Topology topology_;
  std::vector<double> time_scale_;
  Status status_;
  std::vector<Choice> choices_;
  std::vector<ChoiceRun> runs_;
  std::vector<std::uint32_t> first_choice_;
  std::vector<std::uint32_t> choice_of_;  // by option
};

// One choice per table and a rank per shard: what a search changes in place.
struct Allocation {
  std::vector<std::uint32_t> choice;     // by table, index into choices()
  std::vector<std::vector<Rank>> ranks;  // by table, one per shard; empty for kAllRanks
};

// The allocation as a plan, tables in proposal order.
Plan to_plan(const OptionPool& pool, const ChoiceModel& model, const Allocation& allocation);

// The plan as an allocation, options by the choices that stand for them: no rank then has more load
// or memory than by the plan. Empty where a table or an option is not of the model. Precondition:
// the plan's options are the pool's.
std::optional<Allocation> to_allocation(const OptionPool& pool, const ChoiceModel& model,
                                        const Plan& plan);

}  // namespace shardwright::embedding
