// Loads, memory and energy of the ranks while an allocation changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/search_context.h"

namespace shardwright::embedding {

// Load and memory of one rank. The capacity is what the reservation leaves, and may be negative. An
// empty rank fits any capacity. The load is a running sum, so its last digits depend on the order
// of changes.
// Thread safety: a value.
struct RankState {
  double load = 0;
  Storage left;  // of the capacity
  Storage capacity;

  // Adds (sign 1) or removes (sign -1) a shard. `own_load`: its load, scaled for this rank.
  void change(int sign, double own_load, Storage storage) {
    load += sign * own_load;
    left -= sign * storage;
  }
  void clear() {
    load = 0;
    left = capacity;
  }

  void set_capacity(Storage all) { left = capacity = all; }
  Storage held() const { return capacity - left; }

  bool fits() const { return !left.is_negative() || left == capacity; }
  bool has_room(const Storage& more) const {
    return more.fits_in(left) || held() + more == Storage();
  }
  bool has_room_for(const ShardUse& use) const { return has_room(use.storage); }
  // Bytes beyond the capacity, all tiers together.
  std::int64_t excess_bytes() const {
    return left == capacity ? 0 : most_of(Storage() - left, Storage()).sum().value();
  }
};

// Counts violated rules while shards are added and removed. Each of these is one violation:
// - a shard on a rank that it may not be on;
// - every further shard on a rank, for a table whose shards must be on distinct ranks;
// - every further rank or host in use, for tables kept together;
// - every further table on a rank or host, for tables kept apart.
// Tables on all ranks are never added, because the model has no choice that breaks a rule by
// itself.
// Thread safety: one thread at a time.
class RuleViolations {
 public:
  explicit RuleViolations(const ChoiceModel& model);

  std::uint64_t broken() const { return broken_; }
  // The ranks that the shard may be on; nullptr = every rank.
  const RankSet* allowed(std::uint32_t table, std::uint32_t shard) const {
    const Watched& at = watched_[table];
    return at.by_shard ? model_->rules().allowed(model_->table(table), shard) : at.allowed;
  }
  // Returns true if no rule relates the ranks of the table's shards to ranks of other shards.
  bool alone(std::uint32_t table) const {
    return !watched_[table].distinct && watched_[table].members.empty();
  }
  // The number of violations that the shard would add on the rank. O(groups of the table).
  std::uint32_t cost(std::uint32_t table, std::uint32_t shard, Rank rank) const;
  // Adds (sign 1) or removes (sign -1) a shard. Returns the change in the number of violations.
  // `mark` numbers the change; marks ascend.
  int change(int sign, std::uint32_t table, std::uint32_t shard, Rank rank, std::size_t mark);
  // Undoes every change whose mark is at least `first`.
  void take_back(std::size_t first);
  void keep() { journal_.clear(); }
  void clear();

 private:
  struct Member {
    std::uint32_t group = 0;  // index into groups_
    std::size_t counts = 0;   // index into counts_: the table's shards by place
  };
  struct Watched {
    const RankSet* allowed = nullptr;
    bool by_shard = false;  // allowed differs by shard
    bool distinct = false;
    std::size_t counts = 0;  // index into counts_: the table's shards by rank, if distinct
    std::vector<Member> members;
  };
  struct Group {
    bool together = false;
    std::uint32_t ranks_per_place = 1;
    std::uint32_t used = 0;  // places with shards
    std::size_t counts = 0;  // index into counts_: shards (together) or tables (apart) by place
  };
  struct Change {
    std::size_t mark;
    std::uint32_t table;
    std::uint32_t shard;
    Rank rank;
    int sign;
  };

  std::size_t add_counts(std::size_t count);
  int add(std::uint32_t table, std::uint32_t shard, Rank rank);
  int remove(std::uint32_t table, std::uint32_t shard, Rank rank);

  const ChoiceModel* model_;
  std::vector<Watched> watched_;  // by table; empty where there is no rule
  std::vector<Group> groups_;
  std::vector<std::uint32_t> counts_;
  std::vector<Change> journal_;
  std::uint64_t broken_ = 0;
};

// A rank with its part of the energy.
struct RankLoad : RankState {
  double energy = 0;
  double slope = 0;  // derivative of the energy by the load
  bool bad = false;  // exceeds its memory, or its load is not below the bar
};

// Defines the energy that a search minimises. `target` and `scale` are loads. The energy of a rank
// is (load - target) / scale if positive, linear or squared, plus memory_weight x bytes beyond its
// capacity / mean capacity. Every broken rule adds rule_weight.
struct Goal {
  double target = 0;
  double scale = 1;
  double memory_weight = 1;
  bool squared = true;
  double rule_weight = 1;
};

// The ranks with their energies. Every change is tentative until keep(). take_back() restores
// earlier sums exactly from a journal.
// Thread safety: one thread at a time. Allocates in the constructor, and when the journal grows.
class RankLoads {
 public:
  explicit RankLoads(const ChoiceModel& model);

  const ChoiceModel& model() const { return *model_; }
  std::span<const RankLoad> ranks() const { return ranks_; }
  const RuleViolations& rules() const { return rules_; }
  // The work of reading all ranks once, in updates of a rank. An update takes as long as reading
  // kRanksPerUpdate ranks in order.
  std::uint64_t pass_work() const { return ranks_.size() / kRanksPerUpdate; }

  // Set the goal or the bar and recompute the energies. A rank whose load reaches the bar is bad.
  void set_goal(const Goal& goal);
  void set_bar(double bar);
  const Goal& goal() const { return goal_; }
  double bar() const { return bar_; }
  // Returns true if every rank is below the bar and within its memory, and no rule is broken.
  bool all_good() const { return bad_ == 0 && rules_.broken() == 0; }
  // The load scaled for this rank: what it adds to the rank's rating.
  double scaled(Rank rank, double load) const {
    return scales_.empty() ? load : load * scales_[rank];
  }
  double max_load() const;
  std::int64_t peak_hbm() const;
  // A lower bound of the rise of the energy per unit of load added to every rank.
  double slope() const { return slope_; }

  // The rise of the energy if the rank got this shard.
  double gain(Rank rank, const ShardUse& use) const {
    const RankLoad& at = ranks_[rank];
    const double rise = energy_of(at, at.load + scaled(rank, use.load), use.storage) - at.energy;
    return rise + rule_gain(rank, use);
  }
  // The rise of the energy if the rank lost this shard. Precondition: the shard has no rules.
  double loss(Rank rank, const ShardUse& use) const {
    const RankLoad& at = ranks_[rank];
    const double load = at.load - scaled(rank, use.load);
    return energy_of(at, load, Storage() - use.storage) - at.energy;
  }
  // What remove_everywhere() would return, and slope() after it.
  struct Removal {
    double rise = 0;
    double slope = 0;
  };
  Removal removal_of(const Choice& choice) const;
  // The part of gain() for rules that the shard would break.
  double rule_gain(Rank rank, const ShardUse& use) const {
    if (use.table == ShardUse::kUnruled) [[likely]]
      return 0;
    return goal_.rule_weight * rules_.cost(use.table, use.shard, rank);
  }

  // Tentative changes. Each returns the rise of the energy, which is below 0 if the energy falls.
  double add(Rank rank, const ShardUse& use) { return change(rank, 1, use); }
  double remove(Rank rank, const ShardUse& use) { return change(rank, -1, use); }
  double add_everywhere(const Choice& choice) { return change_everywhere(1, choice); }
  double remove_everywhere(const Choice& choice) { return change_everywhere(-1, choice); }
  // Adds choices on all ranks, in this order and not tentatively. Calls stopped(work so far); if
  // this returns true, returns false and leaves the state undefined. Precondition: no change is
  // tentative.
  template <class Stopped>
  bool hold_everywhere(std::span<const std::uint32_t> choices, Stopped& stopped) {
    begin_filling();
    std::uint64_t work = 0;
    for (const std::uint32_t choice : choices) {
      if (stopped(work += ranks_.size())) return false;
      fill_everywhere(model().choices()[choice]);
    }
    end_filling();
    return true;
  }
  std::size_t num_tentative() const { return journal_.size(); }
  // The HBM bytes of the fullest rank that tentative changes touch.
  std::int64_t tentative_peak_hbm() const;
  // Undoes tentative changes, the last first, until `count` are left.
  void take_back(std::size_t count = 0);
  void keep() {
    journal_.clear();
    rules_.keep();
  }

 protected:
  // To compute all ranks again, not tentatively: clear_ranks(), then fill() for each shard, in the
  // order in which loads are added, then end_filling(). To add to the ranks instead,
  // begin_filling() replaces clear_ranks().
  void clear_ranks();
  void begin_filling();
  void fill(Rank rank, const ShardUse& use);
  void fill_everywhere(const Choice& choice);
  void end_filling();

 private:
  static constexpr std::size_t kRanksPerUpdate = 16;

  // The part of a rank's state that a change modifies.
  struct Saved {
    Rank rank;
    bool bad;
    double load;
    Storage left;
    double energy;
    double slope;
  };

  // The energy of the rank with this load and `more` bytes.
  double energy_of(const RankLoad& at, double load, const Storage& more) const {
    const double over = (load - goal_.target) * inverse_scale_;
    double energy = over > 0 ? (goal_.squared ? over * over : over) : 0;
    if (!more.fits_in(at.left)) [[unlikely]]
      energy += memory_energy(at, more);
    return energy;
  }
  double slope_of(double load) const {
    if (!goal_.squared) return load > goal_.target ? inverse_scale_ : 0;
    return 2 * std::max(load - goal_.target, 0.0) * inverse_scale_ * inverse_scale_;
  }
  [[gnu::noinline]] double memory_energy(const RankLoad& at, const Storage& more) const;
  bool is_bad(const RankLoad& at) const { return at.load >= bar_ || !at.fits(); }
  void refresh();
  double change_sums(Rank rank, double own_load, const Storage& storage);
  double change(Rank rank, int sign, const ShardUse& use);
  double change_everywhere(int sign, const Choice& choice);

  const ChoiceModel* model_;
  std::span<const double> scales_;  // by rank; empty if all are 1
  RuleViolations rules_;
  std::vector<RankLoad> ranks_;
  std::vector<Saved> journal_;
  std::vector<double> filled_loads_;     // by rank, between begin_filling() and end_filling()
  std::vector<Storage> filled_borders_;  // bytes of choices on all ranks: rank r less rank r - 1
  Goal goal_;
  double inverse_scale_ = 1;
  PerTier<double> weights_{1, 1, 1};  // per byte
  PerTier<double> means_;             // of the capacities, at least 1
  double bar_;
  double slope_ = 0;
  std::uint32_t bad_ = 0;
};

}  // namespace shardwright::embedding
