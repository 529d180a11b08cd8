#include "search/operators/solve/block_picker.h"

#include <algorithm>
#include <span>

namespace shardwright::operators {
namespace {

// Returns the highest cost of a pair minus the lowest; twice the highest if pairs are forbidden.
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

BlockPicker::BlockPicker(const ChoiceGraph& graph, const BlockPickerParameters& parameters)
    : graph_(graph), parameters_(parameters) {
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
  // Skips the bits of the key that chose the shape.
  random.bits();
  scratch.block.clear();
  if (shape.kind == BlockKind::kFollow) return follow(state, shape, scratch, random);
  const std::size_t count = graph_.num_nodes(), size = std::min<std::size_t>(shape.size, count);
  const std::uint32_t start = random.remainder(count);
  if (shape.kind == BlockKind::kBall) {
    grow_ball(scratch, start, size, random);
  } else if (shape.kind == BlockKind::kWindow) {
    for (std::size_t i = 0; i < size; ++i)
      scratch.block.push_back(static_cast<std::uint32_t>((start + i) % count));
  } else if (shape.kind == BlockKind::kHolders) {
    grow_around_holders(scratch, size, random);
  } else {
    grow_stiff(state, scratch, size, random);
  }
  for (const std::uint32_t n : scratch.block)
    scratch.seen[n] = 0;
  return true;
}

// Adds nodes breadth first, in random order, until the block has `size` nodes.
void BlockPicker::grow(BlockScratch& scratch, std::uint32_t start, std::size_t size,
                       RandomGenerator& random) const {
  std::vector<std::uint32_t>& block = scratch.block;
  if (scratch.seen[start] != 0 || block.size() >= size) return;
  std::size_t head = block.size();
  block.push_back(start);
  scratch.seen[start] = 1;
  for (; head < block.size() && block.size() < size; ++head) {
    const std::size_t width = std::min(block.size() - head, parameters_.frontier_width);
    std::swap(block[head], block[head + random.remainder(width)]);
    for (const ChoiceGraph::Arc& arc : graph_.arcs(block[head])) {
      if (scratch.seen[arc.node] != 0 || block.size() >= size) continue;
      scratch.seen[arc.node] = 1;
      block.push_back(arc.node);
    }
  }
}

// Returns the priced cost of the node and its pairs in the current choice.
double BlockPicker::cost_around(const SearchState& state, std::uint32_t n) const {
  double cost = state.priced[graph_.first_strategy(n) + state.choice[n]];
  for (const ChoiceGraph::Arc& arc : graph_.arcs(n)) {
    cost += graph_.row(n, arc, state.choice[arc.node])[state.choice[n]];
  }
  return cost;
}

// Grows from a node of high cost along the pairs whose costs vary most. The pairs at the border of
// the block then vary little, so that a change can end there.
void BlockPicker::grow_stiff(const SearchState& state, BlockScratch& scratch, std::size_t size,
                             RandomGenerator& random) const {
  std::uint32_t start = random.remainder(graph_.num_nodes());
  for (std::uint32_t draws = 1U << random.remainder(parameters_.start_draw_powers); draws > 1;
       --draws) {
    const std::uint32_t other = random.remainder(graph_.num_nodes());
    if (cost_around(state, other) > cost_around(state, start)) start = other;
  }
  auto& frontier = scratch.frontier;
  frontier.clear();
  frontier.emplace_back(0.0, start);
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
      frontier.emplace_back(stiffness_[first_arc_[n] + a] * chance * chance, arcs[a].node);
      std::push_heap(frontier.begin(), frontier.end());
    }
  }
}

void BlockPicker::grow_ball(BlockScratch& scratch, std::uint32_t start, std::size_t size,
                            RandomGenerator& random) const {
  const std::size_t count = graph_.num_nodes();
  const std::size_t end = start + parameters_.fill_reach * size;
  for (std::size_t i = start; scratch.block.size() < size && i < end; ++i)
    grow(scratch, static_cast<std::uint32_t>(i % count), size, random);
}

void BlockPicker::grow_around_holders(BlockScratch& scratch, std::size_t size,
                                      RandomGenerator& random) const {
  const auto holders = graph_.holders();
  const std::size_t part = std::max(parameters_.least_holder_ball, size / parameters_.holder_balls);
  const std::size_t tries = parameters_.holder_tries_per_node * size;
  for (std::size_t i = 0; i < tries && scratch.block.size() < size; ++i) {
    grow(scratch, holders[random.remainder(holders.size())],
         std::min(size, scratch.block.size() + part), random);
  }
}

// Changes the strategy of a random node, and then of every node whose strategy the changes forbid,
// until nothing is forbidden. The block is the changed nodes and some of their neighbours. Returns
// false if the change leads to a contradiction, has too many followers, or changes nothing.
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
    possible =
        scratch.block.size() < parameters_.most_followers && set(n, best_left(state, scratch, n));
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

// Returns the cheapest remaining strategy of the node. Ignores pairs that the strategy forbids,
// since the neighbours in these pairs will change.
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

BlockArms::BlockArms(const ArmParameters& parameters, bool any_holders)
    : fade_(parameters.fade),
      least_share_(parameters.least_share),
      forgotten_(parameters.forgotten) {
  for (const std::uint32_t size : parameters.sizes) {
    add(BlockKind::kBall, size, parameters.table);
    add(BlockKind::kWindow, size, parameters.table);
    if (any_holders) add(BlockKind::kHolders, size, parameters.table);
  }
  add(BlockKind::kBall, parameters.largest_ball, parameters.large_table);
  add(BlockKind::kFollow, parameters.follow_size, parameters.table);
  for (const std::uint32_t size : parameters.stiff_sizes) {
    add(BlockKind::kStiff, size, parameters.table);
    add(BlockKind::kStiff, size, parameters.large_table);
  }
  shares_.resize(arms_.size());
}

// First estimates: all arms gain the same, and work is proportional to size x table limit.
void BlockArms::add(BlockKind kind, std::uint32_t size, std::size_t max_table) {
  arms_.push_back({{kind, size, max_table}, 1.0, 1.0, static_cast<double>(size * max_table)});
}

void BlockArms::update_shares() {
  double rates = 0;
  double blocks = 0;
  double work = 0;
  for (const Arm& arm : arms_) {
    rates += arm.gain / arm.work;
    blocks += arm.blocks;
    work += arm.work;
  }
  double before = 0;
  for (std::size_t a = 0; a < arms_.size(); ++a) {
    const Arm& arm = arms_[a];
    const double rate = rates > 0 ? arm.gain / arm.work / rates : 0.0;
    const double affordable =
        arm.blocks < forgotten_ ? 1.0 : std::min(1.0, work / blocks * arm.blocks / arm.work);
    shares_[a] = before += std::max(rate, least_share_ * affordable);
  }
}

std::uint32_t BlockArms::draw(RandomGenerator& random) const {
  const double point = random.fraction() * shares_.back();
  std::uint32_t arm = 0;
  while (arm + 1 < arms_.size() && shares_[arm] <= point)
    ++arm;
  return arm;
}

void BlockArms::fade() {
  for (Arm& arm : arms_) {
    arm.gain *= fade_;
    arm.blocks *= fade_;
    arm.work *= fade_;
  }
}

}  // namespace shardwright::operators
