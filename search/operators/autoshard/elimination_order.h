// In which order to eliminate variables so that the tables between them stay small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/operators/autoshard/pairwise_model.h"

namespace shardwright::operators::autoshard {

// An order of the variables of a model, and for each the later variables that its table depends on.
// Thread safety: one thread at a time.
class EliminationOrder {
 public:
  // States of all tables together; 3^15. More are refused: 16 bytes of memory each.
  static constexpr std::size_t kMaxStates = 14'348'907;

  // Returns the variable whose table goes beyond kMaxStates in the best order found, or nothing if
  // the order suffices. The variable with the fewest neighbours comes first; where that does not
  // suffice, the one whose elimination connects the fewest others. Ties by index. Reuses memory.
  std::optional<std::uint32_t> choose(const PairwiseModel& model);

  std::span<const std::uint32_t> order() const { return order_; }
  std::uint32_t position(std::uint32_t variable) const { return position_[variable]; }
  // The scope of order()[i], ascending.
  std::span<const std::uint32_t> scope(std::size_t i) const {
    return std::span(scopes_).subspan(scope_begin_[i], scope_begin_[i + 1] - scope_begin_[i]);
  }
  std::size_t states(std::size_t i) const { return states_[i]; }
  std::size_t total_states() const { return total_states_; }

 private:
  enum class Rule : std::uint8_t { kFewestNeighbours, kFewestNewPairs };

  std::optional<std::uint32_t> choose(const PairwiseModel& model, Rule rule);
  void connect(const PairwiseModel& model);
  std::uint32_t next_variable() const;
  bool record(const PairwiseModel& model, std::uint32_t variable);
  void eliminate(std::uint32_t variable, Rule rule);
  std::size_t score(std::uint32_t variable, Rule rule) const;

  std::vector<std::vector<std::uint32_t>> neighbours_;  // by variable, ascending; grows only
  std::vector<std::size_t> scores_;                     // by variable; kEliminated once it is gone
  std::vector<std::uint32_t> merged_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> position_;
  std::vector<std::uint32_t> scopes_;
  std::vector<std::size_t> scope_begin_;
  std::vector<std::size_t> states_;
  std::size_t total_states_ = 0;
};

}  // namespace shardwright::operators::autoshard
