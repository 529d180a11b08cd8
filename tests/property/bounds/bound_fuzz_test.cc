// Ten thousand small problems: no accepted bound is above the best rating, even if its certificate
// was tampered with.
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "tests/support/embedding/checks/bound_checks.h"

namespace shardwright::bound_fuzz_test {

namespace {

using namespace shardwright::embedding;
using namespace shardwright::test_support;

double tampered(Random& random, double value) {
  switch (random.below(6)) {
    case 0:
      return 0;
    case 1:
      return -value;
    case 2:
      return std::numeric_limits<double>::quiet_NaN();
    case 3:
      return value + 1;
    default:
      return value * (0.5 + 0.125 * static_cast<double>(random.below(9)));
  }
}

void tamper(Random& random, BoundCertificate& certificate) {
  if (random.below(8) == 0) {
    std::vector<std::uint32_t>& classes = certificate.class_of_rank;
    classes[random.below(classes.size())] = static_cast<std::uint32_t>(random.below(3));
    return;
  }
  if (random.below(8) == 0 && certificate.nodes.size() > 1) {
    std::swap(certificate.nodes[random.below(certificate.nodes.size())],
              certificate.nodes[random.below(certificate.nodes.size())]);
    return;
  }
  BoundNode& node = certificate.nodes[random.below(certificate.nodes.size())];
  if (random.below(4) == 0) {
    if (node.fixing.empty() || random.below(4) == 0) node.fixing.push_back(node.multipliers);
    for (std::vector<CapacityMultipliers>& own : node.fixing) {
      for (CapacityMultipliers& multipliers : own)
        multipliers.load = tampered(random, multipliers.load);
    }
    return;
  }
  if (node.is_leaf && random.below(4) == 0) {
    node.by_search = !node.by_search;
    return;
  }
  const auto change = [&](double& value) { value = tampered(random, value); };
  if (!node.is_leaf && random.below(2) == 0) {
    node.count = static_cast<std::uint32_t>(random.below(4));
    if (random.below(2) == 0) node.tables.emplace_back(random.below(4));
  } else if (!node.is_leaf && !node.first_child.empty()) {
    node.first_child[random.below(node.first_child.size())].classes =
        static_cast<std::uint32_t>(random.below(8));
  } else if (random.below(3) == 0 && !node.shard_duals.empty()) {
    change(node.shard_duals[random.below(node.shard_duals.size())].value);
  } else if (random.below(2) == 0 && !node.max_pattern_values.empty()) {
    change(node.max_pattern_values[random.below(node.max_pattern_values.size())]);
  } else if (!node.multipliers.empty()) {
    CapacityMultipliers& own = node.multipliers[random.below(node.multipliers.size())];
    change(random.below(2) == 0 ? own.load : own.hbm);
  }
}

// Returns a certificate by search with random prices.
BoundCertificate searched(Random& random, const SmallProblem& small, double bound) {
  BoundCertificate certificate;
  certificate.by_search = true;
  certificate.bound = bound;
  const std::uint32_t ranks = small.available.world_size();
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    certificate.class_of_rank.push_back(rank);
  for (std::size_t set = random.below(3); set > 0; --set) {
    BoundNode& leaf = certificate.nodes.emplace_back();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      leaf.multipliers.push_back({static_cast<double>(random.below(4)),
                                  1e-9 * static_cast<double>(random.below(4)),
                                  1e-9 * static_cast<double>(random.below(4))});
    }
  }
  return certificate;
}

}  // namespace

TEST_CASE("bound: never above the least rating of ten thousand small problems") {
  for (const std::uint64_t seed : seeds({1001, 1002})) {
    BoundCounts counts;
    Random random(seed);
    for (int i = 0; i < 5000; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      check_small_problem(small_problem(random, i % 4 == 3), counts);
    }
    CHECK(counts.feasible > 2500);
    CHECK(counts.proved * 100 >= counts.feasible * 80);
  }
}

TEST_CASE("bound: nor where hosts leave ranks over") {
  for (const std::uint64_t seed : seeds({1006, 1007})) {
    BoundCounts counts;
    Random random(seed);
    for (int i = 0; i < 500; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      check_small_problem(uneven_problem(random, i % 4 == 3), counts);
    }
    CHECK(counts.feasible > 250);
    CHECK(counts.proved * 100 >= counts.feasible * 80);
  }
}

TEST_CASE("bound: no change of a certificate makes the check accept more than the least rating") {
  for (const std::uint64_t seed : seeds({1003})) {
    Random random(seed);
    for (int i = 0; i < 2000; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      const bool rules = i % 4 == 3;
      const SmallProblem small =
          i % 5 == 0 ? uneven_problem(random, rules) : small_problem(random, rules);
      const std::optional<double> least = least_rating(small);
      if (!least || *least <= 0) continue;
      BoundCertificate certificate = proved_bound(small, *least);
      certificate.bound = *least * (1 + 1e-6);
      for (int change = 0; change < 10; ++change) {
        tamper(random, certificate);
        CHECK(check_bound(*small.space, small.available, certificate).has_value());
      }
    }
  }
}

TEST_CASE("bound: trying all plans proves the least rating and nothing above it") {
  for (const std::uint64_t seed : seeds({1004, 1005})) {
    Random random(seed);
    std::size_t proved = 0;
    std::size_t infeasible = 0;
    for (int i = 0; i < 2500; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      const bool rules = i % 4 != 0;
      const SmallProblem small =
          i % 5 == 0 ? uneven_problem(random, rules) : small_problem(random, rules);
      const std::optional<double> least = least_rating(small);
      const auto wrong = [&](double bound) {
        return check_bound(*small.space, small.available, searched(random, small, bound));
      };
      if (!least) {
        CHECK(wrong(1e9).value_or("") == "");
        ++infeasible;
        continue;
      }
      if (*least <= 0) continue;
      CHECK(wrong(*least * (1 - 3e-9)).value_or("") == "");
      CHECK(wrong(*least * (1 + 1e-6)).has_value());
      ++proved;
    }
    CHECK(proved > 1000);
    CHECK(infeasible > 200);
  }
}

}  // namespace shardwright::bound_fuzz_test
