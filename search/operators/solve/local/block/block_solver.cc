#include "search/operators/solve/local/block/block_solver.h"

#include <cmath>

namespace shardwright::operators {
namespace {

// The sum of the same costs in another order differs by less than this part.
constexpr double kRounding = 1e-12;

}  // namespace

void BlockSolver::list_changes(const SearchState& state) {
  changed_.clear();
  for (std::uint32_t v = 0; v < block_.num_variables(); ++v) {
    const std::uint32_t strategy = block_.strategy(v, block_[v].chosen);
    if (strategy != state.choice[block_[v].node]) changed_.push_back({block_[v].node, strategy});
  }
}

BlockSolver::Outcome BlockSolver::solve(const SearchState& state,
                                        std::span<const std::uint32_t> start,
                                        std::span<const std::uint32_t> nodes, bool within_limits,
                                        std::uint64_t key) {
  Outcome outcome;
  changed_.clear();
  if (block_.load(state, start, nodes, outcome.work)) {
    elimination_.prepare(block_, {max_table_, parameters_.draws}, key, outcome.work);
    search(state, within_limits, outcome);
  }
  block_.unload();
  return outcome;
}

void BlockSolver::search(const SearchState& state, bool within_limits, Outcome& outcome) {
  const double before = block_.cost_of_state(state);
  for (int attempt = 0; attempt < parameters_.most_attempts; ++attempt) {
    elimination_.minimize(block_, outcome.work);
    list_changes(state);
    const double gain = before - block_.cost_of_chosen(state);
    if (changed_.empty() || !(gain > kRounding * std::abs(before))) return changed_.clear();
    outcome.work += changed_.size();
    const Excess excess = within_limits ? excess_.largest(state, changed_) : Excess{};
    if (excess.bytes <= 0) {
      outcome.improved = true;
      outcome.gain = gain;
      return;
    }
    changed_.clear();
    const double gain_per_byte = gain / static_cast<double>(excess.more);
    if (!outcome.blocked) {
      outcome.blocked = true;
      outcome.blocked_at =
          static_cast<std::uint32_t>(state.profile.most_exceeded(excess.begin, excess.end));
      outcome.gain_per_byte = gain_per_byte;
    }
    for (std::uint32_t v = 0; v < block_.num_variables(); ++v) {
      if (elimination_.decides(v))
        block_.add_price(v, excess.begin, excess.end, parameters_.overshoot * gain_per_byte);
    }
  }
}

}  // namespace shardwright::operators
