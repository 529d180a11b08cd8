// Benchmarks of the basic values: interner, persistent vector, plan, exact sums.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/cow.h"
#include "core/embedding/plan.h"
#include "core/interner.h"
#include "core/numeric/exact_mean.h"

namespace {

using namespace shardwright;

struct NumberTraits {
  static std::uint64_t hash(std::uint64_t value) { return hash_mix(0, value); }
  static bool equal(std::uint64_t a, std::uint64_t b) { return a == b; }
};
using Numbers = Interner<std::uint64_t, NumberTraits>;

void interner_hit(benchmark::State& state) {
  Numbers numbers;
  const auto size = static_cast<std::uint64_t>(state.range(0));
  for (std::uint64_t i = 0; i < size; ++i)
    numbers.intern(i);
  std::uint64_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(numbers.intern(next));
    next = next + 1 == size ? 0 : next + 1;
  }
}
BENCHMARK(interner_hit)->Arg(64)->Arg(16'384);

void interner_add(benchmark::State& state) {
  const auto size = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    Numbers numbers;
    for (std::uint64_t i = 0; i < size; ++i)
      benchmark::DoNotOptimize(numbers.intern(i));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(interner_add)->Arg(64)->Arg(16'384);

PersistentVector<std::uint64_t> counting_vector(std::int64_t size) {
  return PersistentVector<std::uint64_t>::generate(static_cast<std::size_t>(size),
                                                   [](std::size_t i) { return i; });
}

void persistent_vector_set(benchmark::State& state) {
  auto vector = counting_vector(state.range(0));
  std::size_t at = 0;
  for (auto _ : state) {
    vector = vector.set(at, at + 1);
    at = (at + 7919) % vector.size();
  }
}
BENCHMARK(persistent_vector_set)->Arg(100)->Arg(1'000)->Arg(10'000);

void persistent_vector_get(benchmark::State& state) {
  const auto vector = counting_vector(state.range(0));
  std::size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(vector[at]);
    at = (at + 7919) % vector.size();
  }
}
BENCHMARK(persistent_vector_get)->Arg(100)->Arg(1'000)->Arg(10'000);

// Makes a plan of 1,000 tables of `shards` shards each.
void plan_with_ranks(benchmark::State& state) {
  embedding::ShardLayoutInterner layouts;
  embedding::ShardLayout layout;
  const auto shards = static_cast<std::uint32_t>(state.range(0));
  layout.append({1, 1, 0, 0, 1, 0, shards});
  embedding::ShardingOption option;
  option.table = embedding::TableId(std::size_t{0});
  option.sharding_type = embedding::ShardingType::kTableRowWise;
  option.layout = layouts.intern(layout);
  const std::vector<const embedding::ShardingOption*> options(1'000, &option);
  embedding::Plan plan = embedding::Plan::make(nullptr, options);
  std::vector<embedding::Rank> ranks(shards, 1);
  std::size_t at = 0;
  for (auto _ : state) {
    plan = plan.with_ranks(at, ranks);
    at = (at + 7919) % plan.size();
  }
}
BENCHMARK(plan_with_ranks)->Arg(1)->Arg(64)->Arg(1'024);

void add_repeatedly_times(benchmark::State& state) {
  const auto count = static_cast<std::uint64_t>(state.range(0));
  double value = 0.1;
  for (auto _ : state) {
    benchmark::DoNotOptimize(value);
    benchmark::DoNotOptimize(add_repeatedly(1.0, value, count));
  }
}
BENCHMARK(add_repeatedly_times)->Arg(8)->Arg(128)->Arg(100'000);

}  // namespace
