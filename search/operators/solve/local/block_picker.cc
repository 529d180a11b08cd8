// Picks blocks around nodes, along the order of nodes, by memory and by cost.
#include "search/operators/solve/local/block_picker.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace shardwright::operators {
namespace {

// Nodes that may have to follow one that changes.
constexpr std::size_t kMaxFollowers = 600;

// Between the cheapest and the dearest of what is allowed; what is forbidden counts as much again.
double spread(std::span<const double> entries) {
  double least = kForbidden, most = 0;
  bool forbids = false;
  for (const double entry : entries) {
    if (entry == kForbidden) {
      forbids = true;
    } else {
      least = std::min(least, entry);
      most = std::max(most, entry);
    }
  }
  if (least == kForbidden) return 0;
  return forbids ? 2 * most : most - least;
}

}  // namespace

BlockScratch::BlockScratch(const ChoiceGraph& graph) : domains(graph), seen(graph.num_nodes(), 0) {
  domains.make_consistent();
  consistent = domains.removals().size();
}

BlockPicker::BlockPicker(const ChoiceGraph& graph) : graph_(graph) {
  for (std::size_t n = 0; n < graph.num_nodes(); ++n) {
    for (const ChoiceGraph::Arc& arc : graph.arcs(n)) {
      stiffness_.push_back(spread(
          {arc.rows, std::size_t{graph.num_strategies(n)} * graph.num_strategies(arc.node)}));
    }
    first_arc_.push_back(stiffness_.size());
  }
}

bool BlockPicker::pick(const SearchState& state, const BlockShape& shape, BlockScratch& scratch,
                       std::uint64_t key) const {
  RandomGenerator random(key);
  // The first bits chose the shape.
  random.bits();
  scratch.block.clear();
  if (shape.kind == BlockKind::kFollow) return follow(state, shape, scratch, random);
  take_in(state, shape, scratch, random);
  return true;
}

// Takes in neighbours breadth first, in random order, up to a size of the block.
void BlockPicker::grow(BlockScratch& scratch, std::uint32_t start, std::size_t size,
                       RandomGenerator& random) const {
  std::vector<std::uint32_t>& block = scratch.block;
  if (scratch.seen[start] != 0 || block.size() >= size) return;
  std::size_t head = block.size();
  block.push_back(start);
  scratch.seen[start] = 1;
  for (; head < block.size() && block.size() < size; ++head) {
    // The next to grow from is any of the first few.
    const std::size_t width = std::min<std::size_t>(block.size() - head, 4);
    std::swap(block[head], block[head + random.remainder(width)]);
    for (const ChoiceGraph::Arc& arc : graph_.arcs(block[head])) {
      if (scratch.seen[arc.node] != 0 || block.size() >= size) continue;
      scratch.seen[arc.node] = 1;
      block.push_back(arc.node);
    }
  }
}

// What a node and its pairs cost beyond the least that the node alone can cost.
double BlockPicker::burden(const SearchState& state, std::uint32_t n) const {
  double cost = state.priced[graph_.first_strategy(n) + state.choice[n]];
  for (const ChoiceGraph::Arc& arc : graph_.arcs(n)) {
    cost += graph_.row(n, arc, state.choice[arc.node])[state.choice[n]];
  }
  return cost;
}

// Takes in neighbours by how much their pair costs vary, from a node that costs much: where a
// change has to end, it ends where that costs little.
void BlockPicker::grow_stiff(const SearchState& state, BlockScratch& scratch, std::size_t size,
                             RandomGenerator& random) const {
  std::uint32_t start = random.remainder(graph_.num_nodes());
  for (std::uint32_t draws = 1U << random.remainder(10); draws > 1; --draws) {
    const std::uint32_t other = random.remainder(graph_.num_nodes());
    if (burden(state, other) > burden(state, start)) start = other;
  }
  auto& frontier = scratch.frontier;
  frontier.clear();
  frontier.push_back({0.0, start});
  while (!frontier.empty() && scratch.block.size() < size) {
    std::pop_heap(frontier.begin(), frontier.end());
    const std::uint32_t n = frontier.back().second;
    frontier.pop_back();
    if (scratch.seen[n] != 0) continue;
    scratch.seen[n] = 1;
    scratch.block.push_back(n);
    const auto arcs = graph_.arcs(n);
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      if (scratch.seen[arcs[a].node] != 0) continue;
      const double chance = random.fraction();
      frontier.push_back({stiffness_[first_arc_[n] + a] * chance * chance, arcs[a].node});
      std::push_heap(frontier.begin(), frontier.end());
    }
  }
}

void BlockPicker::take_in(const SearchState& state, const BlockShape& shape, BlockScratch& scratch,
                          RandomGenerator& random) const {
  const std::size_t count = graph_.num_nodes(), size = std::min<std::size_t>(shape.size, count);
  scratch.block.clear();
  const std::uint32_t start = random.remainder(count);
  if (shape.kind == BlockKind::kStiff) {
    grow_stiff(state, scratch, size, random);
  } else if (shape.kind == BlockKind::kBall) {
    // Small components are filled up with others near by.
    for (std::size_t i = start; scratch.block.size() < size && i < start + 8 * size; ++i) {
      grow(scratch, static_cast<std::uint32_t>(i % count), size, random);
    }
  } else if (shape.kind == BlockKind::kWindow) {
    for (std::size_t i = 0; i < size; ++i) {
      scratch.block.push_back(static_cast<std::uint32_t>((start + i) % count));
    }
  } else {
    const auto holders = graph_.holders();
    const std::size_t part = std::max<std::size_t>(4, size / 4);
    for (std::size_t i = 0; i < 4 * size && scratch.block.size() < size; ++i) {
      grow(scratch, holders[random.remainder(holders.size())],
           std::min(size, scratch.block.size() + part), random);
    }
  }
  for (const std::uint32_t n : scratch.block)
    scratch.seen[n] = 0;
}

// Changes one node at random and lets others follow until nothing forbidden is left; the block is
// what changed and its surroundings. False: that would lead too far.
bool BlockPicker::follow(const SearchState& state, const BlockShape& shape, BlockScratch& scratch,
                         RandomGenerator& random) const {
  scratch.block.clear();
  ConsistentDomains& domains = scratch.domains;
  domains.undo_to(scratch.consistent);
  const std::uint32_t start = random.remainder(graph_.num_nodes());
  const std::uint32_t strategy = random.remainder(graph_.num_strategies(start));
  if (!domains.alive(start, strategy) || strategy == state.choice[start]) return false;
  scratch.choice = state.choice;
  const auto set = [&](std::uint32_t n, std::uint32_t s) {
    if (scratch.seen[n] == 0) scratch.block.push_back(n);
    scratch.seen[n] = 1;
    scratch.choice[n] = s;
    return domains.assign(n, s);
  };
  bool possible = set(start, strategy);
  for (std::size_t next = scratch.consistent; possible && next < domains.removals().size();
       ++next) {
    const ConsistentDomains::Removal removal = domains.removals()[next];
    const std::uint32_t n = removal.node;
    if (removal.strategy != scratch.choice[n]) continue;
    possible = scratch.block.size() < kMaxFollowers && set(n, best_left(state, scratch, n));
  }
  const std::size_t size = std::min(2 * scratch.block.size() + shape.size, graph_.num_nodes());
  for (std::size_t head = 0; possible && head < scratch.block.size(); ++head) {
    for (const ChoiceGraph::Arc& arc : graph_.arcs(scratch.block[head])) {
      if (scratch.seen[arc.node] != 0 || scratch.block.size() >= size) continue;
      scratch.seen[arc.node] = 1;
      scratch.block.push_back(arc.node);
    }
  }
  for (const std::uint32_t n : scratch.block)
    scratch.seen[n] = 0;
  return possible;
}

// The cheapest strategy left, given the neighbours that it does not force to change.
std::uint32_t BlockPicker::best_left(const SearchState& state, const BlockScratch& scratch,
                                     std::uint32_t n) const {
  std::uint32_t best = 0;
  double least = kForbidden;
  for (std::uint32_t s = 0; s < graph_.num_strategies(n); ++s) {
    if (!scratch.domains.alive(n, s)) continue;
    double cost = state.priced[graph_.first_strategy(n) + s];
    for (const ChoiceGraph::Arc& arc : graph_.arcs(n)) {
      const double pair = graph_.row(n, arc, scratch.choice[arc.node])[s];
      if (pair < kForbidden) cost += pair;
    }
    if (cost < least) {
      least = cost;
      best = s;
    }
  }
  return best;
}

}  // namespace shardwright::operators
