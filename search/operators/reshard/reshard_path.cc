#include "search/operators/reshard/reshard_path.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "core/check.h"

namespace shardwright::operators {
namespace {

// Source: MAX_TRANSFORM_STEPS, ColossalAI colossalai/tensor/shape_consistency.py; it
// counts from 0.
constexpr std::size_t kMaxRounds = 21;

using Moves = boost::container::static_vector<ReshardMove, kMaxRounds>;

// Takes the move that comes closest by difference() in every step, the first of equals. Returns
// nothing if that does not reach the target. Source: shape_consistency, ColossalAI
// colossalai/tensor/shape_consistency.py.
Moves greedy_moves(const DeviceMesh& mesh, const TensorShape& shape, const DimSpecs& from,
                   const DimSpecs& to) {
  std::array<int, DimSpecs::kMaxRank> left{};  // difference by dimension
  int total = 0;
  for (std::size_t dim = 0; dim < from.rank(); ++dim)
    total += left[dim] = dim_difference(from[dim], to[dim]);
  Moves moves;
  DimSpecs current = from;
  while (total != 0) {
    if (moves.size() == kMaxRounds) return {};
    int least = std::numeric_limits<int>::max();
    ReshardMove best;
    for_each_move(mesh, shape, current, [&](const ReshardMove& move) {
      int after = total - left[move.gather_dim] +
                  dim_difference(move.result[move.gather_dim], to[move.gather_dim]);
      if (move.shard_dim != move.gather_dim) {
        after +=
            dim_difference(move.result[move.shard_dim], to[move.shard_dim]) - left[move.shard_dim];
      }
      if (after >= least) return;
      least = after;
      best = move;
    });
    for (const std::size_t dim : {best.gather_dim, best.shard_dim})
      left[dim] = dim_difference(best.result[dim], to[dim]);
    total = least;
    current = best.result;
    moves.push_back(best);
  }
  return moves;
}

// A spec that the exact search has reached.
struct Reached {
  double total = std::numeric_limits<double>::infinity();
  std::uint32_t num_steps = 0;
  bool settled = false;
  std::int64_t local_elements = 0;
  DimSpecs previous;
  ReshardMove move;
};

// Dijkstra's algorithm over the moves. Of paths of equal cost, the one of fewer steps wins, then
// the one whose specs are reached first.
std::vector<ReshardMove> cheapest_moves(const DeviceMesh& mesh, const TensorShape& shape,
                                        std::int64_t local_elements, const DimSpecs& from,
                                        const DimSpecs& to) {
  // By bits of the spec. Never iterated, so its order does not matter.
  std::unordered_map<std::uint64_t, Reached> reached;
  std::vector<DimSpecs> met{from};
  using Open = std::tuple<double, std::uint32_t, std::size_t>;  // cost, steps, index into `met`
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  reached[from.bits()] = {0, 0, false, local_elements, from, {}};
  open.emplace(0.0, 0, 0);
  while (!open.empty()) {
    const DimSpecs current = met[std::get<2>(open.top())];
    open.pop();
    Reached& here = reached[current.bits()];
    if (here.settled) continue;
    here.settled = true;
    if (current == to) break;
    const Reached source = here;
    for_each_move(mesh, shape, current, [&](const ReshardMove& move) {
      const double total = source.total + move_cost(mesh, move, source.local_elements).total;
      const std::uint32_t num_steps = source.num_steps + 1;
      Reached& there = reached[move.result.bits()];
      if (there.settled || std::tie(there.total, there.num_steps) <= std::tie(total, num_steps)) {
        return;
      }
      there = {total,   num_steps, false, elements_after(mesh, move, source.local_elements),
               current, move};
      open.emplace(total, num_steps, met.size());
      met.push_back(move.result);
    });
  }
  std::vector<ReshardMove> moves;
  for (DimSpecs at = to; at != from; at = reached[at.bits()].previous)
    moves.push_back(reached[at.bits()].move);
  std::reverse(moves.begin(), moves.end());
  return moves;
}

// What a device holds while converting. The source stays; each intermediate is freed once the next
// one exists. Collectives need memory besides their output; a split of the first dimension is a
// view of its input. Source: mem_cost, ColossalAI colossalai/tensor/shape_consistency.py.
class MemoryTrace {
 public:
  explicit MemoryTrace(std::int64_t source) : held_(source), peak_(source) {}

  void add(const ReshardMove& move, std::int64_t output) {
    switch (move.pattern) {
      case ReshardPattern::kAllGather:
        reach(2 * output);
        break;
      case ReshardPattern::kAllToAll:
        reach(move.shard_dim != 0 ? 3 * output : 2 * output);
        break;
      case ReshardPattern::kShard:
        if (move.shard_dim == 0) return;
        reach(output);
        break;
    }
    held_ += output - intermediate_;
    intermediate_ = output;
  }
  std::int64_t peak() const { return peak_; }

 private:
  void reach(std::int64_t more) { peak_ = std::max(peak_, held_ + more); }

  std::int64_t held_;
  std::int64_t intermediate_ = 0;  // the part of what is held that the next move frees
  std::int64_t peak_;
};

ReshardPath price(const DeviceMesh& mesh, std::int64_t local_elements,
                  std::span<const ReshardMove> moves, PathCost mode) {
  ReshardPath path;
  path.steps.reserve(moves.size());
  MemoryTrace memory(local_elements);
  for (const ReshardMove& move : moves) {
    path.steps.push_back({move, move_cost(mesh, move, local_elements)});
    local_elements = elements_after(mesh, move, local_elements);
    memory.add(move, local_elements);
  }
  path.cost = path_cost(path.steps, mode);
  path.peak_elements = memory.peak();
  return path;
}

ReshardPath no_path() {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  ReshardPath path;
  path.found = false;
  path.cost = {kInfinite, kInfinite, kInfinite};
  return path;
}

}  // namespace

PhaseCost path_cost(std::span<const ReshardStep> steps, PathCost mode) {
  // Source: shape_consistency, ColossalAI colossalai/tensor/shape_consistency.py.
  const auto add = [mode](double sum, double cost) {
    return mode == PathCost::kCompat ? sum + (sum + cost) : sum + cost;
  };
  PhaseCost sum;
  for (const ReshardStep& step : steps) {
    sum.forward = add(sum.forward, step.cost.forward);
    sum.backward = add(sum.backward, step.cost.backward);
    sum.total = add(sum.total, step.cost.total);
  }
  return sum;
}

ReshardPath find_reshard_path(const SpecTable& table, const TensorShape& shape,
                              const DimSpecs& from, const DimSpecs& to, PathCost mode) {
  SHARDWRIGHT_CHECK(table.valid(shape, from) && table.valid(shape, to));
  if (from == to) return {};
  const DeviceMesh& mesh = table.mesh();
  const std::int64_t local_elements = table.local_elements(shape, from);
  if (mode == PathCost::kExact)
    return price(mesh, local_elements, cheapest_moves(mesh, shape, local_elements, from, to), mode);
  const Moves moves = greedy_moves(mesh, shape, from, to);
  if (moves.empty()) return no_path();
  return price(mesh, local_elements, {moves.data(), moves.size()}, mode);
}

}  // namespace shardwright::operators
