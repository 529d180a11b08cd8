// Whole programs, executed on arrays on every rank.
#include <doctest/doctest.h>

#include <set>
#include <utility>

#include "tests/support/program/program_builders.h"
#include "tests/support/program/program_execution.h"
#include "tests/support/program/random_program.h"
#include "tests/support/program/transformer_program.h"

namespace shardwright::execution_test {

namespace {

using namespace shardwright;
using namespace shardwright::program;
using test_support::execute;
using test_support::listing;

ReshardResult reshard(const Program& program, const ReshardOptions& options) {
  InlineExecutor executor;
  auto result = reshard_program(program, options, executor);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  return std::move(result).value();
}

// Checks that a batch changed exactly what its edits name, and that it synchronised each touched
// block once.
bool shares_the_rest(const Program& base, const RankProgram& rank) {
  std::set<OpId> ops;
  std::set<VarId> vars;
  for (const Edit& edit : rank.edits) {
    const bool inserts =
        edit.kind == Edit::Kind::kInsertBefore || edit.kind == Edit::Kind::kInsertAfter;
    if (edit.anchor.valid() && !inserts) ops.insert(edit.anchor);
    if (edit.kind == Edit::Kind::kRemoveVar || edit.kind == Edit::Kind::kPlaceVar) {
      vars.insert(edit.var);
    }
  }
  bool shared = true;
  for (std::size_t i = 0; i < base.op_capacity(); ++i) {
    const bool same = base.identity(OpId(i)) == rank.program.identity(OpId(i));
    shared = shared && same != ops.contains(OpId(i));
  }
  for (std::size_t i = 0; i < base.var_capacity(); ++i) {
    const bool same = base.identity(VarId(i)) == rank.program.identity(VarId(i));
    shared = shared && same != vars.contains(VarId(i));
  }
  std::uint64_t touched = 0;
  for (std::size_t i = 0; i < base.num_blocks(); ++i) {
    touched += base.identity(BlockId(i)) == rank.program.identity(BlockId(i)) ? 0U : 1U;
  }
  return shared && rank.counters.mirror_syncs == touched && rank.counters.commits == 1;
}

// A tensor x is split by rows, and an operator needs it replicated.
Program gather_program() {
  ProgramSpec spec;
  spec.meshes.push_back(ProcessMesh::make({2}, {0, 1}).value());
  Variable var;
  var.name = "x";
  var.shape = {4, 2};
  var.mesh = MeshId(0);
  var.dims_mapping = {0, -1};
  spec.vars.push_back(std::move(var));
  Operation op;
  op.type = "reads";
  op.mesh = MeshId(0);
  op.inputs.push_back({VarId(0), 0, {-1, -1}});
  spec.ops.emplace_back(BlockId(0), std::move(op));
  return Program::make(std::move(spec)).value();
}

}  // namespace

TEST_CASE("execution: it detects data that is missing, wrong or never arrives") {
  const Program program = gather_program();
  const ReshardResult good = reshard(program, {});
  const auto execution = execute(program, good);
  CHECK(execution.problem.empty());
  CHECK(execution.inputs == 2);
  CHECK(execution.collectives == 1);
  ReshardResult bad = good;
  EditLog unread(good.ranks[0].program);
  unread.rename_input(OpId(0), good.ranks[0].program.op(OpId(0)).inputs[0].var, VarId(0));
  bad.ranks[0].program = unread.commit().value();
  CHECK(execute(program, bad).problem.ends_with("reads wrong data for x"));
  bad = good;
  EditLog alone(good.ranks[1].program);
  alone.remove(OpId(1));
  bad.ranks[1].program = alone.commit().value();
  CHECK_FALSE(execute(program, bad).problem.empty());
  bad.ranks[0].program = program;
  bad.ranks[1].program = program;
  CHECK(execute(program, bad).problem.ends_with("reads wrong data for x"));
}

TEST_CASE(
    "execution: random programs read the promised data, and edits share the rest of the program") {
  std::size_t inputs = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const bool whole = seed % 2 == 1;
    const Program program = test_support::RandomProgram(seed, whole).make();
    ReshardOptions options;
    options.whole = whole;
    const ReshardResult batch = reshard(program, options);
    const auto execution = execute(program, batch);
    CHECK(execution.problem == "");
    inputs += execution.inputs;
    options.sync = SyncMode::kPerInsert;
    const ReshardResult legacy = reshard(program, options);
    for (std::size_t i = 0; i < batch.ranks.size(); ++i) {
      CHECK(shares_the_rest(program, batch.ranks[i]));
      CHECK(listing(batch.ranks[i].program) == listing(legacy.ranks[i].program));
      CHECK(legacy.ranks[i].counters.mirror_syncs == legacy.ranks[i].counters.inserted_ops);
      CHECK(legacy.ranks[i].counters.edits == batch.ranks[i].counters.edits);
    }
  }
  CHECK(inputs > 8000);
}

TEST_CASE("execution: a transformer of 12 layers on two stages of two ranks runs") {
  const Program program = test_support::TransformerProgram::make(12);
  for (const bool compat : {false, true}) {
    for (const SyncMode sync : {SyncMode::kPerCommit, SyncMode::kPerInsert}) {
      ReshardOptions options;
      options.compat = compat;
      options.whole = true;
      options.sync = sync;
      const auto execution = execute(program, reshard(program, options));
      CHECK(execution.problem == "");
      CHECK(execution.operators == 12 * 8 * 2);
      CHECK(execution.messages == 2);
      CHECK(execution.collectives == 12 * 2);
    }
  }
}

}  // namespace shardwright::execution_test
