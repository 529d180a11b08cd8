// The choices of every table that an allocation below a given rating may have.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/model/rank_state/allocation_state.h"
#include "search/random.h"

namespace shardwright::embedding {

// Thread safety: one thread at a time. Refers to the allocation.
class ConsideredChoices {
 public:
  explicit ConsideredChoices(const AllocationState& state) : state_(&state) {}

  // Considers choices whose shards all rate below `rating` and that, at the context's prices, leave
  // enough load and memory for the cheapest choices of the other tables. Of what these leave, a
  // choice may take `part` more than the cheapest one of its table; with 1, none is left out that
  // an allocation below the rating may have. Cost: O(choices).
  void set_rating(double rating, double part = 1);

  // Tables with anything to decide: another choice, or ranks.
  std::span<const std::uint32_t> open_tables() const { return open_tables_; }
  // Choices of the table that are considered.
  std::uint32_t count(std::size_t table) const {
    return first_considered_[table + 1] - first_considered_[table];
  }
  // Draws a choice for the table, and a second time if it is the current one, of the allocation
  // unless told otherwise. Returns the current one if no other is considered.
  std::uint32_t draw(std::size_t table, RandomGenerator& random) const {
    return draw(table, state_->choice(table), random);
  }
  std::uint32_t draw(std::size_t table, std::uint32_t current, RandomGenerator& random) const;

 private:
  bool may_be_below(std::uint32_t choice, double rating) const;

  const AllocationState* state_;
  std::vector<std::uint32_t> considered_;  // choices, table after table
  std::vector<std::uint32_t> first_considered_;
  std::vector<std::uint32_t> open_tables_;
  std::vector<double> least_priced_;  // by table
};

}  // namespace shardwright::embedding
