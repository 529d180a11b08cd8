// Finds a choice within all limits, quickly and whatever it costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/solve/block_picker.h"
#include "search/operators/solve/block_solver.h"
#include "search/operators/solve/choice_graph.h"
#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// Assigns node after node the strategy that, including its consequences for other nodes, adds the
// fewest weighted bytes, and removes what the strategy forbids from all other nodes. If a limit is
// exceeded in the end, bytes at that time point weigh more in the next round. An empty result
// proves nothing: a feasible choice may exist. Deterministic in `seed`, except for a deadline or a
// stop.
std::optional<std::vector<std::uint32_t>> first_feasible(const ChoiceGraph& graph, Budget& budget,
                                                         std::uint64_t seed,
                                                         const FeasibleParameters& parameters = {});

struct LocalSearchOptions {
  std::uint64_t seed = 0;
  // The first prices of bytes, by time point of the instance; empty = all 0. The prices of the dual
  // ascent are good, together with its choice as `relaxed_start`.
  std::vector<double> prices;
  // The choice that the search begins with. It takes nothing forbidden, but may exceed limits.
  // Empty = `choice`.
  std::vector<std::uint32_t> relaxed_start;
  // If not 0, the search stays within the limits and ends after this many passes over all nodes.
  std::uint64_t descent_passes = 0;
};

// The search minimises cost plus priced bytes, in cycles of three phases:
//   relaxed: prices alone hold memory back, and follow the excess;
//   repair:  prices rise until all limits hold;
//   strict:  within the limits; prices rise where memory blocked a gain, and fall where there is
//            room.
// best() is always within the limits. An ExplorationDomain: a batch is a fixed number of blocks,
// each solved against the same state; synchronize() applies, in order, the changes that still
// improve. Work is counted in table entries. Memory: a state, and a solver per worker.
// Thread safety: as of an ExplorationDomain.
class LocalSearch {
 public:
  // `choice` is feasible. The graph must outlive the search.
  LocalSearch(const ChoiceGraph& graph, std::span<const std::uint32_t> choice, unsigned workers,
              LocalSearchOptions options = {}, const LocalSearchParameters& parameters = {});

  std::span<const std::uint32_t> best() const { return best_; }
  // Updated incrementally, so it may differ from evaluate() by rounding.
  double best_cost() const { return best_cost_; }
  // Begins the next cycle with `choice`, which may exceed limits, and `prices`, one per time point
  // of the instance. Ignores a choice with a forbidden strategy or pair. Call it between batches
  // only.
  void suggest(std::span<const std::uint32_t> choice, std::span<const double> prices);
  std::uint64_t batches_without_better() const { return batches_without_better_; }

  std::size_t batches_in_flight() const { return 1; }
  std::size_t propose(std::size_t slot, const Budget& budget);
  RangeSizes range_sizes() const { return {1, 1}; }
  void evaluate(std::size_t slot, unsigned worker, std::size_t begin, std::size_t end,
                const Budget& budget);
  bool synchronize(std::size_t slot, Budget& budget);

 private:
  struct Candidate {
    std::uint64_t key = 0;  // of its random sequence
    std::uint32_t arm = 0;
    std::size_t size = 0;  // nodes of the block
    BlockSolver::Outcome outcome;
    std::vector<ChoiceChange> changes;
  };
  struct Worker {
    Worker(const ChoiceGraph& graph, const LocalSearchParameters& parameters)
        : solver(graph, parameters.arms.table, parameters.blocks.solver), scratch(graph) {}
    BlockSolver solver;
    BlockScratch scratch;
  };

  std::pair<double, double> cost_around(std::span<const ChoiceChange> changes) const;
  void apply(Candidate& candidate);
  void keep_best();
  void end_pass();
  void begin_relaxed();
  bool begin_suggested();
  void begin_from(std::span<const std::uint32_t> suggested);

  const ChoiceGraph& graph_;
  LocalSearchOptions options_;
  LocalSearchParameters parameters_;
  BlockPicker picker_;
  SearchState state_;
  double cost_ = 0;
  double best_cost_ = 0;
  std::vector<std::uint32_t> best_;
  std::vector<double> best_prices_;       // when `best_` was found
  std::vector<std::uint32_t> suggested_;  // empty: none since the last cycle
  std::vector<double> suggested_prices_;
  std::size_t suggestions_ = 0;  // taken up
  std::vector<Candidate> candidates_;
  std::vector<std::unique_ptr<Worker>> workers_;
  BlockArms arms_;
  std::vector<std::uint8_t> stamp_;  // by node: 1 while the node is among the current changes
  enum class Phase : std::uint8_t { kRelaxed, kRepair, kStrict };
  Phase phase_ = Phase::kRelaxed;
  std::uint64_t cycle_ = 0;
  int steps_left_ = 0;
  double step_ = 0;
  std::uint64_t nodes_seen_ = 0;  // in blocks of this pass
  std::uint64_t passes_ = 0;      // over all nodes since the phase began or found a better choice
  std::uint64_t all_passes_ = 0;
  double phase_best_ = 0;
  std::uint64_t batch_ = 0;
  std::uint64_t batches_without_better_ = 0;
};

}  // namespace shardwright::operators
