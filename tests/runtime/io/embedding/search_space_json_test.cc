// Search spaces in files: exact round trips in both formats, runs of shards, and refusals.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "core/embedding/search_space.h"
#include "core/embedding/sharding_option.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/file.h"
#include "runtime/io/json/json_document.h"
#include "tests/support/embedding/recorded_release.h"

namespace shardwright::search_space_json_test {

using namespace shardwright::embedding;
using shardwright::Bytes;
using shardwright::JsonDocument;
using shardwright::JsonValue;
using shardwright::Milliseconds;
using shardwright::read_file;
using shardwright::read_problem;
using shardwright::read_search_space;
using shardwright::Result;
using shardwright::ShardForm;

namespace {

using Space = std::shared_ptr<const SearchSpace>;

std::shared_ptr<const Problem> problem_of(const std::string& text) {
  const Result<ProblemSpec> spec = read_problem(text, test_support::recorded_release());
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  const Result<Problem> problem = Problem::make(*spec);
  REQUIRE_MESSAGE(problem.ok(), problem.error().to_string());
  return std::make_shared<const Problem>(*problem);
}

std::string written(const SearchSpace& space, ShardForm form) {
  std::string text;
  write_search_space(space, form, [&](std::string_view piece) { text += piece; });
  return text;
}

void check_equal(const SearchSpace& a, const SearchSpace& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const ShardingOption& x = a.options()[i];
    const ShardingOption& y = b.options()[i];
    CAPTURE(i);
    CHECK(x.table == y.table);
    CHECK(x.sharding_type == y.sharding_type);
    CHECK(x.compute_kernel == y.compute_kernel);
    CHECK(x.load_factor == y.load_factor);
    CHECK(x.batch_size == y.batch_size);
    CHECK(x.is_pooled == y.is_pooled);
    CHECK(x.is_weighted == y.is_weighted);
    CHECK(*x.layout == *y.layout);
    CHECK(x.costs == y.costs);
  }
}

bool same_json(JsonValue a, JsonValue b) {
  const auto number = [](JsonValue v) { return v.number().ok(); };
  if (number(a) && number(b)) return a.number().value() == b.number().value();
  if (a.type() != b.type() || a.size() != b.size() || a.key() != b.key()) return false;
  if (a.is_string()) return a.string().value() == b.string().value();
  if (a.type() == shardwright::JsonType::kBoolean)
    return a.boolean().value() == b.boolean().value();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_json(a[i], b[i])) return false;
  }
  return true;
}

constexpr const char* kProblem =
    R"({"topology": {"world_size": 4, "local_world_size": 2}, "tables": [
  {"name": "a", "num_embeddings": 10, "embedding_dim": 8},
  {"name": "b", "num_embeddings": 6, "embedding_dim": 4, "module": "m"}]})";

// Returns a space with an option of table b, and one of table a with the given members and shards.
std::string space_with(const std::string& members, const std::string& shards) {
  return R"({"search_space": [{"table": "b", "sharding_type": "table_wise", "compute_kernel": "fused",
      "shards": [{"size": [6, 4], "offset": [0, 0], "hbm": 1, "ddr": 0, "perf": [1, 2, 3, 4, 5]}]},
    {"table": "a", "compute_kernel": "fused", )" +
         members + R"(, "shards": )" + shards + "}]}";
}

std::string error_of(const std::string& text) {
  const auto space = read_search_space(text, problem_of(kProblem));
  return space.ok() ? "" : space.error().to_string();
}

constexpr const char* kTableWise = R"("sharding_type": "table_wise")";
constexpr const char* kRowWise = R"("sharding_type": "row_wise")";

}  // namespace

TEST_CASE("search space json: recorded answers survive reading and writing in both forms") {
  for (const char* name : {"04_rw_uneven_rows_8r", "05_cw_min_partition_8r",
                           "07_grid_shard_4hosts_32r", "08_dp_mix_4r", "16_sequence_and_pooled_8r",
                           "26_offload_scaleup_10t_4r", "30_custom_topology_uneven_hbm_4r"}) {
    CAPTURE(name);
    const std::string folder = "tests/golden/embedding/";
    const auto problem = problem_of(*read_file(folder + "cases/" + name + ".json.gz"));
    const std::string answer = *read_file(folder + "answers/" + name + ".json.gz");
    const Result<Space> space = read_search_space(answer, problem);
    REQUIRE_MESSAGE(space.ok(), space.error().to_string());

    const std::string expanded = written(**space, ShardForm::kExpanded);
    const auto theirs = JsonDocument::parse(answer);
    const auto ours = JsonDocument::parse(expanded);
    REQUIRE(ours.ok());
    CHECK(same_json(*theirs->root().find("search_space"), *ours->root().find("search_space")));

    const Result<Space> from_expanded = read_search_space(expanded, problem);
    REQUIRE(from_expanded.ok());
    check_equal(**space, **from_expanded);
    const std::string runs = written(**space, ShardForm::kRuns);
    CHECK(runs.size() < expanded.size());
    const Result<Space> from_runs = read_search_space(runs, problem);
    REQUIRE_MESSAGE(from_runs.ok(), from_runs.error().to_string());
    check_equal(**space, **from_runs);
    CHECK(written(**from_runs, ShardForm::kRuns) == runs);
    CHECK(written(**from_runs, ShardForm::kExpanded) == expanded);
  }
}

TEST_CASE("search space json: equal neighbouring shards become a run, all others stay separate") {
  const auto cost = [](std::int64_t hbm) {
    return ShardCost{Storage{Bytes(hbm), Bytes(0)}, Perf{Milliseconds(0.5), {}, {}, {}, {}}};
  };
  ShardRuns runs;
  for (std::int64_t i = 0; i < 3; ++i)
    runs.append({3, 8, 3 * i, 0, 99, 99, 1}, cost(1));
  runs.append({1, 8, 9, 0, 0, 0, 1}, cost(1));
  runs.append({0, 8, 10, 0, 0, 0, 1}, cost(0));
  runs.append({0, 8, 10, 0, 0, 0, 1}, cost(0));
  REQUIRE(runs.layout.extents.size() == 3);
  CHECK(runs.layout.extents[0] == ShardExtent{3, 8, 0, 0, 3, 0, 3});
  CHECK(runs.layout.extents[1] == ShardExtent{1, 8, 9, 0, 0, 0, 1});
  CHECK(runs.layout.extents[2] == ShardExtent{0, 8, 10, 0, 0, 0, 2});
  CHECK(runs.layout.num_shards == 6);

  ShardRuns columns;
  columns.append({10, 2, 0, 0, 0, 2, 2}, cost(1));
  columns.append({10, 2, 0, 4, 0, 2, 2}, cost(1));
  columns.append({10, 2, 0, 8, 0, 0, 1}, cost(2));  // another cost
  columns.append({10, 2, 0, 12, 0, 0, 1}, cost(2));
  columns.append({10, 2, 0, 14, 0, 0, 1}, cost(2));  // another step
  REQUIRE(columns.layout.extents.size() == 3);
  CHECK(columns.layout.extents[0] == ShardExtent{10, 2, 0, 0, 0, 2, 4});
  CHECK(columns.layout.extents[1] == ShardExtent{10, 2, 0, 8, 0, 4, 2});
  CHECK(columns.layout.extents[2].count == 1);
}

TEST_CASE("search space json: runs without a step follow the direction of the cut") {
  const auto space = read_search_space(
      space_with(
          kRowWise,
          R"([{"size": [3, 8], "offset": [0, 0], "count": 3, "hbm": 7, "ddr": 1, "perf": [0, 0, 0, 0, 0.1]},
                     {"size": [1, 8], "offset": [9, 0], "hbm": 7, "ddr": 1, "perf": [0, 0, 0, 0, 0.1]}])"),
      problem_of(kProblem));
  REQUIRE_MESSAGE(space.ok(), space.error().to_string());
  const ShardingOption& option = (*space)->options()[1];
  CHECK(option.table == TableId(0));
  CHECK(option.num_shards() == 4);
  CHECK(option.layout->extents[0] == ShardExtent{3, 8, 0, 0, 3, 0, 3});
  CHECK(option.total_storage() == Storage{Bytes(28), Bytes(4)});
  CHECK(option.batch_size == 512);
  CHECK(option.is_pooled);
}

TEST_CASE("search space json: SSD is read if given, and written where it is counted or not 0") {
  const std::string shards =
      R"([{"size": [10, 8], "offset": [0, 0], "hbm": 7, "ddr": 1, "ssd": 5, "perf": [0, 0, 0, 0, 1]}])";
  const auto space = read_search_space(space_with(kTableWise, shards), problem_of(kProblem));
  REQUIRE_MESSAGE(space.ok(), space.error().to_string());
  CHECK((*space)->options()[1].total_storage() == Storage{Bytes(7), Bytes(1), Bytes(5)});
  const std::string text = written(**space, ShardForm::kRuns);
  CHECK(text.find("\"ssd\":5") != std::string::npos);
  CHECK(text.find("\"ssd\":0") == std::string::npos);
  const auto again = read_search_space(text, problem_of(kProblem));
  REQUIRE_MESSAGE(again.ok(), again.error().to_string());
  check_equal(**space, **again);
  std::string with_ssd = kProblem;
  with_ssd.insert(with_ssd.find("\"world_size\""), "\"ssd_cap\": 9, ");
  const auto counted = read_search_space(text, problem_of(with_ssd));
  REQUIRE_MESSAGE(counted.ok(), counted.error().to_string());
  CHECK(written(**counted, ShardForm::kExpanded).find("\"ssd\":0") != std::string::npos);
  std::string negative = shards;
  negative.replace(negative.find("5,"), 1, "-5");
  CHECK(error_of(space_with(kTableWise, negative)) != "");
}

TEST_CASE(
    "search space json: options that do not belong to the problem are refused with their place") {
  const std::string whole =
      R"([{"size": [10, 8], "offset": [0, 0], "hbm": 1, "ddr": 0, "perf": [1, 2, 3, 4, 5]}])";
  CHECK(error_of(space_with(kTableWise, whole)).empty());
  // Shards that do not cover the table would make every plan invalid.
  for (const char* const size : {"[9, 8]", "[10, 7]"}) {
    std::string part = whole;
    part.replace(part.find("[10, 8]"), 7, size);
    CHECK(
        error_of(space_with(kTableWise, part)) ==
        "/search_space/1/shards: the shards do not hold every row and column of table \"a\" once");
  }
  // A plan file could not tell which of two such options was chosen.
  std::string dearer = whole;
  dearer.replace(dearer.find("[1, 2,"), 6, "[9, 2,");
  std::string twice = space_with(kTableWise, whole);
  twice.insert(twice.size() - 2, R"(, {"table": "a", "compute_kernel": "fused", )" +
                                     std::string(kTableWise) + R"(, "shards": )" + dearer + "}");
  CHECK(error_of(twice) ==
        "/search_space/2/shards: table \"a\" has this option twice, with different costs");
  const std::string table = R"("sharding_type": "table_wise", "module": "nope")";
  CHECK(error_of(space_with(table, whole)).starts_with("/search_space/1: module \"nope\""));
  CHECK(
      error_of(space_with(kRowWise, whole))
          .starts_with(
              "/search_space/1/shards: a row_wise option must have one shard per rank (4), has 1"));
  CHECK(error_of(space_with(R"("sharding_type": "table_row_wise")", whole))
            .starts_with("/search_space/1/shards: a table_row_wise option must have one shard per "
                         "rank of a host"));
  CHECK(error_of(space_with(R"("sharding_type": "table_wise", "partition_by": "host")", whole))
            .starts_with("/search_space/1: table_wise is partitioned by device, not by host"));
  CHECK(error_of(space_with(R"("sharding_type": "table_wise", "num_shards": 2)", whole))
            .starts_with("/search_space/1: num_shards is 2, but there are 1 shards"));
  CHECK(error_of(space_with(R"("sharding_type": "table_wise", "shard": 2)", whole))
            .starts_with("/search_space/1/shard: unknown key"));
  CHECK(error_of(R"({"search_space": []})")
            .starts_with("/search_space: has no option for table \"a\""));
  CHECK(error_of("{}") ==
        "the file has no key \"search_space\"; `shardwright enumerate` writes such a file");
  CHECK(
      error_of(
          R"({"search_space": [{"table": "z", "sharding_type": "row_wise", "compute_kernel": "fused", "shards": []}]})")
          .starts_with("/search_space/0: the problem has no table \"z\""));
}

TEST_CASE("search space json: impossible sizes and costs are refused with their place") {
  const auto with = [](const std::string& shard) {
    return error_of(space_with(kTableWise, "[" + shard + "]"));
  };
  const std::string at = "/search_space/1/shards/0";
  CHECK(error_of(space_with(kTableWise, "[]"))
            .starts_with("/search_space/1/shards: expected a list of shards"));
  CHECK(with(R"({"size": [10, 9], "offset": [0, 0], "hbm": 1, "ddr": 0, "perf": [1, 2, 3, 4, 5]})")
            .starts_with(at + ": the shard is not within table \"a\" of 10 x 8"));
  CHECK(with(R"({"size": [10, 8], "offset": [1, 0], "hbm": 1, "ddr": 0, "perf": [1, 2, 3, 4, 5]})")
            .starts_with(at + ": the shard is not within"));
  CHECK(with(R"({"size": [-1, 8], "offset": [0, 0], "hbm": 1, "ddr": 0, "perf": [1, 2, 3, 4, 5]})")
            .starts_with(at + ": the shard is not within"));
  CHECK(with(R"({"size": [10], "offset": [0, 0], "hbm": 1, "ddr": 0, "perf": [1, 2, 3, 4, 5]})")
            .starts_with(at + "/size: expected a list [rows, columns]"));
  CHECK(with(R"({"size": [10, 8], "offset": [0, 0], "hbm": -1, "ddr": 0, "perf": [1, 2, 3, 4, 5]})")
            .starts_with(at + "/hbm: expected a number of bytes"));
  CHECK(
      with(
          R"({"size": [10, 8], "offset": [0, 0], "hbm": 9000000000000000000, "ddr": 0, "perf": [1, 2, 3, 4, 5]})")
          .starts_with(at + ": the bytes of the shards exceed"));
  CHECK(with(R"({"size": [10, 8], "offset": [0, 0], "hbm": 1, "ddr": 0, "perf": [1, 2, 3, 4]})")
            .starts_with(at + "/perf: expected a list [fwd_compute"));
  CHECK(with(R"({"size": [10, 8], "offset": [0, 0], "hbm": 1, "ddr": 0, "perf": [1, -2, 3, 4, 5]})")
            .starts_with(at + "/perf/1: expected a time, 0 or above"));
  CHECK(
      with(
          R"({"size": [1, 8], "offset": [0, 0], "count": 0, "hbm": 1, "ddr": 0, "perf": [1, 2, 3, 4, 5]})")
          .starts_with(at + ": count must be between 1 and 2^24"));
  CHECK(
      with(
          R"({"size": [1, 8], "offset": [0, 0], "count": 16777216, "step": [1, 0], "hbm": 1, "ddr": 0, "perf": [1, 2, 3, 4, 5]})")
          .starts_with(at + ": the shard is not within"));
}

TEST_CASE("search space json: a table name that two modules share needs its module") {
  const auto problem = problem_of(R"({"topology": {"world_size": 1}, "tables": [
    {"name": "a", "num_embeddings": 6, "embedding_dim": 4, "module": "m"},
    {"name": "a", "num_embeddings": 6, "embedding_dim": 4, "module": "n"}]})");
  const std::string text = R"({"search_space": [{"table": "a", "sharding_type": "table_wise",
    "compute_kernel": "fused", "shards": []}]})";
  const auto space = read_search_space(text, problem);
  REQUIRE_FALSE(space.ok());
  CHECK(space.error().to_string() ==
        "/search_space/0: several modules have a table \"a\"; give `module`");
}

}  // namespace shardwright::search_space_json_test
