// Benchmarks of redistributions: new requests, and requests that were answered before.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/redistribution/placement/placement_notation.h"
#include "runtime/redistribution/redistribution_table.h"

namespace {

using namespace shardwright;

// Up to 1,024 pairs of placements on a mesh of `axes` axes of two devices each. Every n-th of all
// pairs is taken, if a path between its placements exists.
std::vector<RedistributionCase> questions(std::size_t axes) {
  const std::vector<std::string> words{"R", "P(sum)", "S(0)", "S(1)", "S(2)"};
  std::vector<redistribution::Placement> placements;
  std::size_t count = 1;
  for (std::size_t axis = 0; axis < axes; ++axis)
    count *= words.size();
  for (std::size_t number = 0; number < count; ++number) {
    std::vector<std::string> chosen;
    for (std::size_t axis = 0, rest = number; axis < axes; ++axis, rest /= words.size())
      chosen.push_back(words[rest % words.size()]);
    placements.push_back(*redistribution::read_words(chosen, 3));
  }
  std::vector<RedistributionCase> cases;
  constexpr std::size_t kMost = 1'024;
  const std::size_t every = placements.size() * placements.size() / kMost + 1;
  for (std::size_t pair = 0; pair < placements.size() * placements.size(); pair += every) {
    RedistributionCase request;
    request.mesh.assign(axes, 2);
    request.shape = {64, 32, 16};
    request.source = placements[pair / placements.size()];
    request.target = placements[pair % placements.size()];
    if (plan_redistribution(request, {}).ok()) cases.push_back(std::move(request));
  }
  return cases;
}

void redistribution_new(benchmark::State& state) {
  const auto cases = questions(static_cast<std::size_t>(state.range(0)));
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan_redistribution(cases[next], {}));
    next = next + 1 == cases.size() ? 0 : next + 1;
  }
}
BENCHMARK(redistribution_new)->ArgName("axes")->DenseRange(1, 4)->Unit(benchmark::kMicrosecond);

void redistribution_repeated(benchmark::State& state) {
  const auto cases = questions(static_cast<std::size_t>(state.range(0)));
  RedistributionTable table;
  for (const RedistributionCase& request : cases)
    benchmark::DoNotOptimize(table.plan(request));
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.plan(cases[next]));
    next = next + 1 == cases.size() ? 0 : next + 1;
  }
}
BENCHMARK(redistribution_repeated)
    ->ArgName("axes")
    ->DenseRange(1, 4)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
