// Plans and simulates random reshardings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/program/simulate.h"
#include "search/program/best_planner.h"
#include "search/program/compat_planner.h"
#include "tests/support/random.h"

namespace shardwright::test_support {

struct FuzzOutcome {
  std::size_t pairs = 0;
  std::size_t wrong = 0;
  std::size_t partial = 0;
  std::size_t uneven = 0;
  std::size_t other_mesh = 0;
  std::size_t empty = 0;
  std::size_t upstream_correct = 0;
  std::size_t dearer = 0;     // plans that cost more than Paddle's correct plan
  std::string first_problem;  // with its inputs, to reproduce it
};

class ReshardFuzz {
 public:
  explicit ReshardFuzz(std::uint64_t seed) : random_(seed) {}

  FuzzOutcome run(std::size_t pairs) {
    FuzzOutcome outcome;
    while (outcome.pairs < pairs)
      one(outcome);
    return outcome;
  }

 private:
  using Shape = program::Shape;
  using DistAttr = program::DistAttr;
  using ProcessMesh = program::ProcessMesh;

  ProcessMesh mesh(std::size_t first_rank, bool shuffled) {
    std::vector<std::int64_t> shape;
    std::int64_t ranks = 1;
    const std::size_t axes = 1 + random_.below(4);
    for (std::size_t i = 0; i < axes; ++i) {
      std::int64_t extent = 1 + static_cast<std::int64_t>(random_.below(4));
      if (ranks * extent > 12) extent = 1;
      ranks *= extent;
      shape.push_back(extent);
    }
    return arranged(std::move(shape), ranks, first_rank, shuffled);
  }

  ProcessMesh arranged(std::vector<std::int64_t> shape, std::int64_t ranks, std::size_t first_rank,
                       bool shuffled) {
    std::vector<program::Rank> ids;
    for (std::int64_t i = 0; i < ranks; ++i) {
      ids.push_back(static_cast<program::Rank>(first_rank) + static_cast<program::Rank>(i));
    }
    for (std::size_t i = ids.size(); shuffled && i > 1; --i) {
      std::swap(ids[i - 1], ids[random_.below(i)]);
    }
    return ProcessMesh::make(std::move(shape), std::move(ids)).value();
  }

  // Returns the same ranks in a mesh with one axis more or less.
  ProcessMesh reshaped(const ProcessMesh& from) {
    std::vector<std::int64_t> shape = from.shape();
    if (shape.size() > 1 && random_.below(2) == 0) {
      shape[shape.size() - 2] *= shape.back();
      shape.pop_back();
    } else if (shape.size() < 4 && shape.back() % 2 == 0) {
      shape.back() /= 2;
      shape.push_back(2);
    } else {
      std::swap(shape.front(), shape.back());
    }
    return ProcessMesh::make(std::move(shape), from.ids()).value();
  }

  DistAttr placed(const ProcessMesh& on, std::size_t dims) {
    DistAttr attr;
    attr.mesh = on;
    attr.dims_mapping.assign(dims, -1);
    attr.partial.assign(on.axes(), program::Reduction::kNone);
    const bool maximum = random_.below(3) == 0;
    for (std::size_t axis = 0; axis < on.axes(); ++axis) {
      const std::size_t choice = random_.below(dims + 3);
      if (choice < dims && attr.dims_mapping[choice] == -1) {
        attr.dims_mapping[choice] = static_cast<std::int8_t>(axis);
      } else if (choice == dims) {
        attr.partial[axis] = maximum                 ? program::Reduction::kMax
                             : random_.below(2) == 0 ? program::Reduction::kSum
                                                     : program::Reduction::kAvg;
      }
    }
    return attr;
  }

  ProcessMesh partner(const ProcessMesh& source) {
    switch (random_.below(6)) {
      case 0:
        return reshaped(source);
      case 1:
        return mesh(random_.below(20), false);
      case 2:
        return mesh(0, true);
      case 3:
        return arranged(source.shape(), static_cast<std::int64_t>(source.size()), 16, false);
      default:
        return source;
    }
  }

  void one(FuzzOutcome& outcome) {
    constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 4, 5, 6, 8, 8, 12};
    const std::size_t dims = random_.below(16) == 0 ? 0 : 1 + random_.below(4);
    Shape shape;
    for (std::size_t i = 0; i < dims; ++i)
      shape.push_back(kSizes[random_.below(dims > 2 ? 8 : 10)]);
    if (dims > 0 && random_.below(24) == 0) shape[random_.below(dims)] = 0;
    const DistAttr source = placed(mesh(random_.below(3), random_.below(8) == 0), dims);
    const DistAttr target = placed(partner(source.mesh), dims);
    const auto type =
        random_.below(4) == 0 ? program::DataType::kBool : program::DataType::kFloat32;
    ++outcome.pairs;
    outcome.partial += source.has_partial() || target.has_partial() ? 1U : 0U;
    outcome.uneven += splits_evenly(shape, source) && splits_evenly(shape, target) ? 0U : 1U;
    outcome.other_mesh += source.mesh == target.mesh ? 0U : 1U;
    outcome.empty += program::num_elements(shape) == 0 ? 1U : 0U;
    const program::Cluster cluster;
    const program::BestPlan best = plan_best(cluster, shape, type, source, target).value();
    const program::Simulation simulation = simulate(shape, source, target, best.plan);
    const std::string pair = text(shape, source) + " -> " + text(shape, target);
    if (!simulation.ok() && outcome.wrong++ == 0) {
      outcome.first_problem = simulation.problem + "; " + pair;
    }
    const auto compat = plan_compat(shape, source, target);
    if (!compat.ok() || !program::simulate(shape, source, target, *compat).ok()) return;
    ++outcome.upstream_correct;
    if (best.us <= plan_us(cluster, shape, type, source, *compat) + 1e-9) return;
    if (outcome.dearer++ == 0) outcome.first_problem = "dearer than upstream; " + pair;
  }

  static std::string text(const Shape& shape, const DistAttr& attr) {
    std::string result = "shape";
    for (const auto size : shape)
      result += " " + std::to_string(size);
    result += " mesh";
    for (const auto extent : attr.mesh.shape())
      result += " " + std::to_string(extent);
    result += " ids";
    for (const auto rank : attr.mesh.ids())
      result += " " + std::to_string(rank);
    result += " mapping";
    for (const int axis : attr.dims_mapping)
      result += " " + std::to_string(axis);
    result += " partial";
    for (const auto due : attr.partial)
      result += " " + std::string(to_name(due));
    return result;
  }

  Random random_;
};

}  // namespace shardwright::test_support
