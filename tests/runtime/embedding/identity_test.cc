// Hashes of problems and plans: what they depend on, and what they ignore.
#include "runtime/embedding/identity.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/problem_json.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::identity_test {

namespace {

using namespace shardwright;
using embedding::Plan;
using embedding::Problem;
using embedding::Rank;
using embedding::ShardingOption;
using embedding::ShardingType;
using embedding::TableId;

std::shared_ptr<const Problem> problem(const std::string& text) {
  INFO(text);
  Result<embedding::ProblemSpec> spec = read_problem(text);
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  Result<Problem> made = Problem::make(std::move(spec).value());
  REQUIRE_MESSAGE(made.ok(), made.error().to_string());
  return std::make_shared<const Problem>(std::move(made).value());
}

const std::string kTables = R"([
  {"name": "a", "num_embeddings": 1000, "embedding_dim": 256, "features": ["f", "g"]},
  {"name": "b", "num_embeddings": 2000, "embedding_dim": 64, "data_type": "FP16"}])";

// Returns a problem of two tables on four ranks, plus `members`.
std::string with(const std::string& members, const std::string& tables = kTables) {
  return R"({"topology": {"world_size": 4, "local_world_size": 2}, "tables": )" + tables +
         (members.empty() ? "" : ", ") + members + "}";
}

std::string hash(const std::string& text) { return identify(*problem(text)).hash; }

// Returns a problem of two tables on the given topology.
std::string on(const std::string& topology) {
  return R"({"topology": {)" + topology + R"(}, "tables": )" + kTables + "}";
}

}  // namespace

TEST_CASE("identity: the hash of a problem is that of all earlier versions") {
  CHECK(hash(with(R"("torchrec": "a48cef79")")) == "problem1:e9c02dc01e893dcefe2fd06c84725888");
  CHECK(hash(with("")) == "problem1:20225d3631fb053b8295fd241ac4dc72");
}

TEST_CASE("identity: order of keys, white space and explicit defaults change nothing") {
  const std::string plain = hash(with(""));
  CHECK(hash(R"({"tables":[{"features":[],"embedding_dim":64,"data_type":"fp16","name":"b",
      "num_embeddings":2000,"kind":"pooled","weighted":false,"module":"ebc","pooling":"MEAN"},
      {"name":"a","embedding_dim":256,"num_embeddings":1000}],
      "topology":{"local_world_size":2,"world_size":4}})") == plain);
  CHECK(hash(on(R"("world_size": 4, "local_world_size": 2, "compute_device": "cuda",
      "hbm_cap": 34359738368, "ddr_cap": 137438953472, "intra_host_bw": 644245094.4,
      "bwd_compute_multiplier": 2)")) == plain);
  CHECK(hash(with(R"("name": "other", "batch_size": 512, "dense_params": 0,
      "sharder": {"type": "training", "fused_params": {"prefetch_pipeline": false}},
      "storage_estimator": {"pipeline_type": "none", "is_inference": false},
      "reservation": {"type": "heuristical", "percentage": 0.15, "parameter_multiplier": 6.0},
      "perf_model": "perf", "reserved_memory": {"hbm": 0, "ddr": [0, 0, 0, 0]},
      "memory_margin": 0, "calibration": {"kernels": {"fused": {"time": 1, "memory": 1.0}},
                                          "ranks": {"time": [1, 1, 1, 1]}})")) == plain);
  CHECK(hash(with(R"("constraints": {"a": {}, "b": {
      "sharding_types": ["table_wise", "row_wise", "data_parallel", "column_wise",
                         "table_row_wise", "table_column_wise"],
      "compute_kernels": ["dense", "fused_uvm_caching", "fused", "fused_uvm"],
      "min_partition": 128, "pooling_factors": [1.0], "num_poolings": [1.0],
      "batch_sizes": [512], "enforce_hbm": true, "cache_params": {"algorithm": "LRU"},
      "device_group": "cuda"}})")) == plain);
}

TEST_CASE("identity: settings of the search change only the search hash") {
  const auto plain = problem(with(""));
  for (const char* const members :
       {R"("proposers": [{"type": "greedy"}])", R"("partitioner": {"sort_by": "perf"})",
        R"("use_exact_enumerate_order": true)",
        R"("constraints": {"a": {"sharding_types": ["row_wise", "table_wise", "data_parallel",
           "column_wise", "table_row_wise", "table_column_wise"]}})"}) {
    CAPTURE(members);
    const auto other = problem(with(members));
    CHECK(identify(*other) == identify(*plain));
    CHECK(search_hash(*other) != search_hash(*plain));
  }
  CHECK(search_hash(*problem(with(R"("proposers": [{"type": "grid"}, {"type": "greedy"},
      {"type": "greedy", "use_depth": false}, {"type": "uniform"}])"))) == search_hash(*plain));
}

TEST_CASE("identity: the order of sets and groups does not matter") {
  CHECK(hash(with(R"("constraints": {"a": {"sharding_types": ["row_wise", "table_wise"],
                        "ranks": [3, 1], "shard_ranks": {"1": [1, 3], "0": [1]}}},
                     "keep_apart": [["b", "a"], {"tables": ["a", "b"], "on": "host"}])")) ==
        hash(with(R"("keep_apart": [{"on": "host", "tables": ["b", "a"]},
                                    {"tables": ["a", "b"], "on": "rank"}],
                     "constraints": {"a": {"shard_ranks": {"0": [1], "1": [3, 1]}, "ranks": [1, 3],
                        "sharding_types": ["table_wise", "row_wise"]}})")));
  CHECK(hash(with(R"("calibration": {"kernels": {"fused": {"time": 2}, "fused_uvm": {"memory": 2},
                     "dense": {"comms": [{"dim": 4, "comms": 1.0}]}}})")) ==
        hash(with(R"("calibration": {"kernels": {"fused_uvm": {"memory": 2.0},
                     "fused": {"time": [{"dim": 64, "time": 2}, {"dim": 128, "time": 2}]}}})")));
  CHECK(hash(with(R"("reserved_memory": {"hbm": 5})")) ==
        hash(with(R"("reserved_memory": {"hbm": [5, 5, 5, 5]})")));
}

TEST_CASE(
    "identity: everything that decides validity or cost of a plan changes its own part of the "
    "identity") {
  const std::vector<std::pair<const char*, std::string>> changes{
      {"topology", on(R"("world_size": 8, "local_world_size": 2)")},
      {"topology", on(R"("world_size": 4, "local_world_size": 4)")},
      {"topology", on(R"("world_size": 4, "local_world_size": 2, "hbm_cap": 34359738367)")},
      {"topology", on(R"("world_size": 4, "local_world_size": 2, "ddr_cap": 137438953471)")},
      {"topology", on(R"("world_size": 4, "local_world_size": 2, "compute_device": "mtia")")},
      {"topology", on(R"("world_size": 4, "local_world_size": 2,
                         "inter_host_bw": 13421772.800000002)")},
      {"topology", on(R"("world_size": 4, "local_world_size": 2, "custom":
                         {"hbm_cap": [34359738368, 34359738368, 34359738368, 34359738367]})")},
      {"batch_size", with(R"("batch_size": 513)")},
      {"tables", with("", R"([{"name": "a", "num_embeddings": 1000, "embedding_dim": 256}])")},
      {"constraints", with(R"("constraints": {"a": {"pooling_factors": [1.0000000000000002]}})")},
      {"constraints", with(R"("constraints": {"a": {"pooling_factors": [1, 1]}})")},
      {"constraints", with(R"("constraints": {"a": {"num_poolings": [2]}})")},
      {"constraints", with(R"("constraints": {"a": {"batch_sizes": [511]}})")},
      {"constraints", with(R"("constraints": {"a": {"min_partition": 64}})")},
      {"constraints", with(R"("constraints": {"a": {"sharding_types": ["row_wise"]}})")},
      {"constraints", with(R"("constraints": {"b": {"sharding_types": ["row_wise"]}})")},
      {"constraints",
       with(R"("constraints": {"a": {"compute_kernels": ["fused", "ssd_virtual_table"]}})")},
      {"constraints", with(R"("constraints": {"a": {"output_dtype": "FP16"}})")},
      {"constraints", with(R"("constraints": {"a": {"device_group": "cpu"}})")},
      {"constraints", with(R"("constraints": {"a": {"cache_params": {"load_factor": 0.2}}})")},
      {"constraints", with(R"("constraints": {"a": {"cache_params": {"stats": {"cacheability": 0.1,
                              "expected_lookups": 3, "mrc_hist_counts": [1, 2], "height": 9}}}})")},
      {"constraints", with(R"("constraints": {"a": {"key_value_params":
                              {"max_l1_cache_size": 3}}})")},
      {"constraints", with(R"("constraints": {"a": {"ranks": [0]}})")},
      {"constraints", with(R"("constraints": {"a": {"hosts": [0]}})")},
      {"constraints", with(R"("constraints": {"a": {"shard_ranks": {"0": [0]}}})")},
      {"constraints", with(R"("constraints": {"a": {"max_shards": 2}})")},
      {"constraints", with(R"("constraints": {"a": {"distinct_ranks": true}})")},
      {"keep_together", with(R"("keep_together": [["a", "b"]])")},
      {"keep_apart", with(R"("keep_apart": [["a", "b"]])")},
      {"sharder", with(R"("sharder": {"fused_params": {"cache_load_factor": 0.3}})")},
      {"sharder", with(R"("sharder": {"qcomm_codecs": {"pooled_all_to_all":
                          {"forward": "FP16"}}})")},
      {"sharder", with(R"("sharder": {"qcomm_codecs": {"pooled_reduce_scatter":
                          {"forward": "FP16"}}})")},
      {"storage_estimator", with(R"("storage_estimator": {"pipeline_type": "train_sparse_dist"})")},
      {"storage_estimator", with(R"("storage_estimator": {"is_inference": true})")},
      {"perf_estimator", with(R"("perf_estimator": {"is_inference": true})")},
      {"perf_model", with(R"("perf_model": "storage")")},
      {"reservation", with(R"("reservation": {"type": "fixed"})")},
      {"reservation", with(R"("reservation": {"type": "none"})")},
      {"reservation", with(R"("reservation": {"percentage": 0.15000000000000002})")},
      {"dense_params", with(R"("dense_params": 1)")},
      {"reserved_memory", with(R"("reserved_memory": {"hbm": 1})")},
      {"reserved_memory", with(R"("reserved_memory": {"ddr": 1})")},
      {"memory_margin", with(R"("memory_margin": {"hbm": 1024})")},
      {"memory_margin", with(R"("memory_margin": {"hbm": 0.1})")},
      {"memory_margin", with(R"("memory_margin": {"ddr": 0.1})")},
      {"calibration", with(R"("calibration": {"kernels": {"fused": {"time": 1.5}}})")},
      {"calibration", with(R"("calibration": {"kernels": {"fused": {"comms": 1.5}}})")},
      {"calibration", with(R"("calibration": {"kernels": {"fused": {"memory": 1.5}}})")},
      {"calibration", with(R"("calibration": {"ranks": {"time": [1, 1, 1, 2]}})")},
  };
  const ProblemIdentity plain = identify(*problem(with("")));
  std::set<std::string> seen{plain.hash};
  for (const auto& change : changes) {
    const auto& part = change.first;  // clang 14 captures no structured binding
    const auto& text = change.second;
    CAPTURE(text);
    const ProblemIdentity changed = identify(*problem(text));
    CHECK(seen.insert(changed.hash).second);
    CHECK(differing_parts(plain.parts, changed.parts) == part);
  }
}

TEST_CASE("identity: different values of a table give different hashes") {
  const auto table = [](const std::string& members) {
    return hash(with(
        "", R"([{"name": "a", "num_embeddings": 1000, "embedding_dim": 256)" + members + "}]"));
  };
  std::set<std::string> seen;
  for (const char* const members :
       {"", R"(, "kind": "sequence")", R"(, "weighted": true)", R"(, "data_type": "FP16")",
        R"(, "optimizer": "Adam")", R"(, "module": "m")", R"(, "dependency": "d")",
        R"(, "tower": true)", R"(, "tower": true, "dependency": "d")",
        R"(, "use_virtual_table": true)", R"(, "use_virtual_table": true, "total_num_buckets": 4)",
        R"(, "pooling_factor": 3)"}) {
    CAPTURE(members);
    CHECK(seen.insert(table(members)).second);
  }
}

TEST_CASE("identity: a given search space is part of the identity, in any order") {
  const auto own = problem(with(""));
  const auto space = enumerate_embedding(own);
  REQUIRE(space.ok());
  const auto identity_of = [&](bool reversed, std::int64_t more_bytes) {
    std::vector<ShardingOption> options((*space)->options().begin(), (*space)->options().end());
    if (reversed) std::reverse(options.begin(), options.end());
    options.front().costs.front().storage.hbm += Bytes(more_bytes);
    return identify(*own, embedding::SearchSpace::make(own, nullptr, std::move(options)).get());
  };
  CHECK(identity_of(false, 0).hash != identify(*own).hash);
  CHECK(identity_of(false, 0) == identity_of(true, 0));
  CHECK(differing_parts(identity_of(false, 0).parts, identity_of(false, 1).parts) ==
        "search_space");
}

TEST_CASE("identity: differing parts are named once, and in a sentence") {
  const ProblemParts a{{"topology", "1"}, {"tables", "2"}, {"sharder", "3"}};
  const ProblemParts b{{"topology", "4"}, {"tables", "5"}, {"keep_apart", "6"}};
  CHECK(differing_parts(a, b) == "topology, tables, sharder and keep_apart");
  CHECK(differing_parts(a, {}) == "parts that are not recorded");
}

TEST_CASE("identity: a plan's hash follows its decisions, not the order of its tables") {
  const auto own =
      std::make_shared<const Problem>(Problem::make(test_support::problem_spec(2, 4, 4)).value());
  test_support::OptionStore store;
  const ShardingOption& wide = store.add_even(TableId(0), ShardingType::kColumnWise, 2);
  const ShardingOption& whole = store.add_even(TableId(1), ShardingType::kTableWise, 1);
  ShardingOption cached = wide;
  cached.load_factor = 0.5;
  ShardingOption uvm = wide;
  uvm.compute_kernel = embedding::ComputeKernel::kFusedUvm;
  const auto of = [&](std::vector<const ShardingOption*> options, std::vector<Rank> ranks) {
    return plan_hash(*own, Plan::make(nullptr, options, ranks));
  };
  const std::string plain = of({&wide, &whole}, {1, 2, 3});
  CHECK(plain.starts_with("plan1:"));
  CHECK(of({&whole, &wide}, {3, 1, 2}) == plain);
  std::set<std::string> seen{plain};
  CHECK(seen.insert(of({&wide, &whole}, {2, 1, 3})).second);
  CHECK(seen.insert(of({&wide, &whole}, {1, 2, 0})).second);
  CHECK(seen.insert(of({&cached, &whole}, {1, 2, 3})).second);
  CHECK(seen.insert(of({&uvm, &whole}, {1, 2, 3})).second);
  CHECK(seen.insert(of({&wide}, {1, 2})).second);
}

}  // namespace shardwright::identity_test
