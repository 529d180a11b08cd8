// Resharding paths, greedy and exact: their costs and the cache.
#include "search/operators/strategies/reshard_path.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace shardwright::reshard_path_test {

namespace {

using namespace shardwright::operators;

SpecTable make_table(std::vector<std::uint32_t> mesh, std::vector<double> alpha = {},
                     std::vector<double> beta = {}) {
  return SpecTable(
      DeviceMesh::make({std::move(mesh), std::move(alpha), std::move(beta), {}}).value());
}

DimSpecs specs(const std::string& text) { return DimSpecs::parse(text).value(); }

ReshardPath find(const SpecTable& table, std::vector<std::int64_t> shape, const std::string& from,
                 const std::string& to, PathCost mode) {
  return find_reshard_path(table, TensorShape{std::move(shape)}, specs(from), specs(to), mode);
}

std::vector<std::string> route(const ReshardPath& path) {
  std::vector<std::string> texts;
  for (const ReshardStep& step : path.steps)
    texts.push_back(step.result.to_string());
  return texts;
}

// Returns all valid specs of the shape by trying all sequences of axes.
std::vector<DimSpecs> all_specs(const SpecTable& table, const TensorShape& shape) {
  const auto choices = std::uint64_t{1} << table.mesh().num_axes();
  std::uint64_t count = 1;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim)
    count *= choices;
  std::vector<DimSpecs> valid;
  for (std::uint64_t code = 0; code < count; ++code) {
    DimSpecs dims(shape.rank());
    std::uint64_t rest = code;
    for (std::size_t dim = 0; dim < shape.rank(); ++dim, rest /= choices)
      dims = dims.with(dim, DimSpec{static_cast<std::uint8_t>(rest % choices)});
    if (table.valid(shape, dims)) valid.push_back(dims);
  }
  return valid;
}

// Returns the least costs from `from` to every spec, by relaxing until nothing changes.
std::map<std::uint64_t, double> relaxed_totals(const SpecTable& table, const TensorShape& shape,
                                               const std::vector<DimSpecs>& all,
                                               const DimSpecs& from) {
  std::map<std::uint64_t, double> totals;
  for (const DimSpecs& dims : all)
    totals[dims.bits()] = std::numeric_limits<double>::infinity();
  totals[from.bits()] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const DimSpecs& dims : all) {
      for (const ReshardStep& step : one_step_reshards(table, shape, dims)) {
        const double total = totals[dims.bits()] + step.cost.total;
        if (total >= totals[step.result.bits()]) continue;
        totals[step.result.bits()] = total;
        changed = true;
      }
    }
  }
  return totals;
}

}  // namespace

TEST_CASE("reshard path: the worked example") {
  const SpecTable table = make_table({4, 4});
  const ReshardPath compat = find(table, {64, 32, 16}, "R,S01,R", "S01,R,R", PathCost::kCompat);
  CHECK(route(compat) == std::vector<std::string>{"R,S0,R", "S0,R,R", "S01,R,R"});
  CHECK(compat.steps[1].gather_dim == 1);
  CHECK(compat.steps[1].shard_dim == 0);
  CHECK(compat.cost.forward == doctest::Approx(12394.402).epsilon(1e-12));
  CHECK(compat.cost.backward == doctest::Approx(12691.102).epsilon(1e-12));
  CHECK(compat.cost.total == doctest::Approx(25085.504).epsilon(1e-12));
  const ReshardPath sum = find(table, {64, 32, 16}, "R,S01,R", "S01,R,R", PathCost::kSum);
  CHECK(sum.steps == compat.steps);
  CHECK(sum.cost.total == doctest::Approx(14028.202).epsilon(1e-12));
}

TEST_CASE("reshard path: equal specs need no step") {
  const SpecTable table = make_table({2, 2});
  for (const PathCost mode : {PathCost::kCompat, PathCost::kSum, PathCost::kExact}) {
    CHECK(find(table, {8, 8}, "S0,R", "S0,R", mode) == ReshardPath{});
    CHECK(find(table, {}, "", "", mode) == ReshardPath{});
  }
}

TEST_CASE("reshard path: exact uses an axis of one device where the greedy path gathers") {
  const SpecTable table = make_table({1, 4});
  const ReshardPath greedy = find(table, {16, 8, 4}, "R,S1,S0", "R,S0,S1", PathCost::kSum);
  const ReshardPath exact = find(table, {16, 8, 4}, "R,S1,S0", "R,S0,S1", PathCost::kExact);
  CHECK(greedy.cost.total == doctest::Approx(684.202).epsilon(1e-12));
  CHECK(exact.cost.total == doctest::Approx(102.006).epsilon(1e-12));
}

TEST_CASE("reshard path: the largest alpha and beta of a mesh leave all costs finite") {
  const SpecTable table = make_table({64, 64}, {1e200, 1e200}, {1e200, 1e200});
  for (const PathCost mode : {PathCost::kCompat, PathCost::kSum, PathCost::kExact}) {
    const ReshardPath path = find(table, {1 << 24, 1 << 24}, "S0,S1", "S1,S0", mode);
    CHECK(path.found);
    CHECK(path.steps.back().result == specs("S1,S0"));
    CHECK(path.cost.total < std::numeric_limits<double>::infinity());
  }
}

TEST_CASE("reshard path: exact finds the least total of all paths") {
  struct Setting {
    SpecTable table;
    std::vector<std::int64_t> shape;
  };
  Setting settings[] = {{make_table({2, 4}, {1, 30}, {0.5, 2}), {8, 24, 4}},
                        {make_table({2, 2, 2}, {}, {1, 0.1, 3}), {8, 12}},
                        {make_table({3, 1, 2}, {0, 0, 0}, {0, 0, 0}), {6, 6}}};
  for (Setting& setting : settings) {
    const TensorShape shape{setting.shape};
    const std::vector<DimSpecs> all = all_specs(setting.table, shape);
    REQUIRE(all.size() >= 9);
    for (const DimSpecs& from : all) {
      const auto least = relaxed_totals(setting.table, shape, all, from);
      for (const DimSpecs& to : all) {
        const ReshardPath exact =
            find_reshard_path(setting.table, shape, from, to, PathCost::kExact);
        const ReshardPath sum = find_reshard_path(setting.table, shape, from, to, PathCost::kSum);
        INFO(from.to_string(), " -> ", to.to_string());
        CHECK(exact.cost.total == least.at(to.bits()));
        CHECK(exact.cost.total <= sum.cost.total);
      }
    }
  }
}

TEST_CASE("reshard path: every path leads from source to target by possible steps") {
  const SpecTable table = make_table({2, 2, 2});
  const TensorShape shape{{8, 4, 2}};
  const std::vector<DimSpecs> all = all_specs(table, shape);
  for (const PathCost mode : {PathCost::kCompat, PathCost::kExact}) {
    for (const DimSpecs& from : all) {
      for (const DimSpecs& to : all) {
        const ReshardPath path = find_reshard_path(table, shape, from, to, mode);
        REQUIRE(path.found);
        DimSpecs at = from;
        for (const ReshardStep& step : path.steps) {
          const auto possible = one_step_reshards(table, shape, at);
          REQUIRE(std::find(possible.begin(), possible.end(), step) != possible.end());
          at = step.result;
        }
        CHECK(at == to);
      }
    }
  }
}

TEST_CASE("reshard path: in compat cost, the k-th of n steps counts 2^(n-k) times") {
  std::vector<ReshardStep> steps(3);
  steps[0].cost = {1, 10, 11};
  steps[1].cost = {2, 20, 22};
  steps[2].cost = {4, 40, 44};
  CHECK(path_cost(steps, PathCost::kCompat) == PhaseCost{12, 120, 132});
  CHECK(path_cost(steps, PathCost::kSum) == PhaseCost{7, 70, 77});
  CHECK(path_cost({}, PathCost::kCompat) == PhaseCost{});
}

TEST_CASE("reshard path: memory holds the source, the result, and room for the collective") {
  const SpecTable table = make_table({2, 2});  // 64 elements in all
  const auto peak = [&](const char* from, const char* to) {
    return find(table, {8, 8}, from, to, PathCost::kCompat).peak_elements;
  };
  CHECK(peak("S0,R", "R,R") == 32 + 2 * 64);
  CHECK(peak("S0,R", "R,S0") == 32 + 3 * 32);
  CHECK(peak("R,S0", "S0,R") == 32 + 2 * 32);
  CHECK(peak("R,R", "R,S0") == 64 + 32);
  CHECK(peak("R,R", "S0,R") == 64);
  // The source has 16 elements. The first gather makes 32, and the second takes 128.
  CHECK(peak("S01,R", "R,R") == 16 + 32 + 2 * 64);
  CHECK(peak("R,R", "R,R") == 0);
}

TEST_CASE("reshard planner: caches the answer") {
  SpecTable table = make_table({2, 2});
  ReshardPlanner planner(table, PathCost::kCompat);
  const TensorShape* shape = table.shape(std::vector<std::int64_t>{8, 8});
  const ShardingSpec* from = table.intern(shape, specs("S0,R"));
  const ShardingSpec* to = table.intern(shape, specs("R,S1"));
  CHECK(planner.cost(from, from) == 0);
  CHECK(planner.path(from, from).steps.empty());
  const ReshardPath& path = planner.path(from, to);
  CHECK(path == find(table, {8, 8}, "S0,R", "R,S1", PathCost::kCompat));
  CHECK(&planner.path(from, to) == &path);
  CHECK(planner.cost(from, to) == path.cost.total);
  CHECK(planner.path(to, from).steps != path.steps);
}

TEST_CASE("reshard planner: threads with the same question get the same answer") {
  SpecTable table = make_table({2, 4});
  ReshardPlanner planner(table, PathCost::kCompat);
  std::vector<const ShardingSpec*> all;
  for (std::int64_t extent = 8; extent <= 64; extent += 8) {
    const TensorShape* shape = table.shape(std::vector<std::int64_t>{extent, 16, 8});
    for (const DimSpecs& dims : all_specs(table, *shape))
      all.push_back(table.intern(shape, dims));
  }
  constexpr std::size_t kThreads = 4;
  std::vector<std::vector<const ReshardPath*>> answers(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&planner, &all, &mine = answers[t]] {
        for (const ShardingSpec* from : all) {
          for (const ShardingSpec* to : all) {
            if (from->shape == to->shape) mine.push_back(&planner.path(from, to));
          }
        }
      });
    }
  }
  for (const auto& mine : answers)
    CHECK(mine == answers[0]);
}

}  // namespace shardwright::reshard_path_test
