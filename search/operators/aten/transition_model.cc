#include "search/operators/aten/transition_model.h"

#include <limits>
#include <utility>

#include "core/interner.h"
#include "core/redistribution/cost/tensor/autoparallel_redistribution.h"
#include "search/once_map.h"
#include "search/redistribution/cost/collective_step_costs.h"
#include "search/redistribution/path/cheapest_path.h"

namespace shardwright::operators {
namespace {

using redistribution::AxisPlacement;
using redistribution::CollectiveStepCosts;
using redistribution::MeshShape;
using redistribution::Placement;

constexpr double kForbiddenUs = std::numeric_limits<double>::infinity();
constexpr double kTransitionUs = 1;  // Source: AutoParallel's transition term
constexpr double kCopyEfficiency = 0.70;
constexpr double kUsPerSecond = 1e6;

bool becomes_partial(const MeshShape& mesh, const Placement& source, const Placement& target) {
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (target.is_partial(axis) && source.on(axis) != target.on(axis)) return true;
  }
  return false;
}

double shortest_us(const TransitionModelOptions& options, const AtenTensor& tensor,
                   const Placement& source, const Placement& target) {
  const MeshShape& mesh = options.collectives->mesh();
  if (becomes_partial(mesh, source, target)) return kForbiddenUs;
  CollectiveStepCosts::Options steps;
  steps.itemsize = bytes_of(tensor.type);
  steps.copy_bytes_per_us = options.memory_bytes_per_second * kCopyEfficiency / kUsPerSecond;
  steps.groups = false;
  const redistribution::Path path =
      redistribution::find_path({mesh, tensor.shape}, CollectiveStepCosts(*options.collectives, steps),
                                redistribution::MoveRules(), source, target);
  return path.found ? path.cost : kForbiddenUs;
}

std::vector<AxisPlacement> axes_of(const Placement& placement, std::size_t num_axes) {
  std::vector<AxisPlacement> axes;
  for (std::size_t axis = 0; axis < num_axes; ++axis)
    axes.push_back(placement.on(axis));
  return axes;
}

double autoparallel_us(const TransitionModelOptions& options, const AtenTensor& tensor,
                       const Placement& source, const Placement& target) {
  const MeshShape& mesh = options.collectives->mesh();
  redistribution::RedistributionSpec spec;
  spec.mesh = mesh;
  spec.shape.assign(tensor.shape.begin(), tensor.shape.end());
  spec.strides.assign(tensor.stride.begin(), tensor.stride.end());
  spec.itemsize = bytes_of(tensor.type);
  spec.source = axes_of(source, mesh.size());
  spec.target = axes_of(target, mesh.size());
  const auto made = redistribution::Redistribution::make(std::move(spec));
  SHARDWRIGHT_CHECK(made.ok());
  return redistribution::autoparallel_redistribution_us(*made, *options.collectives,
                                                        options.memory_bytes_per_second) +
         kTransitionUs;
}

}  // namespace

class TransitionModel::Memory {
 public:
  struct Question {
    AtenTensor tensor;
    std::uint64_t source;
    std::uint64_t target;

    friend bool operator==(const Question&, const Question&) = default;
  };
  struct QuestionHash {
    std::uint64_t operator()(const Question& question) const {
      std::uint64_t hash = hash_mix(question.source, question.target);
      for (const std::int64_t extent : question.tensor.shape)
        hash = hash_mix(hash, static_cast<std::uint64_t>(extent));
      for (const std::int64_t stride : question.tensor.stride)
        hash = hash_mix(hash, static_cast<std::uint64_t>(stride));
      return hash_mix(hash, static_cast<std::uint64_t>(question.tensor.type));
    }
  };

  OnceMap<Question, double, QuestionHash> known;
};

TransitionModel::TransitionModel(TransitionModelOptions options)
    : options_(std::move(options)), memory_(std::make_unique<Memory>()) {}

TransitionModel::~TransitionModel() = default;

double TransitionModel::search(const AtenTensor& tensor, const Placement& source,
                               const Placement& target) const {
  return options_.choice == RedistributionChoice::kShortest
             ? shortest_us(options_, tensor, source, target)
             : autoparallel_us(options_, tensor, source, target);
}

double TransitionModel::microseconds(const AtenTensor& tensor, const Placement& source,
                                     const Placement& target) {
  if (source == target) return 0;
  const Memory::Question question{tensor, source.code(), target.code()};
  if (const double* known = memory_->known.find(question)) return *known;
  return memory_->known.keep(question, search(tensor, source, target));
}

std::size_t TransitionModel::num_transitions() const { return memory_->known.size(); }

}  // namespace shardwright::operators
