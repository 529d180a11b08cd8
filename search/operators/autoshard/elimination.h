// Exact minimum over a pairwise model, with the number of minima, by variable elimination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/operators/autoshard/elimination_order.h"
#include "search/operators/autoshard/pairwise_model.h"

namespace shardwright::operators::autoshard {

// Eliminates one variable after the other: its table holds, for every choice of the variables that
// it is connected to, the least cost of it and of all that was eliminated behind it, and how many
// choices reach that. Cost: 3 * (factors of the variable) steps per state; no allocation once the
// memory of earlier models suffices.
// Thread safety: one thread at a time.
class Elimination {
 public:
  // Returns the variable at which kMaxStates is exceeded, or nothing on success. `model` must
  // outlive the calls below.
  std::optional<std::uint32_t> run(const PairwiseModel& model);

  // Of the model run last; scaled.
  std::int64_t optimum() const { return optimum_; }
  // Number of assignments that cost `optimum`; UINT64_MAX stands for that many or more.
  std::uint64_t num_optimal() const { return num_optimal_; }
  std::size_t states() const { return order_.total_states(); }

  // Positions of values, by variable, of an assignment that costs at most optimum() + slack: from
  // the variable eliminated last to the first, each takes its first value that leaves the slack
  // enough. Precondition: slack >= 0. O(pairs).
  std::span<const std::uint8_t> select(std::int64_t slack);

 private:
  // A summand of a variable's table: a pair, or the table of a variable eliminated before.
  struct Factor {
    std::uint32_t position;  // of the variable in the order
    bool is_table;
    std::uint32_t source;  // pair, or position in the order
    const std::int64_t* costs;
    const std::uint64_t* counts;  // null for a pair, where every entry counts once
    std::size_t strides_begin;    // of the variable, then of its scope
  };
  struct Best {
    std::int64_t cost;
    std::uint64_t count;
  };

  void place_tables();
  void gather_factors();
  void set_strides(Factor& factor);
  std::size_t stride(const Factor& factor, std::uint32_t variable) const;
  void fill(std::size_t position);
  Best best_of_state(std::size_t position) const;
  void advance(std::size_t position);
  std::span<const Factor> factors(std::size_t position) const;
  std::int64_t cost_of(std::size_t position, std::uint8_t value) const;
  std::uint64_t count_of(std::size_t position, std::uint8_t value) const;

  const PairwiseModel* model_ = nullptr;
  EliminationOrder order_;
  std::vector<std::size_t> table_begin_;  // by position
  std::vector<std::int64_t> costs_;       // all tables
  std::vector<std::uint64_t> counts_;
  std::vector<Factor> factors_;             // by position
  std::vector<std::size_t> factors_begin_;  // by position
  std::vector<std::size_t> strides_;
  std::vector<std::size_t> offsets_;  // of the state at hand, by factor
  std::vector<std::uint8_t> digits_;  // the state at hand, by variable of the scope
  std::vector<std::uint8_t> chosen_;  // by variable
  std::int64_t optimum_ = 0;
  std::uint64_t num_optimal_ = 1;
};

}  // namespace shardwright::operators::autoshard
