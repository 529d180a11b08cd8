// Chooses the order in which variables are eliminated, greedily by a score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardwright::operators {

// Adjacency lists, ascending. A variable that leaves the graph keeps its neighbours of that moment;
// they are the scope of its table. Thread safety: one thread at a time.
class InteractionGraph {
 public:
  // Starts a graph without edges. Keeps the memory of earlier graphs.
  void reset(std::size_t num_variables);
  // Adds one direction of an edge; the caller adds the other direction. The order of calls does not
  // matter, and an edge may be added several times. Call sort() after the last call.
  void add_neighbour(std::uint32_t variable, std::uint32_t neighbour) {
    neighbours_[variable].push_back(neighbour);
  }
  void sort();

  std::size_t num_variables() const { return num_variables_; }
  const std::vector<std::uint32_t>& neighbours(std::uint32_t variable) const {
    return neighbours_[variable];
  }
  // O(log degree).
  bool adjacent(std::uint32_t a, std::uint32_t b) const;

  // Removes the variable and connects all its neighbours with each other.
  void eliminate(std::uint32_t variable);
  // Removes the variable without new edges, because its value is fixed from now on.
  void fix(std::uint32_t variable);

 private:
  std::size_t num_variables_ = 0;
  std::vector<std::vector<std::uint32_t>> neighbours_;  // never shrinks, to reuse its memory
};

// Variables in a binary heap, the least score first. Ties go to the smaller index.
// Thread safety: one thread at a time.
class ScoreQueue {
 public:
  // Keeps the memory of earlier queues. `score(v)` is called once per variable.
  template <class Score>
  void reset(std::size_t num_variables, const Score& score) {
    scores_.resize(num_variables);
    heap_.resize(num_variables);
    place_.resize(num_variables);
    for (std::uint32_t v = 0; v < num_variables; ++v) {
      scores_[v] = score(v);
      heap_[v] = v;
      place_[v] = v;
    }
    heapify();
  }

  bool empty() const { return heap_.empty(); }
  // The variable of the least score. Precondition: !empty().
  std::uint32_t first() const { return heap_.front(); }
  bool contains(std::uint32_t variable) const { return place_[variable] != kGone; }
  // The score of the variable; if the variable was removed, its last score.
  double score(std::uint32_t variable) const { return scores_[variable]; }
  std::size_t num_variables() const { return scores_.size(); }

  void remove(std::uint32_t variable);
  // Precondition: contains(variable).
  void update(std::uint32_t variable, double score);

 private:
  static constexpr std::uint32_t kGone = ~std::uint32_t{0};

  void heapify();
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);
  bool before(std::uint32_t a, std::uint32_t b) const {
    return scores_[a] < scores_[b] || (scores_[a] == scores_[b] && a < b);
  }
  void put(std::size_t at, std::uint32_t variable) {
    heap_[at] = variable;
    place_[variable] = static_cast<std::uint32_t>(at);
  }

  std::vector<double> scores_;        // by variable
  std::vector<std::uint32_t> heap_;   // variables
  std::vector<std::uint32_t> place_;  // by variable: its index in the heap, or kGone
};

// An order of the variables, and for each the scope of its table: the later variables that it
// depends on. Thread safety: one thread at a time.
class EliminationOrder {
 public:
  static constexpr std::uint32_t kFixed = ~std::uint32_t{0};

  // What choose() does with the variable of the least score.
  enum class Step : std::uint8_t {
    kEliminate,
    kFix,   // leave Decision::fixed out of the order instead
    kStop,  // give up the order
  };
  struct Decision {
    Step step = Step::kEliminate;
    std::uint32_t fixed = 0;  // the variable, for kFix
  };
  // Which scores change when a variable leaves the graph.
  enum class ScoreReach : std::uint8_t {
    kNeighbours,         // those of its neighbours
    kNeighboursOfThese,  // also those of the neighbours of its neighbours
  };

  // The caller fills this graph before choose().
  InteractionGraph& graph() { return graph_; }
  const InteractionGraph& graph() const { return graph_; }

  // Repeatedly takes the variable of the least `score(v)` and asks `decide(v, queue)` for a
  // Decision. Returns false if the decision was kStop. Reuses memory.
  template <class Score, class Decide>
  bool choose(ScoreReach reach, const Score& score, const Decide& decide) {
    start();
    queue_.reset(graph_.num_variables(), score);
    while (!queue_.empty()) {
      const std::uint32_t first = queue_.first();
      const Decision decision = decide(first, queue_);
      if (decision.step == Step::kStop) return false;
      const bool eliminated = decision.step == Step::kEliminate;
      const std::uint32_t variable = eliminated ? first : decision.fixed;
      queue_.remove(variable);
      take(variable, eliminated);
      for (const std::uint32_t neighbour : graph_.neighbours(variable)) {
        queue_.update(neighbour, score(neighbour));
        if (reach == ScoreReach::kNeighbours) continue;
        for (const std::uint32_t further : graph_.neighbours(neighbour))
          queue_.update(further, score(further));
      }
    }
    collect_scopes();
    return true;
  }

  std::span<const std::uint32_t> order() const { return order_; }
  // The index of the variable in the order; kFixed if the variable is not in the order.
  std::uint32_t position(std::uint32_t variable) const { return position_[variable]; }
  // The scope of order()[i] without fixed variables; the variable eliminated first comes last.
  std::span<const std::uint32_t> scope(std::size_t i) const {
    return std::span(scopes_).subspan(scope_begin_[i], scope_begin_[i + 1] - scope_begin_[i]);
  }

 private:
  void start();
  void take(std::uint32_t variable, bool eliminated);
  void collect_scopes();

  InteractionGraph graph_;
  ScoreQueue queue_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> position_;
  std::vector<std::uint32_t> scopes_;
  std::vector<std::size_t> scope_begin_;
};

}  // namespace shardwright::operators
