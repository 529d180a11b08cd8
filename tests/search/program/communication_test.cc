// Process groups, their rings, and the operators that use them.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "search/program/reshard_program.h"

namespace shardwright::communication_test {

namespace {

using namespace shardwright;
using namespace shardwright::program;

// Meshes of ranks {0, 1}, {1, 0} and {2, 3, 4, 5}.
ProgramSpec three_meshes() {
  ProgramSpec spec;
  for (const std::vector<Rank>& ids :
       {std::vector<Rank>{0, 1}, std::vector<Rank>{1, 0}, std::vector<Rank>{2, 3, 4, 5}}) {
    const auto extent = static_cast<std::int64_t>(ids.size());
    spec.meshes.push_back(ProcessMesh::make({extent}, ids).value());
  }
  return spec;
}

VarId add_var(ProgramSpec& spec, const char* name, MeshId mesh, Shape shape, DimsMapping mapping) {
  Variable var;
  var.name = name;
  var.shape = std::move(shape);
  var.mesh = mesh;
  var.dims_mapping = std::move(mapping);
  spec.vars.push_back(std::move(var));
  return VarId(spec.vars.size() - 1);
}

void add_op(ProgramSpec& spec, MeshId mesh, std::vector<Argument> inputs,
            std::vector<Argument> outputs) {
  Operation op;
  op.type = "op";
  op.mesh = mesh;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  spec.ops.emplace_back(BlockId(0), std::move(op));
}

// Needs a gather on ranks 0 and 1, then a message in each direction between them.
ProgramSpec gather_and_swap() {
  ProgramSpec spec = three_meshes();
  const VarId split = add_var(spec, "split", MeshId(0), {16, 8}, {0, -1});
  const VarId whole = add_var(spec, "whole", MeshId(0), {16, 8}, {0, -1});
  add_op(spec, MeshId(0), {{split, 0, {-1, -1}}}, {});
  add_op(spec, MeshId(1), {{whole, 0, {0, -1}}}, {});
  return spec;
}

void add_group(ProgramSpec& spec, const std::vector<Rank>& ranks, std::int64_t ring_id) {
  spec.communication.groups.push_back({SharedArray<Rank>(ranks), false, ring_id});
}

ReshardResult reshard(const ProgramSpec& spec, bool compat, bool whole = false) {
  ReshardOptions options;
  options.compat = compat;
  options.whole = whole;
  InlineExecutor executor;
  auto result = reshard_program(Program::make(spec).value(), options, executor);
  REQUIRE(result.ok());
  return std::move(result).value();
}

// Returns every group as text: "0 1 @12" for ranks 0 and 1 and ring 12.
std::vector<std::string> groups(const Program& program) {
  std::vector<std::string> result;
  for (const ProcessGroup& group : program.groups()) {
    std::string text;
    for (const Rank rank : group.ranks.view())
      text += std::to_string(rank) + " ";
    result.push_back(text + "@" + std::to_string(group.ring_id));
  }
  return result;
}
using Groups = std::vector<std::string>;

// Returns every operator with a ring in program order: "send_v2 @12".
std::vector<std::string> rings(const Program& program) {
  std::vector<std::string> result;
  for (OpId id = program.block(BlockId(0)).first; id.valid(); id = program.next(id)) {
    for (const auto& [name, value] : program.op(id).attributes) {
      if (name != "ring_id") continue;
      result.push_back(program.op(id).type + " @" + std::to_string(std::get<std::int64_t>(value)));
    }
  }
  return result;
}
using Rings = std::vector<std::string>;

}  // namespace

TEST_CASE("communication: without groups in the program, rings are numbered from 0") {
  const ReshardResult best = reshard(gather_and_swap(), false);
  CHECK(groups(best.ranks[0].program) == Groups{"0 1 @0", "0 1 @1", "1 0 @2"});
  CHECK(best.ranks[0].program.communication().next_ring_id == 3);
  // The programs of all ranks share the groups.
  CHECK(&best.ranks[0].program.communication() == &best.ranks[1].program.communication());
}

TEST_CASE("communication: groups of the program are used, and new ones come after them") {
  ProgramSpec spec = gather_and_swap();
  add_group(spec, {4, 5}, 11);
  add_group(spec, {0, 1}, 12);
  add_group(spec, {0, 1}, 13);
  spec.communication.next_ring_id = 20;
  for (const bool compat : {false, true}) {
    const ReshardResult result = reshard(spec, compat);
    const Groups known{"4 5 @11", "0 1 @12", "0 1 @13"};
    for (const RankProgram& rank : result.ranks) {
      Groups expected = known;
      if (!compat) expected.emplace_back("0 1 @20");
      expected.push_back("1 0 @" + std::to_string(compat ? 20 : 21));
      CHECK(groups(rank.program) == expected);
      CHECK(rank.program.communication().next_ring_id == (compat ? 21 : 22));
    }
    // The groups of the result are enough to reshard the program again.
    ProgramSpec again = spec;
    again.communication = result.ranks[0].program.communication();
    CHECK(groups(reshard(again, compat).ranks[0].program) == groups(result.ranks[0].program));
  }
  CHECK(rings(reshard(spec, true).ranks[0].program) ==
        Rings{"c_allgather @12", "send_v2 @12", "recv_v2 @20"});
}

TEST_CASE("communication: only compat mode has one group for messages and collectives") {
  CHECK(groups(reshard(gather_and_swap(), true).ranks[0].program) == Groups{"0 1 @0", "1 0 @1"});
  CHECK(groups(reshard(gather_and_swap(), false).ranks[0].program).size() == 3);
}

TEST_CASE("communication: compat mode numbers the messages of an output by receiver") {
  ProgramSpec spec = three_meshes();
  const VarId x = add_var(spec, "x", MeshId(2), {16, 8}, {-1, -1});
  add_op(spec, MeshId(0), {}, {{x, 0, {-1, -1}}});
  const ReshardResult result = reshard(spec, true, true);
  CHECK(groups(result.ranks[0].program) == Groups{"0 2 @0", "1 3 @1", "0 4 @2", "1 5 @3"});
  CHECK(rings(result.ranks[0].program) == Rings{"send_v2 @2", "send_v2 @0"});
}

TEST_CASE("communication: recv_v2 has an input unless the program says otherwise") {
  ProgramSpec spec = three_meshes();
  const VarId x = add_var(spec, "x", MeshId(0), {16, 8}, {-1, -1});
  add_op(spec, MeshId(2), {{x, 0, {-1, -1}}}, {});
  for (const bool has_input : {false, true}) {
    spec.communication.recv_has_input = has_input;
    for (const bool compat : {false, true}) {
      const ReshardResult result = reshard(spec, compat);
      const Program& received = result.ranks[2].program;
      const Operation& recv = received.op(received.block(BlockId(0)).first);
      REQUIRE(recv.type == "recv_v2");
      CHECK(recv.inputs.size() == (has_input ? 1 : 0));
      CHECK(recv.outputs.size() == 1);
      CHECK(received.communication().recv_has_input == has_input);
    }
  }
}

TEST_CASE("communication: compat mode moves no tensor without dimensions, as Paddle") {
  ProgramSpec spec = three_meshes();
  const VarId x = add_var(spec, "x", MeshId(0), {}, {});
  add_op(spec, MeshId(2), {{x, 0, {}}}, {{x, 0, {}}});
  CHECK(reshard(spec, true, true).ranks[0].counters.inserted_ops == 0);
  CHECK(reshard(spec, false, true).ranks[0].counters.inserted_ops > 0);
  const ReshardResult compat = reshard(spec, true);
  const ReshardResult best = reshard(spec, false);
  for (std::size_t i = 0; i < compat.ranks.size(); ++i) {
    CHECK(compat.ranks[i].counters.planner_calls == 0);
    CHECK(compat.ranks[i].counters.inserted_ops == 0);
    CHECK(best.ranks[i].counters.planner_calls == 1);  // ranks without a step count one call, too
  }
  CHECK(best.ranks[2].counters.inserted_ops > 0);
}

}  // namespace shardwright::communication_test
