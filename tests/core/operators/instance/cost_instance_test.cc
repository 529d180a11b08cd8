// Cost instances: what is refused, the cost of a choice, merged nodes and compressed intervals.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "tests/support/operators/naive_cost_solver.h"
#include "tests/support/operators/random_cost_instance.h"
#include "tests/support/random.h"

namespace shardwright::cost_instance_test {

using namespace shardwright::operators;
using shardwright::Result;
using shardwright::test_support::Random;
using shardwright::test_support::random_cost_instance;
using shardwright::test_support::RandomCostInstanceStyle;
using shardwright::test_support::solve_naively;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::uint64_t between(Random& random, std::uint64_t low, std::uint64_t high) {
  return low + random.next() % (high - low + 1);
}

bool chance(Random& random, double share) {
  return static_cast<double>(random.next() >> 11) < share * 9007199254740992.0;  // 2^53
}

// Three nodes and three edges: edges may form a cycle.
CostInstanceSpec triangle() {
  CostInstanceSpec spec;
  spec.nodes = {{"a", {1, 2}}, {"b", {10, 20}}, {"c", {100}}};
  spec.matrices = {{2, 2, {0, 5, 7, 0}}, {2, 1, {3, 4}}, {1, 2, {8, 9}}};
  spec.edges = {{0, 1, 0}, {1, 2, 1}, {2, 0, 2}};
  spec.usages = {{0, {0, 2}, {4, 8}}, {1, {1, 3}, {16, 32}}};
  spec.limits = {10, 30, 40};
  return spec;
}

template <class Change>
std::string error_after(const Change& change) {
  CostInstanceSpec spec = triangle();
  change(spec);
  const Result<CostInstance> instance = CostInstance::make(std::move(spec));
  return instance.ok() ? std::string() : instance.error().to_string();
}

CostInstance make(CostInstanceSpec spec) {
  Result<CostInstance> instance = CostInstance::make(std::move(spec));
  REQUIRE(instance.ok());
  return std::move(instance).value();
}

// Sums all costs of a choice directly from the description.
double naive_cost(const CostInstanceSpec& spec, const std::vector<std::uint32_t>& choice) {
  double cost = 0;
  for (std::size_t n = 0; n < spec.nodes.size(); ++n)
    cost += spec.nodes[n].costs[choice[n]];
  for (const auto& edge : spec.edges) {
    const auto& matrix = spec.matrices[edge.matrix];
    cost += matrix.entries[choice[edge.first] * matrix.columns + choice[edge.second]];
  }
  return cost;
}

std::int64_t naive_peak(const CostInstanceSpec& spec, const std::vector<std::uint32_t>& choice) {
  std::int64_t peak = 0;
  for (std::size_t t = 0; t < spec.limits.size(); ++t) {
    std::int64_t held = 0;
    for (const auto& usage : spec.usages) {
      if (usage.live.begin <= t && t < usage.live.end) held += usage.bytes[choice[usage.node]];
    }
    peak = std::max(peak, held);
  }
  return peak;
}

}  // namespace

TEST_CASE("cost instance: the instance that these tests change is valid, and its sums are right") {
  const CostInstance instance = make(triangle());
  CHECK(instance.num_nodes() == 3);
  CHECK(instance.num_strategies() == 5);
  CHECK(instance.usages(2).empty());
  const CostEvaluation good = evaluate(instance, std::vector<std::uint32_t>{0, 0, 0});
  CHECK(good.node_cost == 111);
  CHECK(good.edge_cost == 0 + 3 + 8);
  CHECK(good.peak_bytes == 20);
  CHECK(good.feasible());
  const CostEvaluation heavy = evaluate(instance, std::vector<std::uint32_t>{1, 1, 0});
  CHECK(heavy.total() == 122 + 0 + 4 + 9);
  CHECK(heavy.peak_bytes == 40);
  CHECK(heavy.over_limit_at == 1U);
  CHECK_FALSE(heavy.feasible());
}

TEST_CASE("cost instance: malformed input is refused with its place") {
  CHECK(error_after([](CostInstanceSpec&) {}).empty());
  const auto begins = [](const std::string& error, const char* expected) {
    CHECK_MESSAGE(error.starts_with(expected), error);
  };
  begins(error_after([](auto& s) { s.nodes[1].costs.clear(); }), "/nodes/1: ");
  begins(error_after([](auto& s) { s.nodes[1].costs[1] = -1; }), "/nodes/1/costs/1: ");
  begins(error_after([](auto& s) { s.nodes[0].costs[0] = kNaN; }), "/nodes/0/costs/0: ");
  begins(error_after([](auto& s) { s.edges[2].second = 3; }), "/edges/2: ");
  begins(error_after([](auto& s) { s.edges[0].second = 0; }), "/edges/0: ");
  begins(error_after([](auto& s) { s.edges[0].matrix = 9; }), "/edges/0: ");
  begins(error_after([](auto& s) { s.edges[0].matrix = 1; }), "/edges/0: the matrix is 2 x 1");
  begins(error_after([](auto& s) { s.matrices[0].entries.pop_back(); }), "/matrices/0: ");
  begins(error_after([](auto& s) { s.matrices[0].entries[2] = -0.5; }), "/matrices/0/entries/2: ");
  begins(error_after([](auto& s) { s.matrices[1].entries[0] = kNaN; }), "/matrices/1/entries/0: ");
  begins(error_after([](auto& s) { s.usages[0].node = 7; }), "/usages/0: ");
  begins(error_after([](auto& s) { s.usages[1].bytes.push_back(1); }), "/usages/1: ");
  begins(error_after([](auto& s) { s.usages[1].bytes[0] = -1; }), "/usages/1/bytes/0: ");
  begins(error_after([](auto& s) { s.usages[0].live = {2, 1}; }), "/usages/0: ");
  begins(error_after([](auto& s) { s.limits[1] = -1; }), "/limits/1: ");
}

TEST_CASE("cost instance: bytes above 2^62 are refused only if they can be live together") {
  constexpr std::int64_t kHalf = std::int64_t{1} << 61;
  const auto with = [](std::int64_t first, std::int64_t second, LiveInterval live) {
    return error_after([&](CostInstanceSpec& spec) {
      spec.usages = {{0, {0, 2}, {0, first}}, {1, live, {second, 0}}};
    });
  };
  CHECK(with(kHalf, kHalf, {1, 3}).empty());
  CHECK(with(kHalf, kHalf + 1, {1, 3}).starts_with("/limits/1: "));
  CHECK(with(kHalf, kHalf + 1, {2, 3}).empty());
  CHECK(with(kHalf, std::numeric_limits<std::int64_t>::max(), {3, 9}).empty());
  CHECK_FALSE(with(1, std::numeric_limits<std::int64_t>::max(), {2, 9}).empty());
}

TEST_CASE(
    "cost instance: infinite costs forbid a choice, and limits below the smallest use allow none") {
  CostInstanceSpec spec = triangle();
  spec.nodes[0].costs[0] = kForbidden;
  spec.matrices[0].entries[3] = kForbidden;
  const CostInstance instance = make(spec);
  CHECK_FALSE(evaluate(instance, std::vector<std::uint32_t>{0, 0, 0}).feasible());
  CHECK_FALSE(evaluate(instance, std::vector<std::uint32_t>{1, 1, 0}).feasible());
  CHECK(evaluate(instance, std::vector<std::uint32_t>{1, 0, 0}).feasible());
  const CostInstance tight = make(triangle()).with_limits({3, 30, 40});
  CHECK_FALSE(solve_naively(tight).has_value());
  CHECK(solve_naively(make(triangle())).has_value());
}

TEST_CASE("cost instance: other limits share the matrices") {
  const CostInstance instance = make(triangle());
  const CostInstance other = instance.with_limits({1, 2, 3});
  CHECK(other.matrix(other.edges()[0]).data() == instance.matrix(instance.edges()[0]).data());
  CHECK(other.limits()[2] == 3);
  CHECK(instance.limits()[2] == 40);
}

TEST_CASE("cost instance: usages are cut to the limited time points") {
  CostInstanceSpec spec = triangle();
  spec.usages.push_back({2, {3, 8}, {99}});
  spec.usages.push_back({2, {1, 8}, {1}});
  const CostInstance instance = make(spec);
  REQUIRE(instance.usages(2).size() == 1);
  CHECK(instance.usages(2)[0].live == LiveInterval{1, 3});
}

TEST_CASE("cost instance: evaluate agrees with sums over the description") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    RandomCostInstanceStyle style;
    style.num_nodes = 5 + seed % 40;
    const CostInstanceSpec spec = random_cost_instance(seed, style);
    const CostInstance instance = make(spec);
    Random random(seed);
    std::vector<std::uint32_t> choice;
    for (const auto& node : spec.nodes)
      choice.push_back(static_cast<std::uint32_t>(between(random, 0, node.costs.size() - 1)));
    const CostEvaluation evaluation = evaluate(instance, choice);
    CHECK(evaluation.total() == naive_cost(spec, choice));
    CHECK(evaluation.peak_bytes == naive_peak(spec, choice));
    CHECK(evaluation.over_limit_at.has_value() == (naive_peak(spec, choice) > spec.limits[0]));
  }
}

TEST_CASE(
    "random cost instance: repeatable, mostly forbidden, feasible at its limit and not below") {
  RandomCostInstanceStyle style;
  style.num_nodes = 3000;
  const CostInstanceSpec one = random_cost_instance(7, style);
  const CostInstanceSpec two = random_cost_instance(7, style);
  std::size_t forbidden = 0;
  std::size_t entries = 0;
  REQUIRE(one.matrices.size() == two.matrices.size());
  for (std::size_t m = 0; m < one.matrices.size(); ++m) {
    CHECK(one.matrices[m].entries == two.matrices[m].entries);
    for (const double cost : one.matrices[m].entries)
      forbidden += std::isinf(cost) ? 1U : 0U;
    entries += one.matrices[m].entries.size();
  }
  const double share = static_cast<double>(forbidden) / static_cast<double>(entries);
  CHECK(share > 0.5);
  CHECK(share < 0.75);
  style.num_nodes = 6;
  style.max_strategies = 4;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const CostInstance instance = make(random_cost_instance(seed, style));
    CHECK(solve_naively(instance).has_value());
    const auto below = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(instance.limits()[0]) / style.slack) - 2);
    if (below < 0) continue;
    const std::vector<std::int64_t> limits(instance.limits().size(), below);
    CHECK_FALSE(solve_naively(instance.with_limits(limits)).has_value());
  }
}

TEST_CASE("live intervals: compressing keeps exactly the maximal sets of intervals") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<TimeInterval> intervals;
    for (std::uint64_t i = between(random, 0, 12); i > 0; --i) {
      const auto begin = static_cast<std::int64_t>(between(random, 0, 15));
      intervals.push_back({begin, begin + static_cast<std::int64_t>(between(random, 0, 6))});
    }
    std::vector<std::uint32_t> sets;  // by time: bit i is set if interval i is live
    for (std::int64_t t = 0; t < 25; ++t) {
      std::uint32_t set = 0;
      for (std::size_t i = 0; i < intervals.size(); ++i)
        set |= (intervals[i].begin <= t && t < intervals[i].end ? 1U : 0U) << i;
      if (set != 0 && (sets.empty() || sets.back() != set)) sets.push_back(set);
    }
    std::vector<std::uint32_t> maximal;
    for (const std::uint32_t set : sets) {
      bool dominated = false;
      for (const std::uint32_t other : sets)
        dominated = dominated || (other != set && (other & set) == set);
      if (!dominated) maximal.push_back(set);
    }
    const CompressedIntervals compressed = compress(intervals);
    REQUIRE(compressed.num_time_points == maximal.size());
    for (std::uint32_t t = 0; t < compressed.num_time_points; ++t) {
      std::uint32_t set = 0;
      for (std::size_t i = 0; i < intervals.size(); ++i) {
        const LiveInterval& live = compressed.intervals[i];
        set |= (live.begin <= t && t < live.end ? 1U : 0U) << i;
      }
      CHECK(set == maximal[t]);
    }
  }
}

TEST_CASE("lowered instance: merged nodes cost what the operators cost together") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    RandomCostInstanceStyle style;
    style.num_nodes = 12;
    style.layer_width = 4;
    style.repeated_share = 1;
    const CostInstanceSpec spec = random_cost_instance(seed, style);
    std::vector<std::uint32_t> leaders;
    for (std::uint32_t n = 0; n < 12; ++n) {
      const bool merges = n >= 4 && chance(random, 0.5) &&
                          spec.nodes[n - 4].costs.size() == spec.nodes[n].costs.size();
      leaders.push_back(merges ? n - 4 : n);
    }
    const Result<LoweredInstance> lowered = LoweredInstance::make(make(spec), spec, leaders);
    REQUIRE(lowered.ok());
    std::vector<std::uint32_t> choice;
    for (std::size_t v = 0; v < lowered->instance().num_nodes(); ++v) {
      const std::uint32_t count = lowered->instance().num_strategies(v);
      choice.push_back(static_cast<std::uint32_t>(between(random, 0, count - 1)));
    }
    const std::vector<std::uint32_t> operators = lowered->operator_choice(choice);
    const CostEvaluation merged = evaluate(lowered->instance(), choice);
    const CostEvaluation given = evaluate(lowered->graph(), operators);
    // Costs are integers, so any order of addition is exact.
    CHECK(merged.total() == given.total());
    CHECK(merged.peak_bytes == given.peak_bytes);
    for (std::size_t n = 0; n < 12; ++n)
      CHECK(operators[n] == operators[leaders[n]]);
  }
}

TEST_CASE("lowered instance: cycles and unequal numbers of strategies are refused") {
  const CostInstanceSpec spec = triangle();
  const std::vector<std::uint32_t> circle{1, 0, 2};
  const std::vector<std::uint32_t> unequal{0, 1, 0};
  const auto error = [&](const std::vector<std::uint32_t>& leaders) {
    const auto lowered = LoweredInstance::make(make(spec), spec, leaders);
    return lowered.ok() ? std::string() : lowered.error().to_string();
  };
  CHECK(error({0, 0, 2}).empty());
  CHECK(error(circle).starts_with("/nodes/0: "));
  CHECK(error(unequal).starts_with("/nodes/2: "));
}

}  // namespace shardwright::cost_instance_test
