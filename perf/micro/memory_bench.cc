// Measures the speed of memory, to compare it with the bytes touched per placed shard.
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

// Sums a block sequentially. The argument is its size in KiB.
void memory_read(benchmark::State& state) {
  std::vector<std::uint64_t> block(static_cast<std::size_t>(state.range(0)) * 1024 / 8, 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(std::accumulate(block.begin(), block.end(), std::uint64_t{0}));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 1024);
}
BENCHMARK(memory_read)->ArgName("KiB")->Arg(16)->Arg(256)->Arg(65'536);

// Follows dependent loads through the cache lines of a block. The argument is its size in KiB.
void memory_latency(benchmark::State& state) {
  constexpr std::size_t kLine = 64 / sizeof(std::size_t);
  const std::size_t lines = static_cast<std::size_t>(state.range(0)) * 1024 / 64;
  std::vector<std::size_t> block(lines * kLine, 0);
  // A stride that shares no factor with a power of two visits every line.
  const std::size_t stride = (lines * 5 / 8) | 1;
  for (std::size_t i = 0; i < lines; ++i)
    block[i * kLine] = (i + stride) % lines * kLine;
  std::size_t at = 0;
  for (auto _ : state) {
    at = block[at];
    benchmark::DoNotOptimize(at);
  }
}
BENCHMARK(memory_latency)->ArgName("KiB")->Arg(16)->Arg(256)->Arg(65'536);

}  // namespace
