// The graph of variables that share a cost table, while variables are eliminated from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardwright::operators {

// Adjacency lists, ascending. A variable that has left the graph keeps the neighbours it had then;
// these are the scope of its table.
// Thread safety: one thread at a time.
class InteractionGraph {
 public:
  // Starts a graph without edges. Keeps the memory of earlier graphs.
  void reset(std::size_t num_variables);
  // Adds one direction of an edge; the caller adds the other. May be called in any order, and more
  // than once for an edge. Call sort() after the last one.
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

  // Takes the variable out and connects all its neighbours with each other.
  void eliminate(std::uint32_t variable);
  // Takes the variable out without new edges: its value is fixed from now on.
  void fix(std::uint32_t variable);

 private:
  std::size_t num_variables_ = 0;
  std::vector<std::vector<std::uint32_t>> neighbours_;  // never shrinks, to reuse its memory
};

}  // namespace shardwright::operators
