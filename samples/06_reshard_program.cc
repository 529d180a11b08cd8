// What communication does a transformer need on a pipeline of two stages, each of two
// tensor-parallel ranks?
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "runtime/program/reshard_program.h"

using namespace shardwright;
using namespace shardwright::program;

namespace {

constexpr std::int64_t kBatch = 4;
constexpr std::int64_t kSequence = 2048;
constexpr std::int64_t kHidden = 4096;
constexpr std::int64_t kInner = 11008;

// Builds a transformer of `layers` layers: the first half on ranks 0 and 1, the second on 2 and 3.
class Transformer {
 public:
  explicit Transformer(int layers) {
    spec_.name = "transformer";
    spec_.meshes.push_back(ProcessMesh::make({2}, {0, 1}).value());
    spec_.meshes.push_back(ProcessMesh::make({2}, {2, 3}).value());
    VarId hidden = variable("embedding", MeshId(0), {kBatch, kSequence, kHidden}, {-1, -1, -1});
    for (int layer = 0; layer < layers; ++layer) {
      stage_ = MeshId(layer < layers / 2 ? 0 : 1);
      prefix_ = "layer" + std::to_string(layer) + ".";
      // In each of the two parts, the first product is split by columns and the second by rows. Its
      // result stays partial along the mesh axis until an operator needs the sum.
      hidden = residual(hidden, "attention", kHidden);
      hidden = residual(hidden, "mlp", kInner);
    }
  }

  Result<Program> build() { return Program::make(std::move(spec_)); }

 private:
  VarId variable(const std::string& name, MeshId mesh, const Shape& shape,
                 const DimsMapping& mapping) {
    Variable var;
    var.name = name;
    var.shape = shape;
    var.type = DataType::kFloat16;
    var.mesh = mesh;
    var.dims_mapping = mapping;
    spec_.vars.push_back(std::move(var));
    return VarId(spec_.vars.size() - 1);
  }

  void op(const char* type, std::vector<Argument> inputs, Argument output) {
    Operation operation;
    operation.number = static_cast<std::int64_t>(spec_.ops.size());
    operation.type = type;
    operation.mesh = stage_;
    operation.inputs = std::move(inputs);
    operation.outputs.push_back(std::move(output));
    spec_.ops.emplace_back(BlockId(0), std::move(operation));
  }

  // Adds a norm, a product split by columns, a product split by rows, and the sum with `in`.
  VarId residual(VarId in, const std::string& name, std::int64_t inner) {
    const DimsMapping whole{-1, -1, -1};
    const DimsMapping columns{-1, -1, 0};
    const Shape wide{kBatch, kSequence, inner};
    const Shape narrow{kBatch, kSequence, kHidden};
    const std::string key = prefix_ + name;
    const VarId up = variable(key + ".up_w", stage_, {kHidden, inner}, {-1, 0});
    const VarId down = variable(key + ".down_w", stage_, {inner, kHidden}, {0, -1});
    const VarId normed = variable(key + ".norm", stage_, narrow, whole);
    const VarId split = variable(key + ".up", stage_, wide, columns);
    const VarId terms = variable(key + ".down", stage_, narrow, whole);
    spec_.vars[terms.index()].partial = {Reduction::kSum};
    const VarId out = variable(key + ".out", stage_, narrow, whole);
    op("layer_norm", {{in, 0, whole}}, {normed, 0, whole});
    op("matmul_v2", {{normed, 0, whole}, {up, 1, {-1, 0}}}, {split, 0, columns});
    op("matmul_v2", {{split, 0, columns}, {down, 1, {0, -1}}}, {terms, 0, whole});
    op("elementwise_add", {{in, 0, whole}, {terms, 1, whole}}, {out, 0, whole});
    return out;
  }

  ProgramSpec spec_;
  MeshId stage_{0};
  std::string prefix_;
};

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return 1;
}

}  // namespace

int main() {
  const Result<Program> program = Transformer(12).build();
  if (!program.ok()) return fail(program.error());
  ReshardOptions options;
  options.whole = true;  // every rank's program has only the operators that the rank runs
  const Result<ReshardResult> batch = reshard_program(*program, options);
  if (!batch.ok()) return fail(batch.error());
  options.sync = SyncMode::kPerInsert;
  const Result<ReshardResult> legacy = reshard_program(*program, options);
  if (!legacy.ok()) return fail(legacy.error());

  std::printf("%llu operators, %llu requests, %llu distinct plans\n",
              static_cast<unsigned long long>(program->block(BlockId(0)).num_ops),
              static_cast<unsigned long long>(batch->requests),
              static_cast<unsigned long long>(batch->plans));
  bool as_expected = true;
  for (std::size_t i = 0; i < batch->ranks.size(); ++i) {
    const ReshardCounters& counters = batch->ranks[i].counters;
    const ReshardCounters& slow = legacy->ranks[i].counters;
    std::printf(
        "rank %d: %llu operators inserted, 1 commit, mirror synchronised %llu time (per insert: "
        "%llu), %llu items looked at (per insert: %llu)\n",
        static_cast<int>(batch->ranks[i].rank),
        static_cast<unsigned long long>(counters.inserted_ops),
        static_cast<unsigned long long>(counters.mirror_syncs),
        static_cast<unsigned long long>(slow.mirror_syncs),
        static_cast<unsigned long long>(counters.items_scanned),
        static_cast<unsigned long long>(slow.items_scanned));
    as_expected =
        as_expected && counters.mirror_syncs == 1 && slow.mirror_syncs == counters.inserted_ops;
  }
  // Every layer sums partial values twice. Each rank exchanges data with the other stage.
  as_expected = as_expected && batch->ranks[0].counters.inserted_ops == 13 &&
                batch->ranks[2].counters.inserted_ops == 13;
  return as_expected ? 0 : 1;
}
