// Local search for cheap choices within all limits, and a search for a first such choice.
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

// Finds a choice within all limits, whatever it costs. Assigns strategies node by node. Each node
// takes the strategy that adds the fewest weighted bytes, counting its consequences for other
// nodes, and what this strategy forbids is removed from all other nodes. If the result exceeds a
// limit, bytes at the exceeded time point weigh more in the next round. An empty result proves
// nothing: a feasible choice may exist. Deterministic in `seed`, except for a deadline or a stop.
std::optional<std::vector<std::uint32_t>> first_feasible(const ChoiceGraph& graph, Budget& budget,
                                                         std::uint64_t seed,
                                                         const FeasibleParameters& parameters = {});

struct LocalSearchOptions {
  std::uint64_t seed = 0;
  // The first prices of bytes, by time point of the instance; empty: all 0. Prices of the dual
  // ascent suit well, with its choice as `relaxed_start`.
  std::vector<double> prices;
  // The first choice of the search; empty: `choice`. Has nothing forbidden, may exceed limits.
  std::vector<std::uint32_t> relaxed_start;
  // If not 0, the search stays within the limits and ends after this many passes over all nodes.
  std::uint64_t descent_passes = 0;
};

// Minimises cost plus priced bytes, in cycles of three phases:
//   relaxed: limits are ignored; prices make memory costly, and follow the excess;
//   repair:  prices rise until all limits hold;
//   strict:  within the limits; prices rise where a limit blocked a gain, and fall where there is
//            room.
// best() is always within the limits. An ExplorationDomain: a batch is a fixed number of blocks,
// each solved against the same state. synchronize() applies the changes in order, if they still
// improve. Work is counted in entries of the solver's cost tables. Memory: one state, and a solver
// per worker.
// Thread safety: as of an ExplorationDomain.
class LocalSearch {
 public:
  // `choice` must be feasible. The graph must outlive the search.
  LocalSearch(const ChoiceGraph& graph, std::span<const std::uint32_t> choice, unsigned workers,
              LocalSearchOptions options = {}, const LocalSearchParameters& parameters = {});

  std::span<const std::uint32_t> best() const { return best_; }
  // Summed incrementally, so rounding may make it differ from evaluate().
  double best_cost() const { return best_cost_; }
  // Begins the next cycle with `choice`, which may exceed limits, and `prices`, one per time point
  // of the instance. Ignores a choice with a forbidden strategy or pair. Call it between batches.
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
    std::uint64_t key = 0;  // seed of its random sequence
    std::uint32_t arm = 0;
    std::size_t size = 0;  // number of nodes of the block
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
  std::vector<double> best_prices_;       // the prices when best_ was found
  std::vector<std::uint32_t> suggested_;  // empty: no suggestion since the last cycle
  std::vector<double> suggested_prices_;
  std::size_t suggestions_ = 0;  // number of suggestions used
  std::vector<Candidate> candidates_;
  std::vector<std::unique_ptr<Worker>> workers_;
  BlockArms arms_;
  std::vector<std::uint8_t> stamp_;  // by node: 1 while it is among the current changes
  enum class Phase : std::uint8_t { kRelaxed, kRepair, kStrict };
  Phase phase_ = Phase::kRelaxed;
  std::uint64_t cycle_ = 0;
  int steps_left_ = 0;
  double step_ = 0;
  std::uint64_t nodes_seen_ = 0;  // in blocks of this pass
  std::uint64_t passes_ = 0;      // since the phase began or found a better choice
  std::uint64_t all_passes_ = 0;
  double phase_best_ = 0;
  std::uint64_t batch_ = 0;
  std::uint64_t batches_without_better_ = 0;
};

}  // namespace shardwright::operators
