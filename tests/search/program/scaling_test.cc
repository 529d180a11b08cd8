// The work grows in proportion to the number of insertions.
#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "search/program/reshard_program.h"
#include "tests/support/program/program_builders.h"

namespace shardwright::scaling_test {

namespace {

using namespace shardwright;
using namespace shardwright::program;
using test_support::chain_program;
using test_support::listing;

struct Measured {
  ReshardCounters counters;
  double seconds = 0;
  std::vector<std::string> ops;
};

Measured measure(const Program& program, SyncMode sync, bool list) {
  InlineExecutor executor;
  ReshardOptions options;
  options.sync = sync;
  options.ranks = {0};
  const auto start = std::chrono::steady_clock::now();
  const auto result = reshard_program(program, options, executor);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  REQUIRE(result.ok());
  Measured measured{result->ranks[0].counters, elapsed.count(), {}};
  if (list) measured.ops = listing(result->ranks[0].program);
  return measured;
}

}  // namespace

TEST_CASE("scaling: scanned items follow the formulas, and both modes make the same program") {
  for (const std::size_t size : {200U, 400U, 800U}) {
    const Program program = chain_program(size, 1, 4);
    const Measured legacy = measure(program, SyncMode::kPerInsert, true);
    const Measured batch = measure(program, SyncMode::kPerCommit, true);
    const std::uint64_t inserted = size / 4;
    REQUIRE(batch.counters.inserted_ops == inserted);
    REQUIRE(legacy.counters.inserted_ops == inserted);
    CHECK(legacy.ops == batch.ops);
    CHECK(legacy.counters.edits == batch.counters.edits);
    // Each inserted operator adds a variable, which the next synchronisation of the mirror reads.
    const std::uint64_t base = 2 * size + 1;
    std::uint64_t expected = 0;
    for (std::uint64_t k = 0; k < inserted; ++k)
      expected += base + 2 * k + 1;
    CHECK(legacy.counters.items_scanned == expected);
    CHECK(legacy.counters.mirror_syncs == inserted);
    CHECK(batch.counters.items_scanned == base + 2 * inserted);
    CHECK(batch.counters.mirror_syncs == 1);
  }
}

TEST_CASE("scaling: a hundred thousand insertions into a million operators") {
  std::uint64_t previous = 0;
  for (const std::size_t size : {250'000U, 500'000U, 1'000'000U}) {
    const Program program = chain_program(size, 1, 10);
    const Measured batch = measure(program, SyncMode::kPerCommit, false);
    CHECK(batch.counters.inserted_ops == size / 10);
    CHECK(batch.counters.items_scanned == 2 * size + 1 + 2 * (size / 10));
    CHECK(batch.counters.edits == 4 * (size / 10));
    if (previous != 0) CHECK(batch.counters.items_scanned < 2 * previous + 10);
    previous = batch.counters.items_scanned;
    // The limit is far above what any machine needs, but a quadratic algorithm would take hours.
    CHECK(batch.seconds < 20);
    MESSAGE(size << " operators, " << size / 10 << " inserted: " << batch.seconds << " s");
  }
  for (const std::size_t size : {1'000U, 2'000U, 4'000U, 8'000U}) {
    const Program program = chain_program(size, 1, 10);
    const Measured legacy = measure(program, SyncMode::kPerInsert, false);
    const Measured batch = measure(program, SyncMode::kPerCommit, false);
    CHECK(legacy.counters.items_scanned > batch.counters.items_scanned * (size / 20));
    MESSAGE(size << " operators, " << size / 10 << " inserted: legacy " << legacy.seconds
                 << " s, batch " << batch.seconds << " s");
  }
}

}  // namespace shardwright::scaling_test
