#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/program/edit_log.h"
#include "tests/support/program/program_builders.h"

namespace shardwright::program_test {

using namespace shardwright::program;
using shardwright::test_support::chain_program;
using shardwright::test_support::listing;

TEST_CASE("program: make checks references and names the place") {
  ProgramSpec spec;
  spec.meshes.push_back(ProcessMesh::make({2}, {0, 1}).value());
  Variable var;
  var.name = "x";
  var.shape = {4};
  var.mesh = MeshId(0);
  var.dims_mapping = {3};
  spec.vars.push_back(var);
  CHECK(Program::make(spec).error().where == "/vars/0/dims_mapping/0");
  spec.vars[0].dims_mapping = {0};
  CHECK(Program::make(spec).ok());
  Operation op;
  op.type = "relu";
  op.inputs.push_back({VarId(7), 0, {}});
  spec.ops.emplace_back(BlockId(0), op);
  CHECK(Program::make(spec).error().where == "/ops/0/inputs/0/var");
}

TEST_CASE("program: make refuses groups that no operator could name") {
  const auto where = [](std::vector<Rank> ranks, std::int64_t ring_id, std::int64_t next_ring_id) {
    ProgramSpec spec;
    spec.communication.groups.push_back({SharedArray<Rank>(std::vector<Rank>{0, 1}), false, 12});
    spec.communication.groups.push_back({SharedArray<Rank>(ranks), true, ring_id});
    spec.communication.next_ring_id = next_ring_id;
    const Result<Program> program = Program::make(std::move(spec));
    return program.ok() ? "" : program.error().where;
  };
  CHECK(where({1, 0}, 13, 14) == "");
  CHECK(where({0, 1}, 13, 14) == "");  // two groups may have the same ranks
  CHECK(where({}, 13, 14) == "/groups/1/ranks");
  CHECK(where({1, 1}, 13, 14) == "/groups/1/ranks");
  CHECK(where({-1}, 13, 14) == "/groups/1/ranks");
  CHECK(where({1, 0}, 12, 14) == "/groups/1/ring_id");
  CHECK(where({1, 0}, 14, 14) == "/groups/1/ring_id");
  CHECK(where({1, 0}, -1, 14) == "/groups/1/ring_id");
  CHECK(where({1, 0}, 13, 12) == "/groups/0/ring_id");
  CHECK(where({1, 0}, 13, -1) == "/next_ring_id");
}

TEST_CASE("process mesh: make refuses anything but a grid of ranks") {
  CHECK(ProcessMesh::make({}, {}).error().where == "/shape");
  CHECK(ProcessMesh::make({2}, {0}).error().where == "/ids");
  CHECK(ProcessMesh::make({2}, {0, 0}).error().where == "/ids");
  CHECK(ProcessMesh::make({2}, {0, -1}).error().where == "/ids");
  const ProcessMesh mesh = ProcessMesh::make({2, 3}, {9, 8, 7, 6, 5, 4}).value();
  CHECK(mesh.position_of(6) == 3);
  CHECK(mesh.coordinate(5, 0) == 1);
  CHECK(mesh.coordinate(5, 1) == 2);
}

TEST_CASE("placement: check refuses a mesh without a rank") {
  CHECK(check({ProcessMesh(), {-1}, {}}, 1).error().where == "/mesh");
  CHECK(check({ProcessMesh::make({1}, {0}).value(), {-1}, {}}, 1).ok());
}

TEST_CASE("edit log: reads see pending edits, and the base version does not change") {
  const Program program = chain_program(10);
  const std::vector<std::string> before = listing(program);
  EditLog log(program);
  Variable copy;
  copy.name = "copy";
  copy.shape = {4};
  copy.is_local = true;
  const VarId var = log.create_var(copy);
  Operation op;
  op.type = "assign";
  op.inputs.push_back({VarId(3), 0, {}});
  op.outputs.push_back({var, 0, {}});
  const OpId first = log.insert_before(OpId(3), op);
  op.type = "second";
  const OpId second = log.insert_before(OpId(3), op);
  op.type = "after";
  const OpId after = log.insert_after(OpId(3), op);
  log.rename_input(OpId(3), VarId(3), var);
  CHECK(log.next(OpId(2)) == first);
  CHECK(log.next(first) == second);  // edits at one anchor keep the order of the log
  CHECK(log.next(second) == OpId(3));
  CHECK(log.next(OpId(3)) == after);
  CHECK(log.op(OpId(3)).inputs[0].var == var);
  CHECK(log.uses(VarId(3)) == std::vector<OpId>{first, second, after});
  CHECK(log.uses(var) == std::vector<OpId>{OpId(3)});
  CHECK(listing(program) == before);
  const Program next = log.commit().value();
  CHECK(listing(program) == before);
  CHECK(listing(next).size() == before.size() + 3);
  CHECK(next.block(BlockId(0)).num_ops == 13);
  CHECK(log.counters().inserted_ops == 3);
  CHECK(log.counters().edits == 5);
  CHECK_FALSE(log.commit().ok());
}

TEST_CASE("edit log: a commit shares what it did not touch") {
  const Program program = chain_program(2000, 3);
  EditLog log(program);
  Operation op;
  op.type = "nop";
  log.insert_before(OpId(5), op);
  const Program next = log.commit().value();
  CHECK(log.counters().mirror_syncs == 1);
  CHECK(next.identity(BlockId(0)) != program.identity(BlockId(0)));
  CHECK(next.identity(BlockId(1)) == program.identity(BlockId(1)));
  CHECK(next.identity(BlockId(2)) == program.identity(BlockId(2)));
  std::size_t shared = 0;
  for (std::size_t i = 0; i < program.op_capacity(); ++i) {
    shared += next.identity(OpId(i)) == program.identity(OpId(i)) ? 1U : 0U;
  }
  CHECK(shared == program.op_capacity());
  CHECK(next.op_page(OpId(1000)) == program.op_page(OpId(1000)));
  CHECK(next.op_page(OpId(5)) != program.op_page(OpId(5)));
  std::size_t shared_vars = 0;
  for (std::size_t i = 0; i < program.var_capacity(); ++i) {
    shared_vars += next.identity(VarId(i)) == program.identity(VarId(i)) ? 1U : 0U;
  }
  CHECK(shared_vars == program.var_capacity());
}

TEST_CASE("edit log: a commit synchronises the mirror once per touched block") {
  const Program program = chain_program(30, 3);
  EditLog log(program);
  Operation op;
  op.type = "nop";
  for (int i = 0; i < 5; ++i)
    log.insert_before(OpId(1), op);
  for (int i = 0; i < 5; ++i)
    log.insert_before(OpId(25), op);
  const Result<Program> next = log.commit();
  REQUIRE(next.ok());
  CHECK(log.counters().mirror_syncs == 2);
  // Counts every operator and variable of the touched blocks.
  std::uint64_t items = 0;
  for (const OpId touched : {OpId(1), OpId(25)}) {
    const BlockId block = program.block_of(touched);
    for (OpId id = next->block(block).first; id.valid(); id = next->next(id))
      ++items;
    for (std::size_t i = 0; i < next->var_capacity(); ++i)
      items += next->has(VarId(i)) && next->var(VarId(i)).block == block ? 1U : 0U;
  }
  CHECK(log.counters().items_scanned == items);
}

TEST_CASE("edit log: rollback drops all edits, and the next batch works") {
  const Program program = chain_program(10);
  const std::vector<std::string> before = listing(program);
  EditLog log(program);
  log.remove(OpId(4));
  log.rollback();
  CHECK_FALSE(log.commit().ok());
  EditLog again(program);
  again.remove(OpId(4));
  const Program next = again.commit().value();
  CHECK(listing(program) == before);
  CHECK(listing(next).size() == before.size() - 1);
  CHECK_FALSE(next.has(OpId(4)));
  CHECK(next.uses(VarId(4)).size() == 0);
}

TEST_CASE("edit log: attributes are set on a copy") {
  const Program program = chain_program(3);
  EditLog log(program);
  log.set_attribute(OpId(1), "axis", std::int64_t{2});
  log.set_attribute(OpId(1), "axis", std::int64_t{3});
  const Program next = log.commit().value();
  CHECK(program.op(OpId(1)).attributes.empty());
  REQUIRE(next.op(OpId(1)).attributes.size() == 1);
  CHECK(std::get<std::int64_t>(next.op(OpId(1)).attributes[0].second) == 3);
}

}  // namespace shardwright::program_test
