// The least memory of an instance, compared with an enumeration of all choices.
#include "search/operators/solve/solve.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/random.h"

namespace shardwright::least_memory_test {

namespace {

using namespace shardwright;
using namespace shardwright::operators;

// Returns the least peak memory of all choices without forbidden strategies and pairs.
std::optional<std::int64_t> least_of_all(const CostInstance& instance) {
  std::optional<std::int64_t> least;
  std::vector<std::uint32_t> choice(instance.num_nodes(), 0);
  for (;;) {
    const CostEvaluation evaluation = evaluate(instance, choice);
    if (evaluation.total() < kForbidden)
      least = std::min(least.value_or(evaluation.peak_bytes), evaluation.peak_bytes);
    std::size_t n = 0;
    while (n < choice.size() && ++choice[n] == instance.num_strategies(n))
      choice[n++] = 0;
    if (n == choice.size()) return least;
  }
}

LeastMemory least_of(const CostInstance& instance) {
  InlineExecutor executor;
  Budget budget({}, {}, {});
  return least_memory(instance, instance.limits().size(), executor, budget);
}

}  // namespace

TEST_CASE("least memory: exact for one time point, a lower bound for several") {
  int exact = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    test_support::Random random(seed);
    const auto below = [&](std::uint64_t limit) { return random.below(limit); };
    CostInstanceSpec spec;
    const std::size_t times = 1 + below(3);
    for (std::uint32_t n = 0; n < 5; ++n) {
      CostInstanceSpec::Usage usage;
      usage.node = n;
      usage.live.begin = static_cast<std::uint32_t>(below(times));
      usage.live.end =
          usage.live.begin + 1 + static_cast<std::uint32_t>(below(times - usage.live.begin));
      spec.nodes.emplace_back();
      for (std::size_t s = 0; s < 3; ++s) {
        spec.nodes.back().costs.push_back(below(8) == 0 ? kForbidden : 1.0);
        usage.bytes.push_back(static_cast<std::int64_t>(below(50)));
      }
      spec.usages.push_back(std::move(usage));
    }
    for (std::uint32_t n = 0; n + 1 < 5; ++n) {
      CostInstanceSpec::Matrix matrix{3, 3, {}};
      for (int i = 0; i < 9; ++i)
        matrix.entries.push_back(below(4) == 0 ? kForbidden : 2.0);
      spec.matrices.push_back(std::move(matrix));
      spec.edges.push_back({n, n + 1, n});
    }
    spec.limits.assign(times, 1);
    const auto instance = CostInstance::make(std::move(spec));
    REQUIRE(instance.ok());
    const std::optional<std::int64_t> truth = least_of_all(*instance);
    const LeastMemory found = least_of(*instance);
    CHECK(found.impossible == !truth.has_value());
    if (!truth) continue;
    CHECK(found.bytes <= *truth);
    if (times == 1 || found.reached) CHECK(found.bytes == *truth);
    if (found.reached) ++exact;
  }
  CHECK(exact > 100);
}

}  // namespace shardwright::least_memory_test
