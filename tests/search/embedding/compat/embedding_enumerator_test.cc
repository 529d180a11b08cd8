// The enumerated search space: its options, their order, and the error if a table has none.
#include "search/embedding/compat/embedding_enumerator.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::embedding_enumerator_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using shardwright::test_support::problem_spec;
using shardwright::test_support::ShufflingExecutor;

Result<std::shared_ptr<const SearchSpace>> space_of(ProblemSpec spec) {
  InlineExecutor executor;
  return enumerate(std::make_shared<const Problem>(Problem::make(std::move(spec)).value()),
                   executor);
}

// Returns "type.kernel" of every option in order, or "?" and the message of an error.
std::vector<std::string> names(ProblemSpec spec) {
  const auto space = space_of(std::move(spec));
  if (!space.ok()) return {"?" + space.error().message};
  std::vector<std::string> all;
  for (const ShardingOption& option : (*space)->options()) {
    all.push_back(std::string(to_name(option.sharding_type)) + "." +
                  std::string(to_name(option.compute_kernel)));
  }
  return all;
}

ProblemSpec one_table(ComputeDevice device = ComputeDevice::kCuda,
                      TableKind kind = TableKind::kPooled) {
  ProblemSpec spec = problem_spec(1, 4, 2);
  spec.topology.compute_device = device;
  spec.tables[0].kind = kind;
  return spec;
}

std::vector<std::string> constrained(std::vector<ShardingType> types,
                                     std::vector<ComputeKernel> kernels,
                                     ComputeDevice device = ComputeDevice::kCuda,
                                     TorchRecRelease release = TorchRecRelease::k1_9_2) {
  ProblemSpec spec = one_table(device);
  spec.torchrec = release;
  spec.tables[0].constraints.emplace();
  spec.tables[0].constraints->sharding_types = std::move(types);
  spec.tables[0].constraints->compute_kernels = std::move(kernels);
  return names(std::move(spec));
}

// Returns every type with every kernel, type by type.
std::vector<std::string> product(const std::vector<std::string>& types,
                                 const std::vector<std::string>& kernels) {
  std::vector<std::string> all;
  for (const std::string& type : types) {
    for (const std::string& kernel : kernels)
      all.push_back(type + "." + kernel);
  }
  return all;
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

using Names = std::vector<std::string>;
const Names kHbmAndUvm = {"fused", "fused_uvm", "fused_uvm_caching"};

}  // namespace

TEST_CASE("enumerate: a pooled table on cuda has sixteen options") {
  CHECK(names(one_table()) ==
        Names{"data_parallel.dense"} + product({"table_wise", "column_wise", "table_column_wise",
                                                "row_wise", "table_row_wise"},
                                               kHbmAndUvm));
}

TEST_CASE("enumerate: other devices offer less") {
  CHECK(names(one_table(ComputeDevice::kCpu)) == Names{"data_parallel.dense", "table_wise.fused",
                                                       "column_wise.fused",
                                                       "table_column_wise.fused"});
  CHECK(names(one_table(ComputeDevice::kMtia)) == Names{"table_wise.fused", "column_wise.fused",
                                                        "table_column_wise.fused", "row_wise.fused",
                                                        "table_row_wise.fused"});
}

TEST_CASE("enumerate: sequence embeddings have four sharding types") {
  CHECK(names(one_table(ComputeDevice::kCuda, TableKind::kSequence)) ==
        Names{"data_parallel.dense"} +
            product({"table_wise", "column_wise", "row_wise"}, kHbmAndUvm));
}

TEST_CASE("enumerate: quantised tables have kernels of their own") {
  ProblemSpec spec = one_table();
  spec.sharder.type = SharderSpec::Type::kQuant;
  const Names types = {"table_wise", "row_wise", "column_wise"};
  CHECK(names(spec) == product(types, {"quant", "quant_uvm", "quant_uvm_caching"}));
  spec.topology.compute_device = ComputeDevice::kCpu;
  CHECK(names(spec) == product(types, {"quant"}));
}

TEST_CASE("enumerate: constraints choose and order types and kernels, each once") {
  using enum ShardingType;
  using enum ComputeKernel;
  const auto chosen = [](TorchRecRelease release) {
    return constrained({kRowWise, kTableWise, kRowWise}, {kFusedUvm, kFused, kFusedUvm},
                       ComputeDevice::kCuda, release);
  };
  CHECK(chosen(TorchRecRelease::kA48cef79) ==
        product({"row_wise", "table_wise"}, {"fused_uvm", "fused"}));
  CHECK(chosen(TorchRecRelease::k1_9_2) ==
        product({"table_wise", "row_wise"}, {"fused", "fused_uvm"}));
  CHECK(constrained({}, {kDense}) == Names{"data_parallel.dense"});
  CHECK(constrained({kDataParallel, kTableWise}, {kFused}) == Names{"table_wise.fused"});
}

TEST_CASE("enumerate: grid sharding and guarded kernels appear only if they are named") {
  using enum ShardingType;
  using enum ComputeKernel;
  CHECK(constrained({kGridShard}, {}) == product({"grid_shard"}, kHbmAndUvm));
  CHECK(constrained({kTableWise}, {kKeyValue, kSsdVirtualTable, kDramVirtualTable}) ==
        product({"table_wise"}, {"key_value", "ssd_virtual_table", "dram_virtual_table"}));
  CHECK(constrained({kGridShard}, {}, ComputeDevice::kMtia) == Names{"grid_shard.fused"});
}

TEST_CASE("enumerate: feature processors guard rows, and take no buckets") {
  using enum ShardingType;
  ProblemSpec spec = one_table();
  spec.tables[0].feature_processed = true;
  const Names whole = Names{"data_parallel.dense"} +
                      product({"table_wise", "column_wise", "table_column_wise"}, kHbmAndUvm);
  CHECK(names(spec) == whole);
  spec.tables[0].constraints.emplace().sharding_types = {kRowWise, kTableRowWise, kTableWise};
  spec.tables[0].constraints->compute_kernels = {ComputeKernel::kFused};
  spec.tables[0].use_virtual_table = true;
  spec.tables[0].total_num_buckets = 3;
  CHECK(names(spec) == product({"table_wise", "table_row_wise", "row_wise"}, {"fused"}));
  spec.torchrec = TorchRecRelease::kA48cef79;
  CHECK(names(spec) == product({"table_wise"}, {"fused"}));
}

TEST_CASE("enumerate: towers take the rows or columns of a host, on any device, and no buckets") {
  using enum ShardingType;
  ProblemSpec spec = one_table();
  spec.tables[0].tower = true;
  CHECK(names(spec) == product({"table_row_wise", "table_column_wise"}, kHbmAndUvm));
  spec.tables[0].use_virtual_table = true;
  spec.tables[0].total_num_buckets = 3;
  spec.tables[0].constraints.emplace().sharding_types = {kTableColumnWise, kRowWise, kTableRowWise};
  spec.tables[0].constraints->is_weighted = true;  // a tower ignores this constraint
  for (const auto device : {ComputeDevice::kCpu, ComputeDevice::kMtia, ComputeDevice::kTpu}) {
    spec.topology.compute_device = device;
    spec.tables[0].constraints->compute_kernels = {ComputeKernel::kFused};
    CHECK(names(spec) == product({"table_row_wise", "table_column_wise"}, {"fused"}));
    CHECK((*space_of(spec))->options()[0].is_weighted);
  }
  spec.topology.compute_device = ComputeDevice::kCpu;
  spec.torchrec = TorchRecRelease::kA48cef79;
  CHECK(names(spec) == product({"table_column_wise", "table_row_wise"}, {"fused"}));
}

TEST_CASE("enumerate: from 1.9.2 on row_wise needs a bucket per rank") {
  ProblemSpec spec = one_table();
  spec.tables[0].use_virtual_table = true;
  spec.tables[0].total_num_buckets = 3;
  CHECK(names(spec).front().find("has 3 buckets, and row_wise needs one for each of 4 ranks") !=
        std::string::npos);
  spec.torchrec = TorchRecRelease::kA48cef79;
  CHECK(names(spec).size() == 16);
  spec.torchrec = TorchRecRelease::k1_9_2;
  spec.tables[0].constraints.emplace().sharding_types = {ShardingType::kTableWise};
  CHECK(names(spec) == product({"table_wise"}, kHbmAndUvm));
}

TEST_CASE("enumerate: tpu has two kernels, from 1.9.2 on") {
  CHECK(names(one_table(ComputeDevice::kTpu)) ==
        Names{"data_parallel.dense"} + product({"table_wise", "column_wise", "table_column_wise",
                                                "row_wise", "table_row_wise"},
                                               {"fused", "unfused_tpu"}));
  ProblemSpec spec = one_table(ComputeDevice::kTpu);
  spec.torchrec = TorchRecRelease::kA48cef79;
  CHECK(Problem::make(spec).error().where == "/topology/compute_device");
}

TEST_CASE("enumerate: key_value needs a rank with SSD if SSD is counted") {
  using enum ShardingType;
  using enum ComputeKernel;
  ProblemSpec spec = one_table();
  spec.tables[0].constraints.emplace().sharding_types = {kTableWise};
  spec.tables[0].constraints->compute_kernels = {kFused, kKeyValue, kSsdVirtualTable};
  const Names all = product({"table_wise"}, {"fused", "key_value", "ssd_virtual_table"});
  CHECK(names(spec) == all);
  spec.topology.ssd_cap_bytes = 0;
  CHECK(names(spec) == product({"table_wise"}, {"fused", "ssd_virtual_table"}));
  spec.topology.custom_ssd_cap_bytes = {0, 0, 0, 1};
  CHECK(names(spec) == all);
  spec.topology.custom_ssd_cap_bytes.clear();
  spec.tables[0].constraints->compute_kernels = {kKeyValue};
  CHECK(names(spec).front().find("key_value needs SSD, which no rank has") != std::string::npos);
}

TEST_CASE(
    "enumerate: if no option is left, the error names the table and what its sharder offers") {
  using enum ShardingType;
  using enum ComputeKernel;
  const auto refused = [](ProblemSpec spec) {
    const auto space = space_of(std::move(spec));
    REQUIRE_FALSE(space.ok());
    CHECK(space.error().code == ErrorCode::kInvalidInput);
    CHECK(space.error().where == "/constraints/t1");
    CHECK(space.error().message.find("\"t1\"") != std::string::npos);
    return space.error().message;
  };
  ProblemSpec spec = problem_spec(2, 4, 2);
  spec.topology.compute_device = ComputeDevice::kCpu;
  spec.tables[1].constraints.emplace().sharding_types = {kRowWise, kTableRowWise};
  CHECK(refused(spec).find("types data_parallel, table_wise, column_wise, table_column_wise") !=
        std::string::npos);
  spec.tables[1].constraints->sharding_types = {kTableWise};
  spec.tables[1].constraints->compute_kernels = {kFusedUvm};
  const std::string message = refused(spec);
  CHECK(message.find("device cpu") != std::string::npos);
  CHECK(message.find("for table_wise the kernels fused") != std::string::npos);
}

TEST_CASE("enumerate: a cost out of range is refused with the table's name") {
  ProblemSpec spec = problem_spec(2, 4, 2);
  spec.batch_size = std::int64_t{1} << 40;
  spec.tables[1].constraints.emplace().pooling_factors = {1e12};
  const auto space = space_of(std::move(spec));
  REQUIRE_FALSE(space.ok());
  CHECK(space.error().message.find("\"t1\"") != std::string::npos);
}

TEST_CASE("enumerate: the last module comes first unless the exact order is asked for") {
  ProblemSpec spec = problem_spec(5, 4, 2);
  for (std::size_t i = 0; i < 5; ++i)
    spec.tables[i].module = i % 2 == 0 ? "a" : "b";
  const auto order = [&](bool exact) {
    spec.use_exact_enumerate_order = exact;
    std::vector<std::uint32_t> tables;
    for (const TableId id : visit_order(Problem::make(spec).value()))
      tables.push_back(id.value());
    return tables;
  };
  CHECK(order(false) == std::vector<std::uint32_t>{1, 3, 0, 2, 4});
  CHECK(order(true) == std::vector<std::uint32_t>{0, 2, 4, 1, 3});
  spec.use_exact_enumerate_order = false;
  const auto space = space_of(spec).value();
  CHECK(space->options().front().table == TableId(1));
  CHECK(space->options().back().table == TableId(4));
}

TEST_CASE("enumerate: tables of another device group are left out") {
  ProblemSpec spec = problem_spec(3, 4, 2);
  spec.tables[0].constraints.emplace().device_group = "cpu";
  spec.tables[1].constraints.emplace().device_group = "cuda";
  spec.tables[2].constraints.emplace().device_group = "";
  const auto space = space_of(std::move(spec)).value();
  CHECK(space->size() == 32);
  for (const ShardingOption& option : space->options())
    CHECK(option.table != TableId(0));
}

TEST_CASE("enumerate: options with the same cut share one layout, across tables and kernels") {
  const auto space = space_of(problem_spec(2, 4, 2)).value();
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(space->options()[i].layout == space->options()[16 + i].layout);
  }
  CHECK(space->options()[1].layout == space->options()[2].layout);
}

TEST_CASE("enumerate: a problem without tables has an empty space") {
  CHECK(space_of(problem_spec(0, 4, 2)).value()->size() == 0);
}

TEST_CASE("enumerate: options and errors do not depend on the executor") {
  ProblemSpec spec = problem_spec(200, 4, 2);
  for (std::size_t i = 0; i < spec.tables.size(); ++i) {
    spec.tables[i].num_embeddings = 10 + static_cast<std::int64_t>(i * i);
  }
  const auto expected = space_of(spec).value();
  ProblemSpec bad = spec;
  for (const std::size_t i : {150U, 77U, 199U}) {
    bad.tables[i].constraints.emplace().compute_kernels = {ComputeKernel::kQuant};
  }
  for (const unsigned workers : {2U, 5U}) {
    ShufflingExecutor executor(workers, workers);
    const auto problem = std::make_shared<const Problem>(Problem::make(spec).value());
    const auto space = enumerate(problem, executor).value();
    REQUIRE(space->size() == expected->size());
    for (std::size_t i = 0; i < space->size(); ++i) {
      ShardingOption own = space->options()[i];
      CHECK(*own.layout == *expected->options()[i].layout);
      own.layout = expected->options()[i].layout;
      CHECK(own == expected->options()[i]);
    }
    const auto refused =
        enumerate(std::make_shared<const Problem>(Problem::make(bad).value()), executor);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().where == "/constraints/t77");
  }
}

}  // namespace shardwright::embedding_enumerator_test
