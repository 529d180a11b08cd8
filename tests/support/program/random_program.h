// Small random programs with rewritten tensors, partial tensors, booleans and control flow. Meshes
// are equal, reshaped, disjoint, overlapping, or unions of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/program/program.h"
#include "tests/support/random.h"

namespace shardwright::test_support {

class RandomProgram {
 public:
  // If `outputs_apart`, operators may also write tensors of other meshes.
  RandomProgram(std::uint64_t seed, bool outputs_apart)
      : random_(seed), outputs_apart_(outputs_apart) {}

  program::Program make() { return program::Program::make(make_spec()).value(); }

  program::ProgramSpec make_spec() {
    using namespace program;
    spec_.name = "random";
    add_meshes();
    for (std::size_t i = 0; i < 6; ++i)
      add_var("v" + std::to_string(i));
    condition_ = VarId(spec_.vars.size());
    Variable condition;
    condition.name = "condition";
    condition.shape = {1};
    condition.mesh = everybody_;
    condition.dims_mapping = {-1};
    spec_.vars.push_back(std::move(condition));
    const std::size_t ops = 4 + random_.below(12);
    for (std::size_t i = 0; i < ops; ++i) {
      add_op(BlockId(0));
      if (random_.below(6) == 0) add_control(BlockId(0), 1);
    }
    return std::move(spec_);
  }

 private:
  using MeshId = program::MeshId;

  MeshId add_mesh(std::vector<std::int64_t> shape, program::Rank first) {
    std::vector<program::Rank> ids;
    std::int64_t count = 1;
    for (const std::int64_t extent : shape)
      count *= extent;
    for (std::int64_t i = 0; i < count; ++i)
      ids.push_back(first + static_cast<program::Rank>(i));
    spec_.meshes.push_back(program::ProcessMesh::make(std::move(shape), std::move(ids)).value());
    return MeshId(spec_.meshes.size() - 1);
  }

  void add_meshes() {
    switch (random_.below(5)) {
      case 0:
        usable_ = {add_mesh({4}, 0)};
        everybody_ = usable_[0];
        return;
      case 1:
        usable_ = {add_mesh({2, 2}, 0), add_mesh({4}, 0), add_mesh({1, 4}, 0)};
        everybody_ = usable_[0];
        return;
      case 2:
        usable_ = {add_mesh({2}, 0), add_mesh({2}, 2)};
        everybody_ = add_mesh({4}, 0);
        return;
      case 3:
        usable_ = {add_mesh({2, 2}, 0), add_mesh({3}, 3), add_mesh({2}, 6)};
        everybody_ = add_mesh({8}, 0);
        return;
      default:
        usable_ = {add_mesh({2, 2}, 0), add_mesh({2, 2}, 4)};
        everybody_ = add_mesh({8}, 0);
        return;
    }
  }

  MeshId any_mesh() { return usable_[random_.below(usable_.size())]; }

  program::DimsMapping mapping(MeshId mesh, std::size_t dims) {
    program::DimsMapping result(dims, -1);
    for (std::size_t axis = 0; axis < spec_.meshes[mesh.index()].axes(); ++axis) {
      const std::size_t dim = random_.below(dims + 1);
      if (dim < dims && result[dim] == -1) result[dim] = static_cast<std::int8_t>(axis);
    }
    return result;
  }

  void add_var(std::string name) {
    using namespace program;
    constexpr std::int64_t kSizes[] = {2, 4, 4, 6, 5, 8, 1};
    Variable var;
    var.name = std::move(name);
    for (std::size_t dims = random_.below(4); var.shape.size() < dims;)
      var.shape.push_back(random_.below(20) == 0 ? 0 : kSizes[random_.below(7)]);
    if (random_.below(4) == 0) var.type = DataType::kBool;
    var.mesh = any_mesh();
    var.dims_mapping = mapping(var.mesh, var.shape.size());
    const ProcessMesh& mesh = spec_.meshes[var.mesh.index()];
    constexpr Reduction kDue[] = {Reduction::kSum, Reduction::kAvg, Reduction::kMax};
    const Reduction due = kDue[random_.below(3)];
    for (std::size_t axis = 0; axis < mesh.axes() && random_.below(3) == 0; ++axis) {
      PartialAxes partial = var.partial;
      partial.resize(axis + 1, Reduction::kNone);
      partial[axis] = due;
      if (check({mesh, var.dims_mapping, partial}, var.shape.size()).ok()) var.partial = partial;
    }
    spec_.vars.push_back(std::move(var));
  }

  program::VarId any_var() { return program::VarId(random_.below(6)); }

  // Returns true if an operator on the mesh may write the variable.
  bool can_write(MeshId mesh, const program::Variable& var) {
    using namespace program;
    if (var.mesh == mesh) return true;
    const ProcessMesh& here = spec_.meshes[mesh.index()];
    return outputs_apart_ && check({here, var.dims_mapping, {}}, var.shape.size()).ok();
  }

  void add_op(program::BlockId block) {
    using namespace program;
    Operation op;
    op.number = static_cast<std::int64_t>(spec_.ops.size());
    op.type = "op";
    op.mesh = random_.below(12) == 0 ? everybody_ : any_mesh();
    const bool united = op.mesh == everybody_ && everybody_ != usable_[0];
    for (std::size_t i = random_.below(3) + 1; i > 0; --i) {
      const VarId var = any_var();
      const std::size_t dims = spec_.vars[var.index()].shape.size();
      const DimsMapping demanded = united ? DimsMapping(dims, -1) : mapping(op.mesh, dims);
      op.inputs.push_back({var, static_cast<std::int32_t>(op.inputs.size()), demanded});
    }
    const VarId output = any_var();
    const Variable& var = spec_.vars[output.index()];
    if (!united && random_.below(2) == 0 && can_write(op.mesh, var)) {
      op.outputs.push_back({output, 0, var.dims_mapping});
    }
    spec_.ops.emplace_back(block, std::move(op));
  }

  void add_control(program::BlockId around, int depth) {
    using namespace program;
    spec_.block_parents.push_back(around);
    Operation control;
    control.number = static_cast<std::int64_t>(spec_.ops.size());
    control.type = "while";
    control.mesh = everybody_;
    control.sub_block = BlockId(spec_.block_parents.size());
    control.condition = condition_;
    const std::size_t place = spec_.ops.size();
    const BlockId inside = control.sub_block;
    spec_.ops.emplace_back(around, Operation());
    for (std::size_t i = 1 + random_.below(4); i > 0; --i)
      add_op(inside);
    if (depth < 2 && random_.below(3) == 0) add_control(inside, depth + 1);
    std::vector<bool> read(spec_.vars.size(), false);
    std::vector<bool> written(spec_.vars.size(), false);
    for (std::size_t i = place + 1; i < spec_.ops.size(); ++i) {
      for (const Argument& input : spec_.ops[i].second.inputs)
        read[input.var.index()] = true;
      for (const Argument& output : spec_.ops[i].second.outputs)
        written[output.var.index()] = true;
    }
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i]) control.inputs.push_back({VarId(i), 0, {}});
      if (written[i]) control.outputs.push_back({VarId(i), 0, {}});
    }
    spec_.ops[place].second = std::move(control);
  }

  Random random_;
  bool outputs_apart_;
  program::ProgramSpec spec_;
  std::vector<MeshId> usable_;
  MeshId everybody_;
  program::VarId condition_;
};

}  // namespace shardwright::test_support
