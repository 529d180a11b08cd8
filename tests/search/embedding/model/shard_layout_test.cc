// Shard layouts: the shards tile the table, have the right places, and are stored in few runs.
#include "search/embedding/model/shard_layout.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/random.h"

namespace shardwright::shard_layout_test {

namespace {

using namespace shardwright::embedding;
using shardwright::test_support::Random;
using shardwright::test_support::seeds;

constexpr ShardingType kAllTypes[] = {ShardingType::kDataParallel, ShardingType::kTableWise,
                                      ShardingType::kColumnWise,   ShardingType::kRowWise,
                                      ShardingType::kTableRowWise, ShardingType::kTableColumnWise,
                                      ShardingType::kGridShard};

Table table_of(std::int64_t rows, std::int64_t columns, std::int64_t min_partition = 0) {
  Table table;
  table.name = "t";
  table.num_embeddings = rows;
  table.embedding_dim = columns;
  if (min_partition > 0) table.constraints.emplace().min_partition = min_partition;
  return table;
}

Topology topology_of(std::int64_t world, std::int64_t local,
                     std::vector<std::int64_t> hbm_by_rank = {}) {
  TopologySpec spec;
  spec.world_size = world;
  spec.local_world_size = local;
  spec.custom_hbm_cap_bytes = std::move(hbm_by_rank);
  return Topology::make(spec).value();
}

ShardLayout cut(const Table& table, ShardingType type, const Topology& topology) {
  return shard_layout(table, tensor_shape(table, SharderSpec::Type::kTraining), type, topology);
}

struct Shard {
  std::int64_t row, rows, column, columns;
};

std::vector<Shard> shards_of(const ShardLayout& layout) {
  std::vector<Shard> shards;
  for (const ShardExtent& extent : layout.extents) {
    for (std::int64_t k = 0; k < extent.count; ++k) {
      shards.push_back({extent.row_offset + k * extent.row_step, extent.rows,
                        extent.column_offset + k * extent.column_step, extent.columns});
    }
  }
  return shards;
}

std::vector<std::int64_t> rows_of(const ShardLayout& layout) {
  std::vector<std::int64_t> rows;
  for (const Shard& shard : shards_of(layout))
    rows.push_back(shard.rows);
  return rows;
}

std::vector<std::int64_t> columns_of(const ShardLayout& layout) {
  std::vector<std::int64_t> columns;
  for (const Shard& shard : shards_of(layout))
    columns.push_back(shard.columns);
  return columns;
}

// Returns the number of shards that cover each cell of the table.
std::vector<int> cover(const ShardLayout& layout, const Table& table) {
  std::vector<int> count(static_cast<std::size_t>(table.num_embeddings * table.embedding_dim), 0);
  for (const Shard& shard : shards_of(layout)) {
    for (std::int64_t row = shard.row; row < shard.row + shard.rows; ++row) {
      for (std::int64_t column = shard.column; column < shard.column + shard.columns; ++column) {
        ++count.at(static_cast<std::size_t>(row * table.embedding_dim + column));
      }
    }
  }
  return count;
}

bool covers(const ShardLayout& layout, const Table& table, int times) {
  for (const int count : cover(layout, table)) {
    if (count != times) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("shard layout: every sharding type tiles random tables exactly") {
  for (const std::uint64_t seed : seeds({31, 32})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    for (int i = 0; i < 400; ++i) {
      const auto local = static_cast<std::int64_t>(1 + random.below(5));
      const auto world = local * static_cast<std::int64_t>(1 + random.below(4));
      const auto rows = static_cast<std::int64_t>(1 + random.below(60));
      const auto columns = static_cast<std::int64_t>(1 + random.below(40));
      const Table table = table_of(rows, columns, static_cast<std::int64_t>(random.below(20)));
      std::vector<std::int64_t> memory;
      if (random.below(3) == 0) {
        for (std::int64_t r = 0; r < world; ++r) {
          memory.push_back(static_cast<std::int64_t>(random.below(100)));
        }
        memory.back() += 1;
      }
      const Topology topology = topology_of(world, local, memory);
      for (const ShardingType type : kAllTypes) {
        const ShardLayout layout = cut(table, type, topology);
        INFO(rows, " x ", columns, " over ", world, "/", local, " ", std::string(to_name(type)));
        std::size_t counted = 0;
        for (const ShardExtent& extent : layout.extents)
          counted += extent.count;
        CHECK(counted == layout.num_shards);
        const bool replicas = type == ShardingType::kDataParallel;
        CHECK(covers(layout, table, replicas ? static_cast<int>(world) : 1));
        switch (partition_by(type)) {
          case PartitionBy::kUniform:
            CHECK(layout.num_shards == world);
            break;
          case PartitionBy::kMultiHost:
            CHECK(layout.num_shards % local == 0);
            break;
          case PartitionBy::kHost:
            if (type == ShardingType::kTableRowWise) CHECK(layout.num_shards == local);
            break;
          case PartitionBy::kDevice:
            if (type == ShardingType::kTableWise) CHECK(layout.num_shards == 1);
            break;
        }
      }
    }
  }
}

TEST_CASE("shard layout: rows are cut into blocks of the quotient rounded up") {
  using Rows = std::vector<std::int64_t>;
  const Topology four = topology_of(4, 4);
  CHECK(rows_of(cut(table_of(10, 8), ShardingType::kRowWise, four)) == Rows{3, 3, 3, 1});
  CHECK(rows_of(cut(table_of(5, 8), ShardingType::kRowWise, four)) == Rows{2, 2, 1, 0});
  CHECK(rows_of(cut(table_of(8, 8), ShardingType::kRowWise, four)) == Rows{2, 2, 2, 2});
  CHECK(rows_of(cut(table_of(1, 8), ShardingType::kRowWise, four)) == Rows{1, 0, 0, 0});
  CHECK(rows_of(cut(table_of(6, 8), ShardingType::kRowWise, four)) == Rows{2, 2, 2, 0});
  // A host has two ranks.
  CHECK(rows_of(cut(table_of(5, 8), ShardingType::kTableRowWise, topology_of(4, 2))) == Rows{3, 2});
}

TEST_CASE("shard layout: empty shards start at the end of the table") {
  const auto shards = shards_of(cut(table_of(5, 8), ShardingType::kRowWise, topology_of(4, 4)));
  CHECK(shards.back().row == 5);
  CHECK(shards.back().columns == 8);
}

TEST_CASE(
    "shard layout: columns are cut at the least width that divides them and is a multiple of 4") {
  const Topology two = topology_of(2, 2);
  const auto widths = [&](std::int64_t columns, std::int64_t min_partition) {
    return columns_of(cut(table_of(7, columns, min_partition), ShardingType::kColumnWise, two));
  };
  using Columns = std::vector<std::int64_t>;
  CHECK(widths(256, 0) == Columns{128, 128});  // the default is 128
  CHECK(widths(128, 0) == Columns{128});
  CHECK(widths(64, 0) == Columns{64});
  CHECK(widths(192, 0) == Columns{192});  // above 128, only the width itself divides 192
  CHECK(widths(64, 32) == Columns{32, 32});
  CHECK(widths(64, 30) == Columns{32, 32});          // 30 is rounded up to 32
  CHECK(widths(96, 20) == Columns{24, 24, 24, 24});  // 20 does not divide 96
  CHECK(widths(96, 33) == Columns{48, 48});
  CHECK(widths(6, 4) == Columns{6});  // no multiple of 4 divides 6
  CHECK(widths(30, 4) == Columns{30});
  CHECK(widths(16, 64) == Columns{16});
  CHECK(widths(16, 1) == Columns{4, 4, 4, 4});
}

TEST_CASE("shard layout: a grid is cut by columns, then by rows within a host") {
  const ShardLayout layout = cut(table_of(5, 16, 8), ShardingType::kGridShard, topology_of(6, 2));
  const auto shards = shards_of(layout);
  REQUIRE(shards.size() == 4);
  const std::int64_t expected[4][4] = {{0, 3, 0, 8}, {3, 2, 0, 8}, {0, 3, 8, 8}, {3, 2, 8, 8}};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(shards[i].row == expected[i][0]);
    CHECK(shards[i].rows == expected[i][1]);
    CHECK(shards[i].column == expected[i][2]);
    CHECK(shards[i].columns == expected[i][3]);
  }
}

TEST_CASE("shard layout: ranks of uneven memory take rows in proportion, the last one the rest") {
  using Rows = std::vector<std::int64_t>;
  const Table table = table_of(100, 4);
  CHECK(rows_of(cut(table, ShardingType::kRowWise, topology_of(4, 4, {10, 20, 30, 40}))) ==
        Rows{10, 20, 30, 40});
  CHECK(rows_of(cut(table, ShardingType::kRowWise, topology_of(3, 3, {1, 1, 1}))) ==
        Rows{33, 33, 34});
  CHECK(rows_of(cut(table, ShardingType::kRowWise, topology_of(3, 3, {0, 1, 0}))) ==
        Rows{0, 100, 0});
  CHECK(rows_of(cut(table_of(2, 4), ShardingType::kRowWise, topology_of(4, 4, {1, 1, 1, 1}))) ==
        Rows{0, 0, 0, 2});
  // Row blocks on one host do not depend on the memory of the ranks.
  CHECK(rows_of(cut(table, ShardingType::kTableRowWise, topology_of(4, 4, {10, 20, 30, 40}))) ==
        Rows{25, 25, 25, 25});
}

TEST_CASE(
    "shard layout: virtual tables are cut at bucket boundaries, the first ranks taking one more") {
  using Rows = std::vector<std::int64_t>;
  Table table = table_of(100, 4);
  table.total_num_buckets = 10;
  const Topology four = topology_of(4, 4);
  CHECK(rows_of(cut(table, ShardingType::kRowWise, four)) == Rows{25, 25, 25, 25});
  table.use_virtual_table = true;
  CHECK(rows_of(cut(table, ShardingType::kRowWise, four)) == Rows{30, 30, 20, 20});
  table.total_num_buckets = 2;
  CHECK(rows_of(cut(table, ShardingType::kRowWise, four)) == Rows{50, 50, 0, 0});
  table.total_num_buckets = 10;
  // 10 buckets of 10 rows are divided in proportion 1 : 2 : 4. Buckets stay whole.
  CHECK(rows_of(cut(table, ShardingType::kRowWise, topology_of(3, 3, {1, 2, 4}))) ==
        Rows{10, 20, 70});
}

TEST_CASE("shard layout: a cut over 2,048 ranks takes a handful of extents") {
  const Topology large = topology_of(2048, 8);
  const Table table = table_of(1'000'003, 256);
  CHECK(cut(table, ShardingType::kRowWise, large).extents.size() <= 3);
  CHECK(cut(table, ShardingType::kRowWise, large).num_shards == 2048);
  CHECK(cut(table_of(100, 256), ShardingType::kRowWise, large).extents.size() <= 3);
  CHECK(cut(table, ShardingType::kDataParallel, large).extents.size() == 1);
  CHECK(cut(table, ShardingType::kDataParallel, large).num_shards == 2048);
  CHECK(cut(table, ShardingType::kColumnWise, large).extents.size() == 1);
  CHECK(cut(table, ShardingType::kGridShard, large).extents.size() <= 4);
  Table buckets = table_of(5000, 16);
  buckets.use_virtual_table = true;
  buckets.total_num_buckets = 5000;
  CHECK(cut(buckets, ShardingType::kRowWise, large).extents.size() <= 2);
}

TEST_CASE("shard layout: training tensors have 4 bytes an element for FP32 and 2 otherwise") {
  Table table = table_of(10, 12);
  TensorShape shape = tensor_shape(table, SharderSpec::Type::kTraining);
  CHECK(shape.columns == 12);
  CHECK(shape.element_size_bytes == 4);
  CHECK(shape.size_bytes == 480);
  table.data_type = DataType::kFp16;
  CHECK(tensor_shape(table, SharderSpec::Type::kTraining).size_bytes == 240);
}

TEST_CASE("shard layout: quantised rows hold scale and bias and are padded to 16 bytes") {
  Table table = table_of(10, 12);
  const auto row_bytes = [&](DataType type) {
    table.data_type = type;
    return tensor_shape(table, SharderSpec::Type::kQuant).size_bytes / 10;
  };
  CHECK(row_bytes(DataType::kInt8) == 16);  // 12 + 4
  CHECK(row_bytes(DataType::kInt4) == 16);  // 6 + 4, padded
  CHECK(row_bytes(DataType::kFp16) == 32);  // 24 without a scale, padded
  table.embedding_dim = 16;
  CHECK(row_bytes(DataType::kInt8) == 32);  // 16 + 4, padded
  CHECK(row_bytes(DataType::kInt4) == 16);  // 8 + 4, padded
}

}  // namespace shardwright::shard_layout_test
