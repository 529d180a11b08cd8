#include "search/operators/aten/transition_model.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/operators/aten/evaluate_plan.h"
#include "core/redistribution/cost/tensor_redistribution.h"
#include "core/redistribution/placement/move.h"
#include "core/redistribution/placement/placement.h"
#include "core/sync.h"
#include "search/redistribution/all_path_costs.h"
#include "search/redistribution/cheapest_path.h"
#include "search/redistribution/step_costs.h"

namespace shardwright::operators {
namespace {

using redistribution::AllPathCosts;
using redistribution::AxisPlacement;
using redistribution::CollectiveStepCosts;
using redistribution::MeshShape;
using redistribution::Placement;
using redistribution::Shape;

constexpr double kTransitionUs = 1;  // Source: AutoParallel's transition term
constexpr double kCopyEfficiency = 0.70;
constexpr double kUsPerSecond = 1e6;

// Returns a shape with the same costs, so that shapes can share searches. An extent that is a
// multiple of the number of devices is cut into equal pieces by any sharding. So of such extents
// only the product matters.
Shape canonical(const Shape& shape, std::int64_t devices) {
  Shape result = shape;
  std::int64_t* last = nullptr;
  std::int64_t product = 1;
  for (std::int64_t& extent : result) {
    if (extent == 0 || extent % devices != 0) continue;
    product *= extent;
    if (last != nullptr) product /= devices;
    extent = devices;
    last = &extent;
  }
  if (last != nullptr) *last = product;
  return result;
}

std::vector<std::size_t> axes_of_several(const MeshShape& mesh) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (mesh[axis] > 1) axes.push_back(axis);
  }
  return axes;
}

MeshShape mesh_of(const MeshShape& mesh, const std::vector<std::size_t>& axes) {
  MeshShape part;
  part.reserve(axes.size());
  for (const std::size_t axis : axes)
    part.push_back(mesh[axis]);
  return part;
}

std::vector<AxisPlacement> along(const Placement& placement, const std::vector<std::size_t>& axes) {
  std::vector<AxisPlacement> placements;
  placements.reserve(axes.size());
  for (const std::size_t axis : axes)
    placements.push_back(placement.on(axis));
  return placements;
}

// The costs of collectives on a mesh of some of the axes.
class CostsAlong final : public redistribution::CollectiveCosts {
 public:
  CostsAlong(const redistribution::CollectiveCosts& all, const std::vector<std::size_t>& axes)
      : CollectiveCosts(mesh_of(all.mesh(), axes)), all_(all), axes_(axes) {}

  double microseconds(redistribution::Collective collective, std::size_t axis,
                      double bytes) const override {
    return all_.microseconds(collective, axes_[axis], bytes);
  }

 private:
  const redistribution::CollectiveCosts& all_;
  const std::vector<std::size_t>& axes_;
};

CollectiveStepCosts step_costs(const TransitionModelOptions& options, std::int64_t itemsize) {
  CollectiveStepCosts::Options steps;
  steps.itemsize = itemsize;
  steps.copy_bytes_per_us = options.memory_bytes_per_second * kCopyEfficiency / kUsPerSecond;
  steps.groups = false;
  return {*options.collectives, steps};
}

double autoparallel_us(const TransitionModelOptions& options, const AtenTensor& tensor,
                       const Placement& source, const Placement& target) {
  const MeshShape& mesh = options.collectives->mesh();
  if (effective_placement(mesh, source) == effective_placement(mesh, target)) return 0;
  // The estimate depends on the number of axes, so axes of size 1 are left out.
  const std::vector<std::size_t> axes = axes_of_several(mesh);
  const CostsAlong collectives(*options.collectives, axes);
  redistribution::RedistributionSpec spec;
  spec.mesh = collectives.mesh();
  spec.shape.assign(tensor.shape.begin(), tensor.shape.end());
  spec.strides.assign(tensor.stride.begin(), tensor.stride.end());
  spec.itemsize = bytes_of(tensor.type);
  spec.source = along(source, axes);
  spec.target = along(target, axes);
  const auto made = redistribution::Redistribution::make(std::move(spec));
  SHARDWRIGHT_CHECK(made.ok());
  return redistribution::autoparallel_redistribution_us(*made, collectives,
                                                        options.memory_bytes_per_second) +
         kTransitionUs;
}

using redistribution::Path;
using redistribution::PathStep;

// Finds the moves of tensors, with one search for all tensors of equal shape, type and placements.
// Thread safety: one thread at a time.
class MoveFinder {
 public:
  MoveFinder(const AtenPlan& plan, const TransitionModel& transitions)
      : plan_(plan), transitions_(transitions) {}

  // Sets the path of the move, and the bytes sent.
  void find(const AtenTensor& tensor, const Placement& source, const Placement& target,
            AtenMove& move) {
    Key key{{tensor.shape.begin(), tensor.shape.end()},
            bytes_of(tensor.type),
            source.code(),
            target.code()};
    const auto [known, is_new] = found_.emplace(std::move(key), Found());
    Found& found = known->second;
    if (is_new) {
      found.path = transitions_.path(tensor, source, target);
      Placement at = source;
      for (const PathStep& step : found.path.steps) {
        found.sent_bytes += bytes_of(tensor.type) *
                            redistribution::sent_elements(tensor.shape, plan_.mesh, at, step.move);
        at = step.after;
      }
    }
    move.path = found.path;
    move.sent_bytes = found.sent_bytes;
  }

 private:
  struct Key {
    std::vector<std::int64_t> shape;
    std::int64_t itemsize = 0;
    std::uint64_t source = 0;
    std::uint64_t target = 0;

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Found {
    Path path;
    std::int64_t sent_bytes = 0;
  };

  const AtenPlan& plan_;
  const TransitionModel& transitions_;
  std::map<Key, Found> found_;
};

}  // namespace

// The searches of kShortest; tensors of one kind share them.
// Thread safety: every member may be called from any thread.
class TransitionModel::Searches {
 public:
  struct Kind {
    Kind(redistribution::TensorOnMesh tensor,
         std::shared_ptr<const redistribution::StepCosts> costs)
        : paths(std::move(tensor), std::move(costs)) {}

    SharedMutex mutex;
    AllPathCosts paths SHARDWRIGHT_GUARDED_BY(mutex);
  };

  Kind& kind_of(const TransitionModelOptions& options, const AtenTensor& tensor) {
    const MeshShape& mesh = options.collectives->mesh();
    const Shape shape = canonical(tensor.shape, redistribution::num_devices(mesh));
    const std::int64_t itemsize = bytes_of(tensor.type);
    std::vector<std::int64_t> key(shape.begin(), shape.end());
    key.push_back(itemsize);
    WriterLock lock(mutex_);
    std::unique_ptr<Kind>& kind = kinds_[std::move(key)];
    if (!kind) {
      kind = std::make_unique<Kind>(
          redistribution::TensorOnMesh{mesh, shape},
          std::make_shared<const CollectiveStepCosts>(step_costs(options, itemsize)));
    }
    return *kind;
  }

 private:
  SharedMutex mutex_;
  std::map<std::vector<std::int64_t>, std::unique_ptr<Kind>> kinds_ SHARDWRIGHT_GUARDED_BY(mutex_);
};

TransitionModel::TransitionModel(TransitionModelOptions options)
    : options_(std::move(options)), searches_(std::make_unique<Searches>()) {}

TransitionModel::~TransitionModel() = default;

double TransitionModel::microseconds(const AtenTensor& tensor, const Placement& source,
                                     const Placement& target) {
  return table(tensor, {&source, 1}, {&target, 1}).front();
}

redistribution::Path TransitionModel::path(const AtenTensor& tensor, const Placement& source,
                                           const Placement& target) const {
  redistribution::MoveRules rules;
  rules.groups = false;
  return redistribution::find_path({options_.collectives->mesh(), tensor.shape},
                                   step_costs(options_, bytes_of(tensor.type)), rules, source,
                                   target);
}

std::vector<double> TransitionModel::table(const AtenTensor& tensor,
                                           std::span<const Placement> sources,
                                           std::span<const Placement> targets) {
  if (options_.choice == RedistributionChoice::kShortest) {
    Searches::Kind& kind = searches_->kind_of(options_, tensor);
    WriterLock lock(kind.mutex);
    return kind.paths.table(sources, targets);
  }
  std::vector<double> costs;
  costs.reserve(sources.size() * targets.size());
  for (const Placement& source : sources) {
    for (const Placement& target : targets)
      costs.push_back(autoparallel_us(options_, tensor, source, target));
  }
  return costs;
}

std::vector<AtenMove> moves_of(const AtenGraph& graph, const AtenPlan& plan,
                               const TransitionModel& transitions) {
  MoveFinder finder(plan, transitions);
  std::vector<AtenMove> moves;
  const auto add = [&](const TensorRef& ref, const MaybePlacement& target, AtenMove move) {
    if (!is_moved(plan, ref, target)) return;
    finder.find(graph.tensor(ref), *plan.nodes[ref.node].outputs[ref.output], *target, move);
    if (!move.path.steps.empty()) moves.push_back(std::move(move));
  };
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    for (std::uint32_t i = 0; i < graph[n].inputs.size(); ++i) {
      add(graph[n].inputs[i], plan.nodes[n].inputs[i],
          {false, n, i, plan.nodes[n].redistribute_us[i], {}, 0});
    }
  }
  for (std::uint32_t o = 0; o < graph.outputs().size(); ++o) {
    const AtenOutputPlan& output = plan.outputs[o];
    add(graph.outputs()[o].value, output.placement, {true, o, 0, output.redistribute_us, {}, 0});
  }
  return moves;
}

}  // namespace shardwright::operators
