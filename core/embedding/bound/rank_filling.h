// A search for a plan below a target that fills one rank after the other.
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

// All placements of every table. Equal shards are on ascending ranks.
// Thread safety: immutable. Refers to the tables.
class TablePlacements {
 public:
  // Ignores charges for moves. Returns nothing if there are more than 64 ranks, 512 placements of a
  // table, or 8,192 placements in all.
  static std::optional<TablePlacements> make(const std::vector<ChoicesOfTable>& tables,
                                             const std::vector<RankTraits>& ranks,
                                             std::uint32_t ranks_per_host,
                                             const RankPriceSet& prices, StepLimit& limit);

  std::size_t num_tables() const { return first_.size() - 1; }
  // The placements of a table are consecutive, the cheapest first.
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

// Branch and bound over ranks. At given prices, the value of all ranks less the least cost of all
// tables is a budget. A plan below the target spends the budget on placements that are not the
// cheapest, and on capacity of ranks that stays empty. If the prices prove a bound close to the
// target, the budget is small, so every rank must be nearly full. The search fills one rank after
// the other in all ways that the budget allows: a table that can lie on the rank either does or
// does not. Then the rank is closed to all other tables. That leaves few branches where a tree over
// the placements of tables has many. Source: bin completion, Korf 2002, "A new algorithm for
// optimal bin packing".
// Thread safety: one thread at a time. Refers to its arguments.
class RankFilling {
 public:
  RankFilling(const TablePlacements& placements, const std::vector<RankTraits>& ranks,
              const RankPriceSet& prices, double target, StepLimit& limit);

  // Returns false if the budget is more than two ranks of average value are worth.
  bool is_promising() const;

  enum class Answer : std::uint8_t { kFound, kNoneExists, kGivenUp };
  // Ends with the first plan whose loads, as the placements state them, are below the target.
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
  // A table without a place, and its remaining placements, the cheapest first.
  struct Open {
    std::uint32_t table = 0;
    std::uint32_t first = 0;  // in Frame::left
    std::uint32_t end = 0;
  };
  // A table that can lie on the rank that is filled.
  struct Candidate {
    Open open;
    bool must = false;  // all its placements have a shard there
    double best = 0;    // the most value that it uses of the rank, less the budget that it spends
    double most = 0;    // the most value that it uses of the rank
  };
  // An upper bound on the value of a rank that tables use, less the budget that they spend.
  struct Gains {
    double sum = 0;
    double of_table = 0;               // of the current table
    std::uint32_t num_free = 0;        // tables that may, but need not, lie on the rank
    std::uint32_t num_placements = 0;  // with a shard on the rank
  };
  // The state after some ranks are closed, and the filling of the next rank.
  struct Frame {
    std::vector<Open> open;
    std::vector<std::uint32_t> left;  // placements that remain, grouped by table
    std::vector<Candidate> candidates;
    std::vector<double> best_from;  // by candidate: the sum of `best` from it on
    double budget = 0;
    Rank rank = 0;             // that is filled
    std::uint64_t orbit = 0;   // the ranks that are interchangeable with `rank`, as bits
    bool are_all_out = false;  // no candidate so far is on a rank of the orbit
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
  std::vector<Frame> frames_;           // by number of closed ranks; the first has everything
  std::vector<std::uint32_t> forced_;   // a stack of tables
  // Scratch.
  std::vector<Gains> gains_;  // by rank
  std::vector<Open> open_before_;
  std::vector<std::uint32_t> left_before_;
  bool is_found_ = false;
  double rating_ = 0;
};

}  // namespace shardwright::embedding
