// Anytime improvement of a feasible choice: blocks of nodes are solved exactly, all others fixed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/solve/graph/choice_graph.h"
#include "search/operators/solve/graph/search_state.h"
#include "search/operators/solve/local/block_picker.h"
#include "search/operators/solve/local/block_solver.h"

namespace shardwright::operators {

struct LocalSearchOptions {
  std::uint64_t seed = 0;
  // Batches without a better choice before the search says that it is over.
  std::size_t patience = ~std::size_t{0};
  // Prices of bytes by time point of the instance to begin with, where something is known (dual
  // ascent): both together save most of the way.
  std::vector<double> prices;
  // A choice without anything forbidden to begin with, whatever it holds; empty: the feasible one.
  std::vector<std::uint32_t> relaxed_start;
  // Not 0: stays within the limits, and is over after so many passes over all nodes.
  std::uint64_t descent_passes = 0;
};

// An ExplorationDomain: a batch is a fixed number of blocks, each solved against the same state;
// synchronize applies what still improves, in order. The search minimises cost plus priced bytes,
// in cycles of three phases: relaxed (prices alone hold memory back, and follow the excess), repair
// (prices rise until all limits are kept), strict (within the limits; prices rise where memory
// stood in the way and fall where there is room). best() is always within the limits. Work: table
// entries. Memory: a state, and per worker a solver. Thread safety: as of an ExplorationDomain.
class LocalSearch {
 public:
  // `choice` is feasible. The graph must outlive the search.
  LocalSearch(const ChoiceGraph& graph, std::span<const std::uint32_t> choice, unsigned workers,
              LocalSearchOptions options = {});

  std::span<const std::uint32_t> best() const { return best_; }
  // As counted along the way; evaluate() has the last word.
  double best_cost() const { return best_cost_; }
  // Takes over a choice found elsewhere if it is better. Precondition: feasible; between batches.
  void offer(std::span<const std::uint32_t> choice);

  std::size_t batches_in_flight() const { return 1; }
  std::size_t propose(std::size_t slot, const Budget& budget);
  std::size_t grain() const { return 1; }
  void evaluate(std::size_t slot, unsigned worker, std::size_t begin, std::size_t end,
                const Budget& budget);
  bool synchronize(std::size_t slot, Budget& budget);

 private:
  struct Candidate {
    std::uint64_t key = 0;  // of its random stream
    std::uint32_t arm = 0;
    std::size_t size = 0;  // nodes of the block
    BlockSolver::Outcome outcome;
    std::vector<ChoiceChange> changes;
  };
  // A way to pick blocks, and how well it did.
  struct Arm {
    BlockShape shape;
    double reward;
    double work;
  };
  struct Worker {
    Worker(const ChoiceGraph& graph, std::size_t max_table)
        : solver(graph, max_table), scratch(graph) {}
    BlockSolver solver;
    BlockScratch scratch;
  };

  std::pair<double, double> cost_around(std::span<const ChoiceChange> changes) const;
  void apply(Candidate& candidate);
  void move_on();
  void begin_relaxed();
  void step_prices();
  void raise_exceeded();
  void relax_prices();

  const ChoiceGraph& graph_;
  LocalSearchOptions options_;
  BlockPicker picker_;
  SearchState state_;
  double cost_ = 0;
  double best_cost_ = 0;
  std::vector<std::uint32_t> best_;
  std::vector<double> best_prices_;  // when it was found
  std::vector<Candidate> candidates_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Arm> arms_;
  std::vector<std::uint8_t> stamp_;  // by node: among the changes looked at
  enum class Phase : std::uint8_t { kRelaxed, kRepair, kStrict };
  Phase phase_ = Phase::kRelaxed;
  std::uint64_t cycle_ = 0;
  int steps_left_ = 0;
  double step_ = 0;
  std::uint64_t nodes_seen_ = 0;  // in blocks since the last move of the prices
  std::uint64_t passes_ = 0;      // over all nodes since the phase began or found a better choice
  std::uint64_t all_passes_ = 0;
  double phase_best_ = 0;
  std::uint64_t batch_ = 0;
  std::uint64_t batches_without_better_ = 0;
};

}  // namespace shardwright::operators
