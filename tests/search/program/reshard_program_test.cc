#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "search/program/reshard_program.h"
#include "tests/support/program/program_builders.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::reshard_program_test {

namespace {

using namespace shardwright;
using namespace shardwright::program;
using test_support::listing;

// Builds programs whose operators and variables are named.
class Builder {
 public:
  MeshId mesh(std::vector<std::int64_t> shape, std::vector<Rank> ids) {
    spec.meshes.push_back(ProcessMesh::make(std::move(shape), std::move(ids)).value());
    return MeshId(spec.meshes.size() - 1);
  }
  VarId var(const char* name, MeshId mesh, DimsMapping mapping,
            DataType type = DataType::kFloat32) {
    Variable variable;
    variable.name = name;
    variable.shape = {16, 8};
    variable.mesh = mesh;
    variable.type = type;
    variable.dims_mapping = mapping;
    spec.vars.push_back(std::move(variable));
    return VarId(spec.vars.size() - 1);
  }
  Operation& op(const char* type, MeshId mesh, std::vector<Argument> inputs,
                std::vector<Argument> outputs, std::size_t block = 0) {
    Operation operation;
    operation.type = type;
    operation.mesh = mesh;
    operation.inputs = std::move(inputs);
    operation.outputs = std::move(outputs);
    spec.ops.emplace_back(BlockId(block), std::move(operation));
    return spec.ops.back().second;
  }
  Program build() { return Program::make(spec).value(); }

  ProgramSpec spec;
};

ReshardResult reshard(const Program& program, ReshardOptions options = {}) {
  InlineExecutor executor;
  auto result = reshard_program(program, options, executor);
  REQUIRE(result.ok());
  return std::move(result).value();
}

std::vector<std::string> types(const Program& program, std::size_t block = 0) {
  std::vector<std::string> result;
  for (OpId id = program.block(BlockId(block)).first; id.valid(); id = program.next(id)) {
    result.push_back(program.op(id).type);
  }
  return result;
}

using Types = std::vector<std::string>;

}  // namespace

TEST_CASE("reshard program: a rewritten tensor is gathered again") {
  Builder b;
  const MeshId m = b.mesh({2}, {0, 1});
  const VarId x = b.var("x", m, {0, -1});
  b.op("first", m, {{x, 0, {-1, -1}}}, {});
  b.op("second", m, {{x, 0, {-1, -1}}}, {});
  b.op("write", m, {}, {{x, 0, {0, -1}}});
  b.op("third", m, {{x, 0, {-1, -1}}}, {});
  for (const bool compat : {false, true}) {
    ReshardOptions options;
    options.compat = compat;
    const auto result = reshard(b.build(), options);
    CHECK(types(result.ranks[0].program) ==
          Types{"c_allgather", "first", "second", "write", "c_allgather", "third"});
  }
}

TEST_CASE("reshard program: booleans are sent as integers") {
  Builder b;
  const MeshId m = b.mesh({2}, {0, 1});
  const MeshId n = b.mesh({2}, {2, 3});
  const VarId x = b.var("x", m, {0, -1}, DataType::kBool);
  b.op("gather", m, {{x, 0, {-1, -1}}}, {});
  b.op("move", n, {{x, 0, {0, -1}}}, {});
  const auto result = reshard(b.build());
  CHECK(types(result.ranks[0].program) ==
        Types{"cast", "c_allgather", "cast", "gather", "cast", "send_v2", "move"});
  CHECK(types(result.ranks[2].program) == Types{"gather", "recv_v2", "cast", "move"});
}

TEST_CASE("reshard program: the gradient of an optimizer is resharded with the role backward") {
  Builder b;
  const MeshId m = b.mesh({2}, {0, 1});
  const VarId gradient = b.var("w@GRAD", m, {0, -1});
  const VarId weight = b.var("w", m, {0, -1});
  b.op("sgd", m, {{gradient, 0, {-1, -1}}, {weight, 1, {-1, -1}}}, {}).role = OpRole::kOptimize;
  const Program program = reshard(b.build()).ranks[0].program;
  std::vector<OpRole> roles;
  for (OpId id = program.block(BlockId(0)).first; id.valid(); id = program.next(id)) {
    roles.push_back(program.op(id).role);
  }
  // Inputs are in the order of their names: w, then w@GRAD.
  CHECK(roles == std::vector<OpRole>{OpRole::kOptimize, OpRole::kBackward, OpRole::kOptimize});
}

TEST_CASE("reshard program: an operator on a union of meshes gets its data once per part") {
  Builder b;
  const MeshId first = b.mesh({2}, {0, 1});
  b.mesh({2}, {2, 3});
  const MeshId all = b.mesh({4}, {0, 1, 2, 3});
  const VarId x = b.var("x", first, {-1, -1});
  b.op("both", all, {{x, 0, {-1, -1}}}, {});
  const auto result = reshard(b.build());
  CHECK(types(result.ranks[0].program) == Types{"send_v2", "both"});
  CHECK(types(result.ranks[3].program) == Types{"recv_v2", "both"});
}

TEST_CASE("reshard program: a tensor on a union is on its parts already, and must be replicated") {
  Builder b;
  const MeshId first = b.mesh({2}, {0, 1});
  b.mesh({2}, {2, 3});
  const MeshId all = b.mesh({4}, {0, 1, 2, 3});
  const VarId x = b.var("x", all, {-1, -1});
  b.op("reads", first, {{x, 0, {-1, -1}}}, {});
  b.op("cuts", first, {{x, 0, {0, -1}}}, {});
  CHECK(types(reshard(b.build()).ranks[1].program) == Types{"reads", "split", "cuts"});
  b.spec.vars[0].dims_mapping = {0, -1};
  InlineExecutor executor;
  CHECK(reshard_program(b.build(), {}, executor).error().where == "/vars/0/dims_mapping");
}

TEST_CASE(
    "reshard program: loops get tensors resharded before they start, unless they write them") {
  Builder b;
  const MeshId m = b.mesh({2}, {0, 1});
  const VarId x = b.var("x", m, {0, -1});
  const VarId y = b.var("y", m, {0, -1});
  const VarId condition = b.var("go", m, {-1, -1});
  b.spec.block_parents.emplace_back(std::size_t{0});
  Operation& loop = b.op("while", m, {{x, 0, {}}, {y, 1, {}}}, {});
  loop.sub_block = BlockId(1);
  loop.condition = condition;
  b.op("reads_x", m, {{x, 0, {-1, -1}}}, {}, 1);
  b.op("reads_y", m, {{y, 0, {-1, -1}}}, {}, 1);
  b.op("writes_y", m, {}, {{y, 0, {0, -1}}}, 1);
  b.op("reads_x", m, {{x, 0, {-1, -1}}}, {}, 1);
  const auto result = reshard(b.build());
  const Program& program = result.ranks[0].program;
  CHECK(types(program) == Types{"c_allgather", "while"});
  CHECK(types(program, 1) == Types{"reads_x", "c_allgather", "reads_y", "writes_y", "reads_x"});
  CHECK(program.op(OpId(0)).inputs.size() == 3);  // x, y and the resharded x
  CHECK(program.op(OpId(1)).inputs[0].var == program.op(OpId(4)).inputs[0].var);
  CHECK(result.ranks[0].counters.mirror_syncs == 2);  // one for each block
  b.spec.vars[condition.index()].dims_mapping = {0, -1};
  InlineExecutor executor;
  CHECK_FALSE(reshard_program(b.build(), {}, executor).ok());
}

TEST_CASE("reshard program: feed tensors of equal meshes and special operators are left alone") {
  Builder b;
  const MeshId m = b.mesh({2}, {0, 1});
  const MeshId n = b.mesh({2}, {2, 3});
  const VarId fed = b.var("fed", m, {-1, -1});
  const VarId x = b.var("x", m, {0, -1});
  b.spec.vars[fed.index()].is_feed = true;
  b.op("reads", n, {{fed, 0, {-1, -1}}}, {});
  b.op("check_finite_and_unscale", m, {{x, 0, {-1, -1}}}, {});
  b.op("sqrt", m, {{x, 0, {-1, -1}}}, {}).is_gradient_clip = true;
  CHECK(reshard(b.build()).requests == 0);
}

TEST_CASE("reshard program: outputs are sent, foreign operators and idle variables removed") {
  Builder b;
  const MeshId m = b.mesh({2}, {0, 1});
  const MeshId n = b.mesh({2}, {2, 3});
  const VarId x = b.var("x", m, {-1, -1});
  const VarId y = b.var("y", n, {-1, -1});
  const VarId z = b.var("z", n, {-1, -1});
  b.op("makes_x", m, {}, {{x, 0, {-1, -1}}});
  b.op("makes_y", m, {{x, 0, {-1, -1}}}, {{y, 0, {-1, -1}}});
  b.op("makes_z", n, {{y, 0, {-1, -1}}}, {{z, 0, {-1, -1}}});
  ReshardOptions options;
  options.whole = true;
  const auto result = reshard(b.build(), options);
  CHECK(types(result.ranks[0].program) == Types{"makes_x", "makes_y", "send_v2"});
  CHECK(types(result.ranks[2].program) == Types{"recv_v2", "makes_z"});
  CHECK_FALSE(result.ranks[0].program.has(z));
  CHECK_FALSE(result.ranks[2].program.has(x));
  CHECK(result.ranks[2].program.has(y));
}

TEST_CASE(
    "reshard program: outputs are sent to the mesh of their tensor, however it is split there") {
  Builder b;
  const MeshId m = b.mesh({2}, {0, 1});
  const MeshId n = b.mesh({2}, {1, 2});
  const VarId y = b.var("y", n, {0, -1});
  b.op("makes_y", m, {}, {{y, 0, {0, -1}}});
  ReshardOptions options;
  options.whole = true;
  const auto result = reshard(b.build(), options);
  // Rank 1 has the lower half of the tensor and gets the upper half from rank 0. Rank 2 has the
  // upper half and gets the lower one.
  CHECK(types(result.ranks[0].program) == Types{"makes_y", "send_v2"});
  CHECK(types(result.ranks[1].program) == Types{"makes_y", "recv_v2", "send_v2", "assign"});
  CHECK(types(result.ranks[2].program) == Types{"recv_v2"});
}

TEST_CASE(
    "reshard program: control flow lists what is left of its block, and is removed if the block is "
    "empty") {
  Builder b;
  const MeshId m = b.mesh({2}, {0, 1});
  const MeshId n = b.mesh({2}, {2, 3});
  const MeshId all = b.mesh({4}, {0, 1, 2, 3});
  const VarId z = b.var("z", m, {-1, -1});
  const VarId a = b.var("a", m, {-1, -1});
  const VarId c = b.var("c", n, {-1, -1});
  const VarId d = b.var("d", n, {-1, -1});
  const VarId condition = b.var("go", all, {-1, -1});
  b.spec.block_parents.emplace_back(std::size_t{0});
  b.spec.block_parents.emplace_back(std::size_t{1});
  Operation& loop = b.op("while", all, {{z, 0, {}}, {a, 1, {}}, {c, 2, {}}},
                         {{a, 0, {}}, {d, 1, {}}, {c, 2, {}}});
  loop.sub_block = BlockId(1);
  loop.condition = condition;
  Operation& inner = b.op("conditional_block", all, {{c, 0, {}}}, {{d, 0, {}}}, 1);
  inner.sub_block = BlockId(2);
  inner.condition = condition;
  b.op("makes_a", m, {{z, 0, {-1, -1}}, {a, 1, {-1, -1}}}, {{a, 0, {-1, -1}}}, 1);
  b.op("makes_d", n, {{c, 0, {-1, -1}}}, {{d, 0, {-1, -1}}}, 2);
  ReshardOptions options;
  const auto untouched = reshard(b.build(), options);
  CHECK(untouched.ranks[0].program.op(OpId(0)).inputs.size() == 3);
  options.whole = true;
  const auto result = reshard(b.build(), options);
  const auto names = [](const Program& program, const std::vector<Argument>& arguments) {
    Types list;
    for (const Argument& argument : arguments)
      list.push_back(program.var(argument.var).name);
    return list;
  };
  const Program& first = result.ranks[0].program;
  CHECK(types(first, 1) == Types{"makes_a"});
  CHECK(types(first, 2).empty());
  CHECK(names(first, first.op(OpId(0)).inputs) == Types{"a", "z"});  // in the order of names
  CHECK(names(first, first.op(OpId(0)).outputs) == Types{"a"});
  CHECK_FALSE(first.has(c));
  CHECK(first.uses(c).size() == 0);
  CHECK(first.has(condition));
  const Program& second = result.ranks[2].program;
  CHECK(types(second, 1) == Types{"conditional_block"});
  CHECK(names(second, second.op(OpId(0)).inputs) == Types{"c"});
  CHECK(names(second, second.op(OpId(0)).outputs) == Types{"d"});
  CHECK(names(second, second.op(OpId(1)).outputs) == Types{"d"});
  CHECK_FALSE(second.has(a));
}

TEST_CASE("reshard program: received sequences are reset by a feed of the same level") {
  for (const bool compat : {false, true}) {
    for (const DataType type : {DataType::kFloat32, DataType::kBool}) {
      Builder b;
      const MeshId m = b.mesh({1}, {0});
      const MeshId n = b.mesh({1}, {1});
      const VarId x = b.var("x", m, {-1, -1}, type);
      const VarId y = b.var("y", n, {-1, -1}, type);
      const VarId feed = b.var("feed", m, {-1, -1});
      b.spec.vars[x.index()].lod_level = b.spec.vars[y.index()].lod_level = 2;
      b.spec.vars[feed.index()].is_feed = true;
      b.op("reads", n, {{x, 0, {-1, -1}}}, {});
      b.op("makes", m, {}, {{y, 0, {-1, -1}}});
      ReshardOptions options;
      options.compat = compat;
      options.whole = true;
      InlineExecutor executor;
      CHECK(reshard_program(b.build(), options, executor).error().where == "/vars/0/lod_level");
      b.spec.vars[feed.index()].lod_level = 2;
      const auto result = reshard(b.build(), options);
      const Program& program = result.ranks[1].program;
      // Paddle ignores booleans that an operator reads.
      Types expected{"recv_v2", "lod_reset", "reads", "recv_v2", "lod_reset"};
      if (type == DataType::kBool) {
        expected = {"recv_v2", "lod_reset", "cast", "reads", "recv_v2", "lod_reset", "cast"};
        if (compat) expected.erase(expected.begin() + 1);
      }
      if (compat) expected.insert(expected.begin() + 2, "assign");
      CHECK(types(program) == expected);
      const OpId last = program.block(BlockId(0)).last;
      CHECK(program.op(last).outputs[0].var == y);
      for (OpId id = program.block(BlockId(0)).first; id.valid(); id = program.next(id)) {
        if (program.op(id).type == "lod_reset") CHECK(program.op(id).inputs[1].var == feed);
      }
      for (std::size_t i = y.index(); i < program.var_capacity(); ++i) {
        if (program.has(VarId(i))) CHECK(program.var(VarId(i)).lod_level == 2);
      }
    }
  }
}

TEST_CASE("reshard program: startup keeps what the variables of a rank's main program depend on") {
  Builder main;
  const MeshId m = main.mesh({1}, {0});
  const MeshId n = main.mesh({1}, {1});
  main.op("reads", m, {{main.var("w", m, {-1, -1}), 0, {-1, -1}}}, {});
  main.op("reads", n, {{main.var("other", n, {-1, -1}), 0, {-1, -1}}}, {});
  Builder startup;
  startup.mesh({1}, {0});
  const DimsMapping whole{-1, -1};
  const VarId seed = startup.var("seed", m, whole);
  const VarId drawn = startup.var("drawn", m, whole);
  const VarId w = startup.var("w", m, whole);
  const VarId other = startup.var("other", m, whole);
  startup.op("seed", m, {}, {{seed, 0, whole}});
  startup.op("draw", m, {{seed, 0, whole}}, {{drawn, 0, whole}});
  startup.op("init", m, {{drawn, 0, whole}}, {{w, 0, whole}});
  startup.op("init_other", m, {}, {{other, 0, whole}});
  startup.op("broadcast", m, {{w, 0, whole}}, {{w, 0, whole}});
  startup.op("broadcast_other", m, {{other, 0, whole}}, {{other, 0, whole}});
  ReshardOptions options;
  options.whole = true;
  options.startup = startup.build();
  const auto result = reshard(main.build(), options);
  REQUIRE(result.ranks[0].startup.has_value());
  CHECK(types(*result.ranks[0].startup) == Types{"seed", "draw", "init", "broadcast"});
  CHECK_FALSE(result.ranks[0].startup->has(other));
  CHECK(types(*result.ranks[1].startup) == Types{"init_other", "broadcast_other"});
  CHECK_FALSE(result.ranks[1].startup->has(seed));
  options.whole = false;
  CHECK_FALSE(reshard(main.build(), options).ranks[0].startup.has_value());
}

TEST_CASE("reshard program: every executor makes the same programs and group numbers") {
  Builder b;
  const MeshId m = b.mesh({2, 2}, {0, 1, 2, 3});
  const MeshId n = b.mesh({2}, {4, 5});
  for (const char* name : {"a", "b", "c", "d"})
    b.var(name, m, {0, 1});
  const std::vector<DimsMapping> demands{{-1, -1}, {1, 0}, {0, -1}, {-1, 0}, {-1, 1}};
  for (std::size_t i = 0; i < 40; ++i) {
    const bool far = i % 7 == 0;
    const DimsMapping demanded = far ? DimsMapping{0, -1} : demands[i % demands.size()];
    b.op("op", far ? n : m, {{VarId(i % 4), 0, demanded}}, {});
  }
  const Program program = b.build();
  for (const bool compat : {false, true}) {
    ReshardOptions options;
    options.compat = compat;
    const auto expected = reshard(program, options);
    for (const unsigned workers : {1U, 2U, 4U, 8U}) {
      test_support::ShufflingExecutor executor(workers, workers);
      const auto result = reshard_program(program, options, executor);
      REQUIRE(result.ok());
      for (std::size_t i = 0; i < expected.ranks.size(); ++i) {
        const Program& ours = result->ranks[i].program;
        CHECK(listing(ours) == listing(expected.ranks[i].program));
        REQUIRE(ours.groups().size() == expected.ranks[0].program.groups().size());
        for (std::size_t g = 0; g < ours.groups().size(); ++g) {
          const auto left = ours.groups()[g].ranks.view();
          const auto right = expected.ranks[0].program.groups()[g].ranks.view();
          CHECK(std::equal(left.begin(), left.end(), right.begin(), right.end()));
        }
      }
    }
  }
}

}  // namespace shardwright::reshard_program_test
