// Benchmarks of parts of the search: an estimate, the device tree, the group order, a proposal.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "perf/micro/proposal_walk.h"
#include "search/embedding/compat/estimate.h"
#include "search/embedding/compat/placement.h"

namespace {

using namespace shardwright;
using namespace shardwright::perf;

// Returns a counter that Google Benchmark prints as seconds per item.
benchmark::Counter seconds_per(double things) {
  return benchmark::Counter(things, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void estimate_one_option(benchmark::State& state) {
  const Workload workload = mix_workload(Mix::kDefault, 50, state.range(0));
  const auto space = enumerate_inline(workload);
  const embedding::Estimator estimator(*workload.problem);
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(estimator.estimate(space->options()[next]));
    next = next + 1 == space->size() ? 0 : next + 1;
  }
}
BENCHMARK(estimate_one_option)->ArgName("ranks")->Arg(16)->Arg(1'024);

// Measures what every placed shard waits for: the rank with the least load gets more load, and the
// tournament tree finds the next one.
void device_tree_replay(benchmark::State& state) {
  const auto devices = static_cast<std::uint32_t>(state.range(0));
  embedding::DeviceTree tree(devices);
  std::vector<double> loads(devices);
  for (std::uint32_t device = 0; device < devices; ++device) {
    loads[device] = 1.0 + 0.37 * (device % 7);
    tree.set(device, loads[device]);
  }
  tree.rebuild();
  for (auto _ : state) {
    const std::uint32_t winner = tree.winner();
    loads[winner] += 1.0 + 0.01 * winner;
    tree.update(winner, loads[winner]);
  }
  benchmark::DoNotOptimize(tree.winner());
}
BENCHMARK(device_tree_replay)->ArgName("ranks")->Arg(16)->Arg(64)->Arg(1'024);

// Switches one table to another option and back, then goes on to another table.
void group_order_change(benchmark::State& state) {
  const Workload workload =
      mix_workload(Mix::kTableWise, static_cast<std::size_t>(state.range(0)), 16);
  const embedding::OptionPool pool(enumerate_inline(workload));
  embedding::GroupOrder order(pool, embedding::PartitionerSpec::SortBy::kStorage, false);
  std::vector<embedding::OptionId> proposal;
  for (const auto& table : pool.tables())
    proposal.push_back(table.options.front());
  order.reset(proposal);
  std::size_t at = 0;
  bool other = false;
  for (auto _ : state) {
    const embedding::OptionId before = proposal[at];
    const auto& options = pool.tables()[at].options;
    proposal[at] = other ? options.front() : options.back();
    order.change(proposal, static_cast<std::uint32_t>(at), before);
    if (other) at = (at + 7919) % proposal.size();
    other = !other;
  }
}
BENCHMARK(group_order_change)->ArgName("tables")->Arg(100)->Arg(1'000)->Arg(5'000);

// Evaluates about 16 proposals of 2,000 tables. Ranks hold several shards.
void evaluate_proposal(benchmark::State& state, Mix mix) {
  constexpr std::size_t kTables = 2'000;
  const std::int64_t shards_per_table =
      mix == Mix::kTableWise ? 1 : (mix == Mix::kTableRowWise ? 8 : state.range(0));
  ProposalWalk walk(mix_workload(mix, kTables, state.range(0)),
                    16 * kTables * static_cast<std::uint64_t>(shards_per_table));
  for (auto _ : state)
    walk.evaluate_all();
  const auto rounds = static_cast<double>(state.iterations());
  const auto proposals = static_cast<double>(walk.size());
  state.counters["per_shard"] = seconds_per(rounds * static_cast<double>(walk.finish()));
  state.counters["per_proposal"] = seconds_per(rounds * proposals);
}
BENCHMARK_CAPTURE(evaluate_proposal, table_wise, Mix::kTableWise)
    ->ArgName("ranks")
    ->Arg(16)
    ->Arg(64)
    ->Arg(1'024)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_proposal, table_row_wise, Mix::kTableRowWise)
    ->ArgName("ranks")
    ->Arg(16)
    ->Arg(64)
    ->Arg(1'024)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_proposal, row_wise, Mix::kRowWise)
    ->ArgName("ranks")
    ->Arg(16)
    ->Arg(64)
    ->Arg(1'024)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_proposal, default_mix, Mix::kDefault)
    ->ArgName("ranks")
    ->Arg(16)
    ->Arg(64)
    ->Arg(1'024)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
