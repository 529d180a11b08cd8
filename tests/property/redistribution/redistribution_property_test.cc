// Random redistributions: the moves give the right arrays on every rank, and no other moves cost
// less.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/program/simulate.h"
#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/cost/nccl_costs.h"
#include "core/redistribution/cost/tensor_redistribution.h"
#include "core/redistribution/cost/topology_costs.h"
#include "core/redistribution/placement/placement.h"
#include "core/redistribution/placement/placement_notation.h"
#include "search/redistribution/cheapest_path.h"
#include "search/redistribution/rank_steps.h"
#include "search/redistribution/step_costs.h"
#include "tests/support/redistribution/naive_paths.h"
#include "tests/support/redistribution/random_redistribution.h"

namespace shardwright::redistribution_property_test {

namespace {

using namespace redistribution;
using namespace test_support;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

program::ProcessMesh ranks_of(const MeshShape& mesh) {
  std::vector<program::Rank> ids(static_cast<std::size_t>(num_devices(mesh)));
  std::iota(ids.begin(), ids.end(), 0);
  return program::ProcessMesh::make(mesh, std::move(ids)).value();
}

// Executes the moves on arrays. Returns what is wrong, or "".
std::string problem_of(const RandomPair& pair, const Path& path, Rounding rounding) {
  std::vector<Move> moves;
  Placement at = effective_placement(pair.tensor.mesh, pair.source);
  const Placement first = at;
  for (const PathStep& step : path.steps) {
    const Status allowed = check_move(pair.tensor.mesh, pair.tensor.shape, at, step.move);
    if (!allowed.ok()) return allowed.error().message;
    at = after(at, step.move);
    if (at != step.after) return "a step ends elsewhere than it says";
    moves.push_back(step.move);
  }
  if (at != effective_placement(pair.tensor.mesh, pair.target)) return "the path ends elsewhere";
  const program::RankPlacement source{ranks_of(pair.tensor.mesh), pair.source, rounding};
  const program::RankPlacement target{source.mesh, pair.target, rounding};
  program::ReshardPlan plan;
  append_rank_steps(pair.tensor.shape, {source.mesh, first, rounding}, moves, plan);
  return simulate(pair.tensor.shape, source, target, plan).problem;
}

// Latency and bandwidth differ by axis, so that neither always decides.
TopologyCosts random_links(Random& random, const MeshShape& mesh) {
  std::vector<AxisLink> links;
  for (std::size_t axis = 0; axis < mesh.size(); ++axis)
    links.push_back({0.01 * static_cast<double>(random.below(100)),
                     1e-3 * static_cast<double>(1 + random.below(100))});
  return TopologyCosts::make(mesh, std::move(links)).value();
}

std::string described(const RandomPair& pair) {
  std::string text = "mesh";
  for (const std::int64_t size : pair.tensor.mesh)
    text += " " + std::to_string(size);
  text += ", shape";
  for (const std::int64_t size : pair.tensor.shape)
    text += " " + std::to_string(size);
  return text + ": " + to_text(pair.source, pair.tensor.mesh.size()) + " -> " +
         to_text(pair.target, pair.tensor.mesh.size());
}

}  // namespace

TEST_CASE("redistribution: ten thousand random paths end with the right arrays on every rank") {
  for (const std::uint64_t seed : seeds({1})) {
    CAPTURE(seed);
    Random random(seed);
    std::size_t num_steps = 0;
    for (int i = 0; i < 10'000; ++i) {
      const RandomPair pair = random_pair(random);
      CAPTURE(described(pair));
      const TopologyCosts links = random_links(random, pair.tensor.mesh);
      const CollectiveStepCosts costs(links, {});
      const Path path = find_path(pair.tensor, costs, {}, pair.source, pair.target);
      REQUIRE(path.found);
      const Rounding rounding = random.below(2) == 0 ? Rounding::kCeil : Rounding::kBalanced;
      CHECK(problem_of(pair, path, rounding) == "");
      num_steps += path.steps.size();
    }
    CHECK(num_steps > 10'000);
  }
}

TEST_CASE("redistribution: no sequence of moves costs less, with and without a limit of memory") {
  for (const std::uint64_t seed : seeds({2})) {
    CAPTURE(seed);
    Random random(seed);
    std::size_t impossible = 0;
    std::size_t placements = 0;
    for (int i = 0; i < 300; ++i) {
      RandomLimits limits;
      limits.most_dims = i % 2 == 0 ? 2U : 3U;
      limits.most_axes = i % 2 == 0 ? 3U : 2U;
      const RandomPair pair = random_pair(random, limits);
      CAPTURE(described(pair));
      const TopologyCosts links = random_links(random, pair.tensor.mesh);
      CollectiveStepCosts::Options options;
      options.launch_us = 0.1 * static_cast<double>(random.below(10));
      options.groups = random.below(2) == 0;
      options.copy_bytes_per_us = 1e3;
      // With NCCL, some larger tensors take less time.
      const NcclCosts nccl =
          NcclCosts::make(pair.tensor.mesh, h100_nccl_config(i % 4 < 2 ? 8 : 4)).value();
      const bool use_nccl = i % 3 == 0;
      options.is_monotone = !use_nccl;
      const CollectiveStepCosts costs(use_nccl ? static_cast<const CollectiveCosts&>(nccl) : links,
                                      options);
      const Placement start = effective_placement(pair.tensor.mesh, pair.source);
      NaivePaths naive(pair.tensor, costs, start,
                       effective_placement(pair.tensor.mesh, pair.target));
      PathLimits memory;
      const Path free = find_path(pair.tensor, costs, {}, pair.source, pair.target);
      const double least = naive.cheapest(start, memory.elements);
      CHECK(free.cost == doctest::Approx(least).epsilon(1e-12));
      CHECK(free.is_optimal);
      placements += naive.num_placements;
      if (free.steps.empty()) continue;
      memory.elements = free.peak_elements - 1;
      const Path tight = find_path(pair.tensor, costs, {}, pair.source, pair.target, memory);
      const double tight_least = naive.cheapest(start, memory.elements);
      CHECK(tight.found == (tight_least < kInfinite));
      impossible += tight.found ? 0U : 1U;
      if (!tight.found) continue;
      CHECK(tight.cost == doctest::Approx(tight_least).epsilon(1e-12));
      CHECK(tight.peak_elements <= memory.elements);
    }
    CHECK(impossible > 50);
    CHECK(placements > 3'000);
  }
}

TEST_CASE(
    "redistribution: under DTensor's costs no detour by a third placement is cheaper, nor is "
    "DTensor's way") {
  for (const std::uint64_t seed : seeds({3})) {
    CAPTURE(seed);
    Random random(seed);
    std::size_t cheaper = 0;
    for (int i = 0; i < 2'000; ++i) {
      RandomLimits limits;
      limits.most_dims = 3;
      RandomPair pair = random_pair(random, limits);
      for (std::int64_t& size : pair.tensor.shape)
        size *= 1024;
      CAPTURE(described(pair));
      const std::int64_t bytes = 4 * num_elements(pair.tensor.shape);
      const DTensorCosts links = DTensorCosts::make(pair.tensor.mesh, 8).value();
      const DTensorStepCosts costs(links, bytes);
      const auto path = [&](const Placement& source, const Placement& target) {
        return find_path(pair.tensor, costs, {}, source, target);
      };
      const Path direct = path(pair.source, pair.target);
      REQUIRE(direct.found);
      const Placement third = random_placement(random, pair.tensor, false, ReduceOp::kSum);
      const double round = path(pair.source, third).cost + path(third, pair.target).cost;
      CHECK(direct.cost <= round * (1 + 1e-12));
      RedistributionSpec spec;
      spec.mesh = pair.tensor.mesh;
      spec.shape = {pair.tensor.shape.begin(), pair.tensor.shape.end()};
      spec.itemsize = 4;
      for (std::size_t axis = 0; axis < spec.mesh.size(); ++axis) {
        spec.source.push_back(pair.source.on(axis));
        spec.target.push_back(pair.target.on(axis));
      }
      const Placement from = Placement::make(spec.source, spec.shape.size()).value();
      const Placement to = Placement::make(spec.target, spec.shape.size()).value();
      const double greedy =
          dtensor_redistribution_us(Redistribution::make(std::move(spec)).value(), links);
      const double own = path(from, to).cost;
      CHECK(own <= greedy * (1 + 1e-12));
      cheaper += own < greedy * (1 - 1e-9) && greedy < kInfinite ? 1U : 0U;
    }
    CHECK(cheaper > 100);
  }
}

TEST_CASE("redistribution: Pareto paths cost more and need less, one after the other") {
  Random random(4);
  std::size_t several = 0;
  for (int i = 0; i < 200; ++i) {
    const RandomPair pair = random_pair(random);
    CAPTURE(described(pair));
    const TopologyCosts links = random_links(random, pair.tensor.mesh);
    const CollectiveStepCosts costs(links, {});
    const std::vector<Path> paths = pareto_paths(pair.tensor, costs, {}, pair.source, pair.target);
    REQUIRE(!paths.empty());
    for (std::size_t k = 1; k < paths.size(); ++k) {
      CHECK(paths[k].cost > paths[k - 1].cost);
      CHECK(paths[k].peak_elements < paths[k - 1].peak_elements);
      CHECK(problem_of(pair, paths[k], Rounding::kCeil) == "");
    }
    several += paths.size() > 1 ? 1U : 0U;
  }
  CHECK(several > 20);
}

TEST_CASE("redistribution: Pareto paths of searches that are cut short beat each other neither") {
  Random random(5);
  std::size_t several = 0;
  for (int i = 0; i < 200; ++i) {
    const RandomPair pair = random_pair(random);
    CAPTURE(described(pair));
    const TopologyCosts links = random_links(random, pair.tensor.mesh);
    const CollectiveStepCosts costs(links, {});
    PathLimits limits;
    for (limits.most_expanded = 1; limits.most_expanded < 200; limits.most_expanded *= 2) {
      const std::vector<Path> paths =
          pareto_paths(pair.tensor, costs, {}, pair.source, pair.target, limits);
      for (std::size_t k = 1; k < paths.size(); ++k) {
        CHECK(paths[k].cost > paths[k - 1].cost);
        CHECK(paths[k].peak_elements < paths[k - 1].peak_elements);
      }
      several += paths.size() > 1 ? 1U : 0U;
    }
  }
  CHECK(several > 20);
}

}  // namespace shardwright::redistribution_property_test
