// The transformer of samples/06, small enough to execute: two pipeline stages of two ranks each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/program/program.h"

namespace shardwright::test_support {

class TransformerProgram {
 public:
  static program::Program make(int layers) { return TransformerProgram(layers).build(); }

 private:
  using Argument = program::Argument;
  using MeshId = program::MeshId;
  using VarId = program::VarId;

  static constexpr std::int64_t kHidden = 4;
  static constexpr std::int64_t kInner = 6;

  explicit TransformerProgram(int layers) {
    spec_.name = "transformer";
    spec_.meshes.push_back(program::ProcessMesh::make({2}, {0, 1}).value());
    spec_.meshes.push_back(program::ProcessMesh::make({2}, {2, 3}).value());
    VarId hidden = variable("embedding", MeshId(0), {2, 3, kHidden}, {-1, -1, -1});
    for (int layer = 0; layer < layers; ++layer) {
      stage_ = MeshId(layer < layers / 2 ? 0 : 1);
      prefix_ = "layer" + std::to_string(layer) + ".";
      hidden = residual(hidden, "attention", kHidden);
      hidden = residual(hidden, "mlp", kInner);
    }
  }

  program::Program build() { return program::Program::make(std::move(spec_)).value(); }

  VarId variable(const std::string& name, MeshId mesh, program::Shape shape,
                 program::DimsMapping mapping) {
    program::Variable var;
    var.name = name;
    var.shape = shape;
    var.type = program::DataType::kFloat16;
    var.mesh = mesh;
    var.dims_mapping = mapping;
    spec_.vars.push_back(std::move(var));
    return VarId(spec_.vars.size() - 1);
  }

  void op(const char* type, std::vector<Argument> inputs, Argument output) {
    program::Operation operation;
    operation.number = static_cast<std::int64_t>(spec_.ops.size());
    operation.type = type;
    operation.mesh = stage_;
    operation.inputs = std::move(inputs);
    operation.outputs.push_back(std::move(output));
    spec_.ops.emplace_back(program::BlockId(0), std::move(operation));
  }

  VarId residual(VarId in, const std::string& name, std::int64_t inner) {
    const program::DimsMapping whole{-1, -1, -1};
    const program::DimsMapping columns{-1, -1, 0};
    const std::string key = prefix_ + name;
    const VarId up = variable(key + ".up_w", stage_, {kHidden, inner}, {-1, 0});
    const VarId down = variable(key + ".down_w", stage_, {inner, kHidden}, {0, -1});
    const VarId normed = variable(key + ".norm", stage_, {2, 3, kHidden}, whole);
    const VarId split = variable(key + ".up", stage_, {2, 3, inner}, columns);
    const VarId terms = variable(key + ".down", stage_, {2, 3, kHidden}, whole);
    spec_.vars[terms.index()].partial = {program::Reduction::kSum};
    const VarId out = variable(key + ".out", stage_, {2, 3, kHidden}, whole);
    op("layer_norm", {{in, 0, whole}}, {normed, 0, whole});
    op("matmul_v2", {{normed, 0, whole}, {up, 1, {-1, 0}}}, {split, 0, columns});
    op("matmul_v2", {{split, 0, columns}, {down, 1, {0, -1}}}, {terms, 0, whole});
    op("elementwise_add", {{in, 0, whole}, {terms, 1, whole}}, {out, 0, whole});
    return out;
  }

  program::ProgramSpec spec_;
  MeshId stage_{0};
  std::string prefix_;
};

}  // namespace shardwright::test_support
