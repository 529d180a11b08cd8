// The choices of best mode: the allowed options that no other option of their table dominates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/problem/topology.h"
#include "core/status.h"
#include "search/budget.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// Where the shards of an option may be, from the least to the most restricted.
enum class Reach : std::uint8_t {
  kDevice,      // every shard on any rank
  kHost,        // every shard on any rank of one host
  kWholeHosts,  // blocks of local_world_size shards, each in rank order on any host
  kAllRanks,    // shard i on rank i
};
inline constexpr std::size_t kReaches = 4;

// `count` consecutive shards, and the cost of each. `load` is in ms, or in bytes of HBM for the
// storage model.
struct ChoiceRun {
  std::uint32_t count = 0;
  double load = 0;
  Storage storage = {};
};

// Returns a run whose shards have the least load and the least memory of all shards, if there is
// one.
inline std::optional<ChoiceRun> smallest_shard(std::span<const ChoiceRun> runs) {
  const auto least = std::find_if(runs.begin(), runs.end(), [&](const ChoiceRun& a) {
    return a.count > 0 && std::all_of(runs.begin(), runs.end(), [&](const ChoiceRun& b) {
             return b.count == 0 || (a.load <= b.load && a.storage.fits_in(b.storage));
           });
  });
  return least == runs.end() ? std::nullopt : std::optional(*least);
}

struct Choice {
  OptionId option;
  Reach reach = Reach::kDevice;
  std::uint32_t first_run = 0;
  std::uint32_t num_runs = 0;
  std::uint32_t num_shards = 0;
  double load = 0;        // over all shards
  double max_load = 0;    // of one shard
  Storage storage;        // over all shards
  PerTier<double> bytes;  // `storage` as doubles
};

// A table with its choices, in proposal order.
struct TableChoices {
  TableId id;
  std::vector<Choice> choices;
};

// Drops choices that placement rules leave no place: rules of their own table, or of tables that
// must share a rank or host with it. If tables must be apart, drops a choice that takes so many
// ranks or hosts that too few remain for the other tables. Ignores memory. The remaining choices
// may still exclude each other.
// Errors: kInfeasible if a table has no choice left, with the place of the rule that removed the
// last choice. Time: O(choices), O(choices x ranks) for tables with rules, and more if every shard
// has its own allowed ranks and all must be on distinct ranks.
Status keep_allowed(const Problem& problem, std::vector<TableChoices>& tables);

// The tables, in proposal order, and their choices: all options except those that placement rules
// exclude (keep_allowed()) and dominated options. Option A dominates option B of the same table if
// A can replace B in every placement that the rules allow, with no more load and no more memory on
// any rank. Of equal options the first remains. On a machine with a single host, Reach::kHost means
// every rank. Refers to the pool and its problem.
// Thread safety: immutable; const members may be called from any thread.
class ChoiceModel {
 public:
  // If the budget was interrupted, status() is kStopped and the model must not be used.
  ChoiceModel(const OptionPool& pool, const Topology& available, const Budget& budget = {});

  // The model for replanning, where the bytes moved depend on how a table is cut: an option
  // dominates only options with the same cut.
  static ChoiceModel with_all_cuts(const OptionPool& pool, const Topology& available,
                                   const Budget& budget) {
    return ChoiceModel(pool, available, budget, Kind::kAllCuts);
  }

  // The model that the check of a lower bound uses (core/embedding/bound/bound_options.h).
  // It ignores rules that keep tables together or apart.
  ChoiceModel for_bounds() const { return ChoiceModel(*pool_, topology_, {}, Kind::kForBounds); }

  // Returns a relaxation of this model: choice i gets the runs runs[i], or is left out if runs[i]
  // is empty. Precondition: no shard takes more load or memory than in this model.
  ChoiceModel relaxed(std::span<const std::vector<ChoiceRun>> runs) const;

  // kInfeasible if a table has no choice left; names the rule that excluded its last choice.
  const Status& status() const { return status_; }

  const OptionPool& pool() const { return *pool_; }
  std::uint32_t world_size() const { return world_size_; }
  std::uint32_t local_world_size() const { return local_world_size_; }
  // The number of whole hosts, which may be 0. Ranks after the last whole host are on no host.
  std::uint32_t num_hosts() const { return world_size_ / local_world_size_; }
  std::uint32_t num_hosted_ranks() const { return num_hosts() * local_world_size_; }
  bool is_one_host() const { return world_size_ == local_world_size_; }
  bool has_uneven_hosts() const { return num_hosted_ranks() != world_size_; }
  // Bytes that shards may take on each rank. A rank with negative bytes must stay empty.
  std::span<const Storage> room() const { return topology_.storage(); }
  std::span<const MemoryTier> tiers() const { return topology_.tiers(); }
  const Topology& available() const { return topology_; }

  // The placement rules, which name tables by TableId: table(i).
  const PlacementRules& rules() const { return pool_->problem().rules(); }

  // By rank, the factor from load to rating. Empty if all are 1.
  std::span<const double> time_scale() const { return time_scale_; }
  double time_scale(Rank rank) const { return time_scale_.empty() ? 1 : time_scale_[rank]; }

  TableId table(std::size_t table) const { return pool_->tables()[table].table; }
  std::size_t num_tables() const { return first_choice_.size() - 1; }
  // All choices, table after table. The choices of a table begin at first_choice(table).
  std::span<const Choice> choices() const { return choices_; }
  std::span<const Choice> choices(std::size_t table) const {
    return std::span(choices_).subspan(first_choice_[table],
                                       first_choice_[table + 1] - first_choice_[table]);
  }
  std::uint32_t first_choice(std::size_t table) const { return first_choice_[table]; }
  // O(log tables).
  std::size_t table_of(std::uint32_t choice) const;
  // Returns the choice for an option, or the choice that dominates the option. Empty if rules
  // exclude it.
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
