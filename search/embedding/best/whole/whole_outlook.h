// Whether the tables that are left can still be placed: the bound of the tree of all plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/embedding/best/whole/whole_model.h"
#include "search/embedding/best/whole/whole_prices.h"
#include "search/embedding/best/whole/whole_state.h"

namespace shardwright::embedding {

// Every remaining table takes the cheapest choice that still has a place, at several sets of
// prices. All of them together may not cost more than the ranks that can still take a shard are
// worth. Thread safety: one thread at a time. Refers to its arguments.
class WholeOutlook {
 public:
  using Priced = WholePrices::Priced;

  // `below`: what plans must cost less than.
  WholeOutlook(const WholeModel& model, const WholeState& state, double below);

  const WholePrices& prices() const { return prices_; }

  struct View {
    std::size_t next = 0;  // the table with the fewest places
    Priced left;           // what the ranks that can still take a shard are worth
    Priced later;          // the least that the remaining tables but `next` cost
  };
  // Returns false if the remaining tables cannot be placed below this load. Precondition: at least
  // one table remains.
  bool look(std::uint64_t remaining, double below, View& view);

  // Adds the least that the shards of the piece, or of the block that begins with it, cost on ranks
  // from `first` to `end` where `open`, if given, is 1. Returns false if they have no place.
  bool price_pieces(const WholeTable& table, const WholeChoice& choice, std::uint32_t piece,
                    Rank first, Rank end, const std::vector<std::uint8_t>* open, double below,
                    Priced& sum);
  // Returns true if this is too much even with rounding.
  bool is_too_much(const Priced& needed, const Priced& left) const {
    bool more = false;
    for (std::size_t set = 0; set < WholePrices::kSets; ++set)
      more = more || needed[set] > left[set] + slack_[set];
    return more;
  }

  // In updates of a rank; a look at one costs less.
  std::uint64_t work() const { return looks_ / kLooksPerUpdate; }

 private:
  static constexpr std::uint64_t kLooksPerUpdate = 4;

  struct Places {
    double ways = 0;                // of placing all shards, roughly
    std::uint32_t least_ranks = 0;  // that hold a shard then
    std::uint64_t ranks = 0;        // that can take a shard of the table, as bits
  };

  bool price_piece(const WholeTable& table, std::uint32_t piece, Rank first, Rank end,
                   const std::vector<std::uint8_t>* open, double below, Priced& sum);
  bool price_blocks(const WholeTable& table, std::uint32_t piece, Rank first, Rank end,
                    const std::vector<std::uint8_t>* open, double below, Priced& sum);
  bool price_table(std::size_t index, std::uint64_t decided, double below, Priced& least);
  bool price_within(const WholeTable& table, const WholeChoice& choice, Rank first, Rank end,
                    double below, Priced& sum);
  bool price_choice(const WholeTable& table, const WholeChoice& choice, double below, Priced& sum);
  bool can_be_apart(const WholeModel::Group& group, std::uint64_t remaining) const;
  std::uint32_t most_on(const WholeTable& table, const WholePiece& piece, Rank rank,
                        double below) const;

  const WholeModel* model_;
  const WholeState* state_;
  WholePrices prices_;
  Priced slack_{};
  std::vector<std::uint8_t> open_;  // of the table being priced
  std::vector<std::uint32_t> most_;  // by rank or host, shards of the piece being priced
  Places places_;                   // of the piece, choice or table being priced
  std::vector<Places> places_of_;   // by table
  std::uint64_t looks_ = 0;
};

}  // namespace shardwright::embedding
