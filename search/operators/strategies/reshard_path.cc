#include "search/operators/strategies/reshard_path.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>

#include <boost/container/static_vector.hpp>

#include "core/check.h"
#include "core/interner.h"
#include "core/operators/graph/sharding_spec.h"
#include "search/once_map.h"
#include "search/redistribution/cheapest_path.h"

namespace shardwright::operators {
namespace {

// Cost of a gather or split that needs no traffic, so that no conversion is free. Source:
// CommSpec.get_comm_cost, ColossalAI colossalai/tensor/comm_spec.py.
constexpr double kLocalCost = 100;

}  // namespace

CollectiveAxis CollectiveAxis::along(const DeviceMesh& mesh, int axis) {
  const auto index = static_cast<std::size_t>(axis);
  SHARDWRIGHT_DCHECK(index < mesh.num_axes());
  return {mesh.size(index), mesh.alpha(index), mesh.beta(index)};
}

CollectiveAxis CollectiveAxis::flattened(const DeviceMesh& mesh) {
  return {mesh.num_devices(), mesh.flat_alpha(), mesh.flat_beta()};
}

CollectiveAxis CollectiveAxis::over(const DeviceMesh& mesh, std::uint8_t axes) {
  SHARDWRIGHT_CHECK(axes != 0);
  return std::has_single_bit(axes) ? along(mesh, std::countr_zero(axes)) : flattened(mesh);
}

double CollectiveAxis::all_gather(double volume) const {
  const double n = devices;
  return alpha + beta * (n - 1) / n * volume + 0.1;
}

double CollectiveAxis::all_reduce(double volume) const {
  const double n = devices;
  return alpha + beta * 2 * (n - 1) / n * volume + 0.01;
}

double CollectiveAxis::reduce_scatter(double volume) const {
  const double n = devices;
  return alpha + beta * (n - 1) / n * volume + 0.001;
}

double CollectiveAxis::all_to_all(double volume) const {
  const double n = devices;
  const double penalty = n / 2;
  return alpha + beta * (n - 1) / n / n * volume * penalty + 0.001;
}

PhaseCost move_cost(const DeviceMesh& mesh, const ReshardMove& move, std::int64_t local_elements) {
  const CollectiveAxis along = CollectiveAxis::along(mesh, move.axis);
  const double volume = static_cast<double>(local_elements);
  PhaseCost cost;
  switch (move.pattern) {
    case ReshardPattern::kAllGather:
      cost.forward = along.all_gather(volume);
      cost.backward = kLocalCost;
      break;
    case ReshardPattern::kAllToAll:
      cost.forward = along.all_to_all(volume);
      cost.backward = cost.forward;
      break;
    case ReshardPattern::kShard:
      cost.forward = kLocalCost;
      cost.backward = along.all_gather(volume);
      break;
  }
  cost.total = cost.forward + cost.backward;
  return cost;
}

std::int64_t elements_after(const DeviceMesh& mesh, const ReshardMove& move,
                            std::int64_t local_elements) {
  const std::int64_t devices = mesh.size(move.axis);
  switch (move.pattern) {
    case ReshardPattern::kAllGather:
      return local_elements * devices;
    case ReshardPattern::kShard:
      return local_elements / devices;
    case ReshardPattern::kAllToAll:
      break;
  }
  return local_elements;
}

std::vector<ReshardStep> one_step_reshards(const SpecTable& table, const TensorShape& shape,
                                           const DimSpecs& from) {
  SHARDWRIGHT_CHECK(table.valid(shape, from));
  const DeviceMesh& mesh = table.mesh();
  const std::int64_t local_elements = table.local_elements(shape, from);
  std::vector<ReshardStep> steps;
  for_each_move(mesh, shape, from, [&](const ReshardMove& move) {
    steps.push_back({move, move_cost(mesh, move, local_elements)});
  });
  return steps;
}

namespace {

// Limit of the steps of a path. Source: MAX_TRANSFORM_STEPS, ColossalAI
// colossalai/tensor/shape_consistency.py; its count begins at 0.
constexpr std::size_t kMaxRounds = 21;

using Moves = boost::container::static_vector<ReshardMove, kMaxRounds>;

// In every step, takes the first move after which the difference to the target is least. Returns no
// moves if these moves do not reach the target. Source: shape_consistency, ColossalAI
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

// ColossalAI's price of a move: the total of forward and backward cost.
class AlphaBetaCosts final : public redistribution::StepCosts {
 public:
  explicit AlphaBetaCosts(const DeviceMesh& mesh) : mesh_(mesh) {}

  double cost(const redistribution::PricedMove& step) const override {
    const std::optional<ReshardMove> move = reshard_move(step.move, DimSpecs());
    if (!move) return std::numeric_limits<double>::infinity();
    return move_cost(mesh_, *move, step.held_before).total;
  }
  bool is_monotone() const override { return true; }

  // Returns nullopt if ColossalAI has no such conversion.
  static std::optional<ReshardMove> reshard_move(const redistribution::Move& move,
                                                 const DimSpecs& result) {
    using Kind = redistribution::Move::Kind;
    const std::uint8_t axis = move.axes.front();
    switch (move.kind) {
      case Kind::kAllGather:
        return ReshardMove{ReshardPattern::kAllGather, move.from, move.from, axis, result};
      case Kind::kAllToAll:
        return ReshardMove{ReshardPattern::kAllToAll, move.from, move.to, axis, result};
      case Kind::kSplit:
        return ReshardMove{ReshardPattern::kShard, move.to, move.to, axis, result};
      default:
        return std::nullopt;
    }
  }

 private:
  const DeviceMesh& mesh_;
};

// Returns the cheapest sequence of the moves that for_each_move() visits.
std::vector<ReshardMove> cheapest_moves(const DeviceMesh& mesh, const TensorShape& shape,
                                        const DimSpecs& from, const DimSpecs& to) {
  redistribution::MoveRules rules;
  rules.colossal = true;
  rules.uneven = false;
  rules.groups = false;
  const redistribution::TensorOnMesh tensor{mesh_shape_of(mesh),
                                            {shape.dims.begin(), shape.dims.end()}};
  const redistribution::Path path =
      find_path(tensor, AlphaBetaCosts(mesh), rules, to_placement(from), to_placement(to));
  std::vector<ReshardMove> moves;
  for (const redistribution::PathStep& step : path.steps)
    moves.push_back(
        *AlphaBetaCosts::reshard_move(step.move, to_dim_specs(step.after, from.rank())));
  return moves;
}

// Computes the peak of the elements that a device holds during a conversion. The source stays; each
// intermediate tensor is freed once the next one exists. Collectives need memory besides their
// output. A split of the first dimension is a view of its input. Source: mem_cost, ColossalAI
// colossalai/tensor/shape_consistency.py.
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
  std::int64_t intermediate_ = 0;  // elements that the next move frees
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
    return price(mesh, local_elements, cheapest_moves(mesh, shape, from, to), mode);
  const Moves moves = greedy_moves(mesh, shape, from, to);
  if (moves.empty()) return no_path();
  return price(mesh, local_elements, {moves.data(), moves.size()}, mode);
}

namespace memo {

struct Question {
  const ShardingSpec* from;
  const ShardingSpec* to;

  friend bool operator==(const Question&, const Question&) = default;
};

// Hashes the contents, not the addresses, so that all runs allocate equally often.
struct QuestionHash {
  std::uint64_t operator()(const Question& question) const {
    const std::uint64_t dims = hash_mix(question.from->dims.bits(), question.to->dims.bits());
    return hash_mix(dims, static_cast<std::uint64_t>(question.from->local_elements));
  }
};

}  // namespace memo

// Thread safety: every member may be called from any thread.
class ReshardPlanner::Memo {
 public:
  const ReshardPath unchanged{};
  OnceMap<memo::Question, ReshardPath, memo::QuestionHash> paths;
};

ReshardPlanner::ReshardPlanner(SpecTable& table, PathCost mode)
    : table_(&table), mode_(mode), memo_(std::make_unique<Memo>()) {}

ReshardPlanner::~ReshardPlanner() = default;

const ReshardPath& ReshardPlanner::path(const ShardingSpec* from, const ShardingSpec* to) {
  if (from == to) return memo_->unchanged;
  if (const ReshardPath* known = memo_->paths.find({from, to})) return *known;
  SHARDWRIGHT_CHECK(from->shape == to->shape);
  return memo_->paths.keep({from, to},
                           find_reshard_path(*table_, *from->shape, from->dims, to->dims, mode_));
}

std::size_t ReshardPlanner::num_searches() const { return memo_->paths.size(); }

}  // namespace shardwright::operators
