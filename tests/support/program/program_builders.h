// Small programs for tests.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/program/program.h"

namespace shardwright::test_support {

// `ops` operators in a row: operator i reads variable i and writes variable i + 1. They are spread
// evenly over `blocks` blocks. Tensors are split by rows, but every `every`-th operator wants its
// input replicated.
inline program::Program chain_program(std::size_t ops, std::size_t blocks = 1,
                                      std::size_t every = 0) {
  using namespace program;
  ProgramSpec spec;
  spec.name = "chain";
  spec.meshes.push_back(ProcessMesh::make({2}, {0, 1}).value());
  for (std::size_t i = 1; i < blocks; ++i)
    spec.block_parents.emplace_back(std::size_t{0});
  for (std::size_t i = 0; i <= ops; ++i) {
    Variable var;
    var.name = "v" + std::to_string(i);
    var.shape = {16, 8};
    var.mesh = MeshId(0);
    var.dims_mapping = {0, -1};
    spec.vars.push_back(std::move(var));
  }
  for (std::size_t i = 0; i < ops; ++i) {
    Operation op;
    op.number = static_cast<std::int64_t>(i);
    op.type = "relu";
    op.mesh = MeshId(0);
    const bool replicated = every != 0 && i % every == 0;
    op.inputs.push_back({VarId(i), 0, {static_cast<std::int8_t>(replicated ? -1 : 0), -1}});
    op.outputs.push_back({VarId(i + 1), 0, {0, -1}});
    spec.ops.emplace_back(BlockId(i * blocks / ops), std::move(op));
  }
  return Program::make(std::move(spec)).value();
}

// Every operator as text, in program order.
inline std::vector<std::string> listing(const program::Program& program) {
  using namespace program;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < program.num_blocks(); ++i) {
    for (OpId id = program.block(BlockId(i)).first; id.valid(); id = program.next(id)) {
      const Operation& op = program.op(id);
      std::string line = op.type;
      for (const Argument& input : op.inputs)
        line += " <" + program.var(input.var).name;
      for (const Argument& output : op.outputs)
        line += " >" + program.var(output.var).name;
      const SharedArray<OpId> users =
          op.inputs.empty() ? SharedArray<OpId>() : program.uses(op.inputs[0].var);
      for (const OpId user : users.view())
        line += " u" + std::to_string(user.value());
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace shardwright::test_support
