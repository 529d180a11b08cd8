// What the shards of one rank can be worth at most: the part of a bound's check that searches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"

namespace shardwright::embedding {

// Shards on one rank: what they are worth and what they take. Loads are rounded down, worths up.
struct Holding {
  double worth = 0;
  double load = 0;
  std::int64_t hbm_bytes = 0;
  std::int64_t ddr_bytes = 0;
};

// The least of each of what two take; the worth of the first.
Holding lesser(const Holding& a, const Holding& b);

// A rank that can hold load up to a target and memory up to its room, and of every table shards of
// one option or nothing. Labels of what may be held are extended table by table, alike ones in one
// order only; a label ends where prices show that nothing added to it exceeds the claim, or where
// another takes no more and is worth no less. Thread safety: one thread at a time.
class RankWorth {
 public:
  RankWorth(double target, const Storage& room, const RankPrices& prices)
      : target_(target), room_(room), prices_(prices) {}

  void begin_table() { tables_.emplace_back(); }
  // Of the table begun last: up to counts[i] shards of runs[i]. False where these are too many
  // ways.
  bool add(const std::vector<Holding>& runs, const std::vector<std::uint32_t>& counts);

  enum class Answer : std::uint8_t { kHolds, kExceeded, kGivenUp };
  // Whether nothing that fits is worth more than `most`. Takes its steps from `work_left`.
  Answer check(double most, std::uint64_t& work_left);

 private:
  // A holding, and its worth less what it takes at the prices, rounded up.
  struct Label {
    Holding held;
    double gain = 0;
    std::uint32_t used = 0;  // tables of those at hand
  };
  // `times` tables that can be held in the same ways.
  struct Table {
    std::vector<Label> ways;
    double best_gain = 0;  // of one; at least zero: nothing may be held
    Holding most;          // of load and memory
    std::uint32_t times = 1;
    std::uint32_t plenty = 1;  // more of them than these do not fit
  };
  // What a label may still gain, and how much it may have taken so that all that is to come fits.
  struct Ahead {
    double gain = 0;
    Holding taken;
  };

  void merge_alike();
  std::uint32_t find_plenty(const Table& table) const;
  bool fits(const Holding& held) const;
  double gain(const Holding& held) const;
  std::size_t pass(std::size_t first, std::size_t most_labels, double most,
                   std::uint64_t& work_left);
  Ahead ahead(std::size_t first, std::size_t end) const;
  void extend(const Table& table, const Ahead& before, const Ahead& after, double most,
              std::uint64_t& work_left);
  void drop_dominated(const Holding& free, std::uint32_t few);
  bool exceeds(std::vector<Label> others, double most, std::uint64_t& work_left) const;

  double target_;
  Storage room_;
  RankPrices prices_;
  std::vector<Table> tables_;
  std::vector<Label> labels_;
  std::vector<Label> next_;
};

}  // namespace shardwright::embedding
