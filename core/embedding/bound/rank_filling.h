// Shows that no plan exists by filling one rank after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/embedding/bound/rank_contents.h"
#include "core/embedding/bound/rank_pricing.h"
#include "core/embedding/bound/shard_prices.h"
#include "core/embedding/bound/table_choices.h"

namespace shardwright::embedding {

// What a placement takes of a rank.
struct PlacedPart {
  Rank rank = 0;
  double load = 0;  // times the rank's factor
  PerTier<double> bytes = {};
  double price = 0;
};

struct PlacedShards {
  const TableChoice* choice = nullptr;
  std::uint32_t first_part = 0;
  std::uint32_t end_part = 0;
  std::uint32_t first_shard = 0;
  std::uint32_t end_shard = 0;
  std::uint64_t ranks = 0;  // of its parts, as bits
  double cost = 0;          // the prices of its parts
};

// Equal shards are in ascending order.
// Thread safety: immutable. Refers to the tables.
class TablePlacements {
 public:
  // Without charges for moves. Returns nothing if there are more than 64 ranks, or too many
  // placements to look at each.
  static std::optional<TablePlacements> make(const std::vector<ChoicesOfTable>& tables,
                                             const std::vector<RankTraits>& ranks,
                                             std::uint32_t ranks_per_host,
                                             const RankPriceSet& prices, StepLimit& limit);

  std::size_t num_tables() const { return first_.size() - 1; }
  // Those of a table are in a row, the cheapest first.
  std::uint32_t first(std::size_t table) const { return first_[table]; }
  const PlacedShards& operator[](std::uint32_t placement) const { return placements_[placement]; }
  std::span<const PlacedPart> parts(const PlacedShards& own) const {
    return std::span(parts_).subspan(own.first_part, own.end_part - own.first_part);
  }
  // By shard.
  std::span<const Rank> ranks_of_shards(const PlacedShards& own) const {
    return std::span(ranks_).subspan(own.first_shard, own.end_shard - own.first_shard);
  }

 private:
  class Maker;

  std::vector<std::uint32_t> first_{0};  // by table, and the end
  std::vector<PlacedShards> placements_;
  std::vector<PlacedPart> parts_;
  std::vector<Rank> ranks_;  // of shards
};

// At given prices, what the ranks are worth less what all tables cost is a budget: a plan below the
// target spends it on tables that are not where they cost least, and on what stays empty of ranks.
// Where the prices prove a bound close to the target the budget is small, so every rank must be
// nearly full. One rank after the other is filled in all ways that the budget allows: every table
// that can lie on it does so or not. Then it is closed to all other tables. That leaves few ways
// where a tree over the places of tables has many. Source: bin completion, Korf 2002, "A new
// algorithm for optimal bin packing".
// Thread safety: one thread at a time. Refers to its arguments.
class RankFilling {
 public:
  RankFilling(const TablePlacements& placements, const std::vector<RankTraits>& ranks,
              const RankPriceSet& prices, double target, StepLimit& limit);

  // Returns false if the budget is so large that ranks may stay half empty.
  bool is_promising() const;

  enum class Answer : std::uint8_t { kFound, kNoneExists, kGivenUp };
  // Ends with the first plan below the target, as far as the placements tell.
  Answer run();
  // Of the plan that was found: placements by table, and the largest load of a rank.
  const std::vector<std::uint32_t>& placement_of() const { return placement_of_; }
  double rating() const { return rating_; }

 private:
  // What is left of a rank.
  struct Room {
    double load = 0;
    PerTier<double> bytes = {};
    double worth = 0;
  };
  // A table without a place, and the placements that are left of it, the cheapest first.
  struct Open {
    std::uint32_t table = 0;
    std::uint32_t first = 0;  // in Frame::left
    std::uint32_t end = 0;
  };
  // A table that can lie on the rank that is filled.
  struct Candidate {
    Open open;
    bool must = false;  // it lies there
    double best = 0;    // the most that it takes of the rank, less what that spends of the budget
    double most = 0;    // that it takes
  };
  // What a rank gains from tables at best: what they take of it, less what that spends.
  struct Gains {
    double sum = 0;
    double of_table = 0;               // that is looked at
    std::uint32_t num_free = 0;        // tables that may lie on the rank, or not
    std::uint32_t num_placements = 0;  // with a part on it
  };
  // What is left when some ranks are closed, and how the next one is filled.
  struct Frame {
    std::vector<Open> open;
    std::vector<std::uint32_t> left;  // placements, those of a table in a row
    std::vector<Candidate> candidates;
    std::vector<double> best_from;  // of the candidates from each one on
    double budget = 0;
    Rank rank = 0;             // that is filled
    std::uint64_t orbit = 0;   // the ranks that are like it, as bits
    bool are_all_out = false;  // no candidate is on the rank so far, nor on one that is like it
  };

  bool is_over() const { return is_found_ || limit_.is_over(); }
  double least(const Frame& frame, const Open& own) const {
    return placements_[frame.left[own.first]].cost;
  }
  bool fits(const PlacedShards& placement) const;
  void take(const PlacedShards& placement);
  void give_back(const PlacedShards& placement);

  void fill_next(std::size_t depth);
  bool keep_possible(const std::vector<Open>& before, const std::vector<std::uint32_t>& left_before,
                     Frame& frame);
  bool place_forced(Frame& frame);
  void add_gains(const Frame& frame, const Open& open);
  bool choose_rank(Frame& frame);
  void find_candidates(Frame& frame) const;
  void find_orbit(Frame& frame) const;
  bool are_alike(const Frame& frame, Rank a, Rank b) const;
  bool has_like(const Frame& frame, const Open& open, const PlacedShards& own, Rank a,
                Rank b) const;
  void fill(std::size_t depth, std::size_t candidate);
  void leave_out(std::size_t depth, std::size_t candidate);
  void close(std::size_t depth);
  void accept();

  const TablePlacements& placements_;
  double target_;
  StepLimit& limit_;
  double slack_;
  std::vector<Room> room_;    // by rank
  std::vector<Room> before_;  // a stack of what take() changed
  std::uint64_t closed_ = 0;  // ranks, as bits
  std::vector<std::uint32_t> placement_of_;
  std::vector<std::uint64_t> avoided_;  // by table: ranks, as bits
  std::vector<Frame> frames_;           // the first has everything; then by number of closed ranks
  std::vector<std::uint32_t> forced_;   // a stack of tables
  // Scratch.
  std::vector<Gains> gains_;  // by rank
  std::vector<Open> open_before_;
  std::vector<std::uint32_t> left_before_;
  bool is_found_ = false;
  double rating_ = 0;
};

}  // namespace shardwright::embedding
