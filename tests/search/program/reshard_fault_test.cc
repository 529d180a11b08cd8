// A batch that fails or is cancelled at any point leaves the base program unchanged.
#include <doctest/doctest.h>

#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "search/program/reshard_program.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/program/program_builders.h"

namespace shardwright::reshard_fault_test {

namespace {

using namespace shardwright;
using namespace shardwright::program;
using test_support::chain_program;
using test_support::listing;

// Records the contents and the storage of all operators and variables.
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

// A program with gathers, messages, control flow, outputs on other ranks, and operators to remove.
Program busy_program() {
  ProgramSpec spec;
  spec.meshes.push_back(ProcessMesh::make({2}, {0, 1}).value());
  spec.meshes.push_back(ProcessMesh::make({2}, {2, 3}).value());
  spec.meshes.push_back(ProcessMesh::make({4}, {0, 1, 2, 3}).value());
  for (std::size_t i = 0; i < 8; ++i) {
    Variable var;
    var.name = "v" + std::to_string(i);
    var.shape = {16, 8};
    var.mesh = MeshId(i % 2);
    var.dims_mapping = {static_cast<std::int8_t>(i < 4 ? 0 : -1), -1};
    spec.vars.push_back(std::move(var));
  }
  spec.block_parents.emplace_back(std::size_t{0});
  for (std::size_t i = 0; i < 16; ++i) {
    Operation op;
    op.number = static_cast<std::int64_t>(i);
    op.type = "op";
    op.mesh = MeshId(i / 2 % 2);
    op.inputs.push_back({VarId(i % 4), 0, {-1, -1}});
    op.inputs.push_back({VarId(4 + i % 4), 1, {-1, 0}});
    if (i % 3 == 0) op.outputs.push_back({VarId(4 + i % 3), 0, {-1, -1}});
    if (i == 8) {
      op.mesh = MeshId(2);
      op.sub_block = BlockId(1);
      op.condition = VarId(7);
      for (Argument& input : op.inputs)
        input.dims_mapping.clear();
    }
    spec.ops.emplace_back(BlockId(i > 8 && i < 12 ? 1 : 0), std::move(op));
  }
  return Program::make(std::move(spec)).value();
}

// Requests a stop before the given range.
class StoppingExecutor final : public Executor {
 public:
  explicit StoppingExecutor(std::size_t range) : left_(range) {}
  unsigned workers() const override { return 1; }
  std::stop_token token() const { return source_.get_token(); }

 protected:
  std::unique_ptr<RunningLoop> begin(std::size_t count, RangeSizes, RangeBody body) override {
    for (std::size_t i = 0; i < count; ++i) {
      if (left_-- == 0) source_.request_stop();
      body(0, i, i + 1);
    }
    return nullptr;
  }

 private:
  std::size_t left_;
  std::stop_source source_;
};

}  // namespace

TEST_CASE("reshard fault: running out of memory at any allocation leaves the version unchanged") {
  const Program program = busy_program();
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

TEST_CASE("reshard fault: cancelling a batch at any edit leaves the version unchanged") {
  const Program program = busy_program();
  const Snapshot before(program);
  InlineExecutor executor;
  std::set<Edit::Kind> kinds;
  for (const Rank rank : {0, 2}) {
    ReshardOptions options;
    options.whole = true;
    options.ranks = {rank};
    const auto whole = reshard_program(program, options, executor);
    REQUIRE(whole.ok());
    const std::uint64_t edits = whole->ranks[0].counters.edits;
    REQUIRE(edits > 20);
    for (const Edit& edit : whole->ranks[0].edits)
      kinds.insert(edit.kind);
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
  CHECK(kinds.size() >= 7);
}

TEST_CASE("reshard fault: a stop half-way leaves the version unchanged, and the next batch works") {
  const Program program = busy_program();
  const Snapshot before(program);
  InlineExecutor plain;
  const auto expected = reshard_program(program, {}, plain);
  REQUIRE(expected.ok());
  std::size_t stopped_batches = 0;
  for (std::size_t range = 0;; ++range) {
    StoppingExecutor executor(range);
    ReshardOptions options;
    options.stop = executor.token();
    const auto result = reshard_program(program, options, executor);
    CHECK(Snapshot(program) == before);
    if (result.ok()) break;
    CHECK(result.error().code == ErrorCode::kStopped);
    ++stopped_batches;
  }
  CHECK(stopped_batches > expected->ranks.size());
  const auto again = reshard_program(program, {}, plain);
  REQUIRE(again.ok());
  for (std::size_t i = 0; i < again->ranks.size(); ++i) {
    CHECK(listing(again->ranks[i].program) == listing(expected->ranks[i].program));
  }
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

}  // namespace shardwright::reshard_fault_test
