// An allocation being changed in place: what every rank holds, and how bad that is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/model/rank_state/rule_watch.h"
#include "search/embedding/model/rank_state/search_context.h"

namespace shardwright::embedding {

// What one rank holds, what it may hold, and its part of the energy.
struct RankLoad {
  double load = 0;
  std::int64_t hbm_bytes = 0;
  std::int64_t ddr_bytes = 0;
  std::int64_t room_hbm = 0;
  std::int64_t room_ddr = 0;
  double energy = 0;
  double slope = 0;  // of the energy over the load
  bool bad = false;  // too full, or its load is not below the bar
};

// One shard of a choice that is not on all ranks.
struct Slot {
  ShardUse use;
  Rank rank = 0;
  std::uint32_t position = 0;  // in shards_on(rank)
  std::uint32_t table = 0;
};

// What a search drives down. `target` and `scale` are loads: a rank's energy is what its load
// exceeds the target by, relative to the scale, as it is or squared, plus memory_weight times what
// its bytes exceed its room by, relative to the mean room. Every broken rule counts rule_weight.
struct Goal {
  double target = 0;
  double scale = 1;
  double memory_weight = 1;
  bool squared = true;
  double rule_weight = 1;
};

// Changes of ranks are tentative until keep(); an allocation is complete when every table has a
// choice and all its slots have ranks.
// Thread safety: one thread at a time. Allocates while constructed and where a rank holds more
// shards than ever before.
class RankLoads {
 public:
  explicit RankLoads(const SearchContext& context);

  const SearchContext& context() const { return *context_; }
  const ChoiceModel& model() const { return context_->model(); }
  std::span<const RankLoad> ranks() const { return ranks_; }
  const Slot& slot(std::uint32_t index) const { return slots_[index]; }
  std::span<const std::uint32_t> shards_on(Rank rank) const { return shards_on_[rank]; }
  const RuleWatch& rules() const { return rules_; }
  // What one shard of the table may do by itself, given what it is kept together with.
  Reach reach(std::size_t table) const {
    const Reach own = chosen(table).reach;
    const Bond bond = context_->units().bond(table);
    if (bond == Bond::kNone) [[likely]]
      return own;
    if (bond == Bond::kRank) return std::max(own, Reach::kWholeHosts);
    return std::max(own, Reach::kHost);
  }
  bool has_choice(std::size_t table) const { return choice_[table] != kNoChoice; }
  std::uint32_t choice(std::size_t table) const { return choice_[table]; }
  const Choice& chosen(std::size_t table) const { return model().choices()[choice_[table]]; }

  // Empties all ranks; tables have no choice then.
  void clear();
  // Takes an allocation whole. Precondition: complete.
  void assign(const Allocation& allocation);
  // Sums all ranks anew, so that rounding errors of changes do not pile up.
  void recompute();

  // Both recompute the energies. Ranks whose load reaches the bar are bad.
  void set_goal(const Goal& goal);
  void set_bar(double bar);
  const Goal& goal() const { return goal_; }
  double bar() const { return bar_; }
  // Every rank is below the bar and within its memory, and no rule is broken.
  bool all_good() const { return bad_ == 0 && rules_.broken() == 0; }
  // What the load makes of the rating on this rank.
  double scaled(Rank rank, double load) const {
    return scales_.empty() ? load : load * scales_[rank];
  }
  double max_load() const;
  // What the energy rises by at least, per unit of load added on every rank.
  double slope() const { return slope_; }

  // Energy that the rank would gain if these were added, or with a negative sign removed.
  double gain(Rank rank, const ShardUse& use) const {
    const RankLoad& at = ranks_[rank];
    const double gained = energy_of(at, at.load + scaled(rank, use.load),
                                    at.hbm_bytes + use.hbm_bytes, at.ddr_bytes + use.ddr_bytes) -
                          at.energy;
    return gained + rule_gain(rank, use);
  }
  // The part of it that is for rules that would be broken.
  double rule_gain(Rank rank, const ShardUse& use) const {
    if (use.table == ShardUse::kUnruled) [[likely]]
      return 0;
    return goal_.rule_weight * rules_.cost(use.table, use.shard, rank);
  }

  // Tentative changes; each returns the energy gained.
  double add(Rank rank, const ShardUse& use) { return change(rank, 1, use); }
  double remove(Rank rank, const ShardUse& use) { return change(rank, -1, use); }
  double add_everywhere(const Choice& choice) { return change_everywhere(1, choice); }
  double remove_everywhere(const Choice& choice) { return change_everywhere(-1, choice); }
  std::size_t num_tentative() const { return journal_.size(); }
  // The most HBM of a rank that these touch.
  std::int64_t tentative_peak_hbm() const;
  // Takes tentative changes back until `count` are left.
  void take_back(std::size_t count = 0);
  void keep() {
    journal_.clear();
    rules_.keep();
  }

  // Notes where shards are; the loads must have been changed accordingly.
  void note_rank(std::uint32_t slot, Rank rank);
  // Notes another choice of a table; its slots must get ranks by `ranks`, one per shard.
  void note_choice(std::size_t table, std::uint32_t choice, std::span<const Rank> ranks);
  // Tables noted since the last call, each once.
  std::vector<std::uint32_t>& changed_tables() { return changed_; }
  void clear_changed();
  void mark_changed(std::size_t table);
  void mark_all_changed();
  // Copies the state of one table.
  void copy_table(std::size_t table, Allocation& into) const;

 private:
  static constexpr std::uint32_t kNoChoice = ~std::uint32_t{0};

  double energy_of(const RankLoad& at, double load, std::int64_t hbm, std::int64_t ddr) const {
    const double over = (load - goal_.target) * inverse_scale_;
    double energy = over > 0 ? (goal_.squared ? over * over : over) : 0;
    if (hbm > at.room_hbm || ddr > at.room_ddr) [[unlikely]]
      energy += memory_energy(at, hbm, ddr);
    return energy;
  }
  double slope_of(double load) const {
    if (!goal_.squared) return load > goal_.target ? inverse_scale_ : 0;
    return 2 * std::max(load - goal_.target, 0.0) * inverse_scale_ * inverse_scale_;
  }
  double memory_energy(const RankLoad& at, std::int64_t hbm, std::int64_t ddr) const;
  bool is_bad(const RankLoad& at) const;
  double change(Rank rank, int sign, const ShardUse& use);
  double change_everywhere(int sign, const Choice& choice);
  void refresh();
  void unlist(std::uint32_t slot);

  struct Saved {
    Rank rank;
    RankLoad load;
  };

  const SearchContext* context_;
  std::span<const double> scales_;  // by rank; empty where all are 1
  RuleWatch rules_;
  std::vector<RankLoad> ranks_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> choice_;                  // by table
  std::vector<std::vector<std::uint32_t>> shards_on_;  // by rank, slots
  std::vector<Saved> journal_;
  std::vector<std::uint32_t> changed_;
  std::vector<std::uint8_t> is_changed_;  // by table
  Goal goal_;
  double inverse_scale_ = 1;
  double hbm_weight_ = 1;  // per byte
  double ddr_weight_ = 1;
  double mean_hbm_ = 1;
  double mean_ddr_ = 1;
  double bar_;
  double slope_ = 0;
  std::uint32_t bad_ = 0;
};

}  // namespace shardwright::embedding
