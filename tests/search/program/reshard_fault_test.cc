// A batch that fails or is cancelled anywhere leaves the version below as it was.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "search/program/reshard_program.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/program_builders.h"

namespace {

using namespace shardwright;
using namespace shardwright::program;
using test_support::chain_program;
using test_support::listing;

// Contents and storage of everything.
struct Snapshot {
  explicit Snapshot(const Program& program) : lines(listing(program)) {
    for (std::size_t i = 0; i < program.op_capacity(); ++i) {
      storage.push_back(program.identity(OpId(i)));
      storage.push_back(program.op_page(OpId(i)));
    }
    for (std::size_t i = 0; i < program.var_capacity(); ++i) {
      storage.push_back(program.identity(VarId(i)));
      storage.push_back(program.uses(VarId(i)).identity());
    }
    for (std::size_t i = 0; i < program.num_blocks(); ++i) {
      storage.push_back(program.identity(BlockId(i)));
    }
    groups = program.groups().size();
  }
  friend bool operator==(const Snapshot&, const Snapshot&) = default;

  std::vector<std::string> lines;
  std::vector<Identity> storage;
  std::size_t groups = 0;
};

}  // namespace

TEST_CASE("reshard fault: out of memory at every allocation leaves the version untouched") {
  const Program program = chain_program(24, 2, 3);
  const Snapshot before(program);
  InlineExecutor executor;
  for (const bool compat : {false, true}) {
    ReshardOptions options;
    options.compat = compat;
    options.whole = true;
    const auto expected = reshard_program(program, options, executor);
    REQUIRE(expected.ok());
    const auto expected_lines = listing(expected->ranks[0].program);
    std::size_t changed = 0;
    const test_support::AllocationScope scope;
    const std::uint64_t failures = test_support::fail_every_allocation(
        [&] { test_support::keep(reshard_program(program, options, executor)); },
        [&] { changed += Snapshot(program) == before ? 0U : 1U; });
    CHECK(scope.live_bytes() == 0);
    CHECK(failures > 200);
    CHECK(changed == 0);
    const auto next = reshard_program(program, options, executor);
    REQUIRE(next.ok());
    CHECK(listing(next->ranks[0].program) == expected_lines);
  }
}

TEST_CASE("reshard fault: a batch cancelled at every edit leaves the version untouched") {
  const Program program = chain_program(24, 2, 3);
  const Snapshot before(program);
  InlineExecutor executor;
  ReshardOptions options;
  options.ranks = {0};
  const auto whole = reshard_program(program, options, executor);
  REQUIRE(whole.ok());
  const std::uint64_t edits = whole->ranks[0].counters.edits;
  REQUIRE(edits > 20);
  for (std::uint64_t limit = 0; limit < edits; ++limit) {
    options.edit_limit = limit;
    const auto stopped = reshard_program(program, options, executor);
    REQUIRE(!stopped.ok());
    CHECK(stopped.error().code == ErrorCode::kStopped);
    CHECK(Snapshot(program) == before);
  }
  options.edit_limit = edits;
  const auto again = reshard_program(program, options, executor);
  REQUIRE(again.ok());
  CHECK(listing(again->ranks[0].program) == listing(whole->ranks[0].program));
}

TEST_CASE("reshard fault: a stop request ends the batch") {
  const Program program = chain_program(24, 1, 3);
  std::stop_source source;
  source.request_stop();
  ReshardOptions options;
  options.stop = source.get_token();
  InlineExecutor executor;
  const auto stopped = reshard_program(program, options, executor);
  REQUIRE(!stopped.ok());
  CHECK(stopped.error().code == ErrorCode::kStopped);
}

TEST_CASE("reshard fault: a log whose edit failed does not commit") {
  const Program program = chain_program(8);
  EditLog log(program);
  log.limit(1);
  log.remove(OpId(7));
  CHECK_THROWS_AS(log.remove(OpId(6)), EditLimitReached);
  const auto result = log.commit();
  REQUIRE(!result.ok());
  CHECK(result.error().code == ErrorCode::kInvalidInput);
}
