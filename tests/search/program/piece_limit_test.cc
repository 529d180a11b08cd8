// The limit on the number of pieces of a split: a part of more equal pieces is cut out by a slice.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "search/program/emitter.h"
#include "search/program/reshard_program.h"
#include "tests/support/program/inserted_operator.h"
#include "tests/support/program/program_execution.h"

namespace shardwright::piece_limit_test {

namespace {

using namespace shardwright;
using namespace shardwright::program;

Variable rows_of(const char* name, std::int64_t rows, MeshId mesh) {
  Variable variable;
  variable.name = name;
  variable.shape = {rows, 1};
  variable.mesh = mesh;
  variable.dims_mapping = {0, -1};
  return variable;
}

// Ranks 0 to 3 hold `x` and write `y`. An operator on ranks 4 to 9 reads both. With 12 k + 4 rows,
// as in all cases here, rank 2 holds 3 k + 1 rows, and sends the first of them to rank 6.
Program program_of(std::int64_t rows) {
  ProgramSpec spec;
  const MeshId four(0);
  const MeshId six(1);
  spec.meshes = {ProcessMesh::make({4}, {0, 1, 2, 3}).value(),
                 ProcessMesh::make({6}, {4, 5, 6, 7, 8, 9}).value()};
  spec.vars = {rows_of("x", rows, four), rows_of("y", rows, six)};
  Operation writes;
  writes.type = "writes";
  writes.mesh = four;
  writes.outputs = {{VarId(1), 0, {0, -1}}};
  Operation reads;
  reads.type = "reads";
  reads.mesh = six;
  reads.inputs = {{VarId(0), 0, {0, -1}}, {VarId(1), 1, {0, -1}}};
  spec.ops.emplace_back(BlockId(0), std::move(writes));
  spec.ops.emplace_back(BlockId(0), std::move(reads));
  return Program::make(std::move(spec)).value();
}

ReshardResult reshard(const Program& program) {
  InlineExecutor executor;
  ReshardOptions options;
  options.whole = true;
  auto result = reshard_program(program, options, executor);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  return std::move(result).value();
}

std::vector<Operation> ops_of(const Program& program, const std::string& type) {
  std::vector<Operation> found;
  for (OpId id = program.block(BlockId(0)).first; id.valid(); id = program.next(id)) {
    if (program.op(id).type == type) found.push_back(program.op(id));
  }
  return found;
}

// Checks that rank 2 cuts the row for rank 6 out of `x` and `y` with slices.
void check_slices_row(const Program& rank_2) {
  CHECK(ops_of(rank_2, "split").empty());
  const auto is_row = [&](const Operation& slice) {
    return test_support::list_attribute(slice, "starts") == std::vector<std::int64_t>{0, 0} &&
           test_support::list_attribute(slice, "ends") == std::vector<std::int64_t>{1, 1} &&
           rank_2.var(slice.outputs[0].var).shape == Shape{1, 1};
  };
  const std::vector<Operation> slices = ops_of(rank_2, "slice");
  CHECK(std::count_if(slices.begin(), slices.end(), is_row) == 2);
}

void check_runs(const Program& program, const ReshardResult& result) {
  const test_support::Execution execution = test_support::execute(program, result);
  CHECK(execution.problem == "");
  CHECK(execution.inputs == 2 * 6);
}

constexpr std::int64_t kMostRows = 4 * kMaxPieces;
constexpr std::int64_t kManyRows = 1'000'000;
constexpr std::int64_t kHugeRows = std::int64_t{1} << 40;
static_assert(kMostRows % 12 == 4 && kManyRows % 12 == 4 && kHugeRows % 12 == 4);

}  // namespace

TEST_CASE("piece limit: a row is split off as one of as many pieces as a split may have") {
  const Program program = program_of(kMostRows);
  const ReshardResult result = reshard(program);
  const std::vector<Operation> splits = ops_of(result.ranks[2].program, "split");
  REQUIRE(splits.size() == 2);
  for (const Operation& split : splits)
    CHECK(split.outputs.size() == kMaxPieces);
  check_runs(program, result);
}

TEST_CASE("piece limit: a row that would be one of more pieces is sliced") {
  for (const std::int64_t rows : {kMostRows + 12, kManyRows}) {
    const Program program = program_of(rows);
    const ReshardResult result = reshard(program);
    check_slices_row(result.ranks[2].program);
    check_runs(program, result);
  }
}

TEST_CASE("piece limit: no number of rows is too large") {
  check_slices_row(reshard(program_of(kHugeRows)).ranks[2].program);
}

}  // namespace shardwright::piece_limit_test
