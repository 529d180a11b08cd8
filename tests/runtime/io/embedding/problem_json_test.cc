// Problem files: every key, workloads, overrides, recorded cases.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "core/embedding/problem/problem.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/file.h"

namespace shardwright::problem_json_test {

using namespace shardwright::embedding;
using shardwright::kGibibyte;
using shardwright::ProblemOverrides;
using shardwright::read_file;
using shardwright::read_problem;
using shardwright::Result;

namespace {

// Returns a problem of two ranks and one table, plus `members`.
ProblemSpec read(const std::string& members) {
  const Result<ProblemSpec> spec = read_problem(
      R"({"topology": {"world_size": 2}, "tables": [{"name": "a", "num_embeddings": 10,
          "embedding_dim": 4, "features": ["f", "g"]}])" +
      members + "}");
  INFO(members);
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  return *spec;
}

constexpr const char* kWorkload = R"({
  "name": "w", "source": "somewhere",
  "tables": [
    {"name": "a", "num_embeddings": 100, "embedding_dim": 8, "pooling_factor": 6.0,
     "features": ["x", "y", "z"], "weighted": false, "data_type": "fp16"},
    {"name": "b", "num_embeddings": 100, "embedding_dim": 8, "pooling_factor": 2.5, "data_type": "Int8"},
    {"name": "c", "num_embeddings": 100, "embedding_dim": 8, "pooling_factor": 11,
     "features": [{"name": "c0", "pooling_factor": 1}, {"name": "c1", "pooling_factor": 10}]},
    {"name": "d", "num_embeddings": 100, "embedding_dim": 8, "pooling_factor": 3}
  ],
  "constraints": {"d": {"pooling_factors": [7.5]}, "b": {"min_partition": 4}},
  "meta": {"kind": "exact", "anything": {"goes": 1}, "topologies": [
    {"world_size": 16, "local_world_size": 8, "hbm_gib": 80, "ddr_gib": 192, "global_batch": 65536, "hbm_fill": 0.1},
    {"world_size": 32, "local_world_size": 8, "hbm_gib": 40, "batch_per_gpu": 7}]}
})";

}  // namespace

TEST_CASE("problem json: a minimal file gets defaults for everything else") {
  const ProblemSpec spec = read("");
  CHECK(spec.batch_size == 512);
  CHECK(spec.tables.size() == 1);
  CHECK(spec.tables[0].data_type == DataType::kFp32);
  CHECK(spec.tables[0].kind == TableKind::kPooled);
  CHECK(spec.tables[0].optimizer == Optimizer::kUnset);
  CHECK_FALSE(spec.tables[0].constraints.has_value());
  CHECK(spec.proposers.empty());
  CHECK(spec.reservation.percentage == 0.15);
  const Result<Problem> problem = Problem::make(spec);
  REQUIRE(problem.ok());
  CHECK(problem->topology().local_world_size() == 2);
  CHECK(problem->tables()[0].module == "ebc");
}

TEST_CASE("problem json: every key of a topology is read") {
  const Result<ProblemSpec> spec = read_problem(R"({
    "format": "shardwright.embedding/1", "name": "n", "batch_size": 64,
    "topology": {"world_size": 4, "local_world_size": 2, "compute_device": "mtia", "hbm_cap": 5000, "ddr_cap": 6000, "ssd_cap": 7000,
      "ssd_mem_bw": 9.5, "intra_host_bw": 1.5, "inter_host_bw": 2.5, "hbm_mem_bw": 3.5, "ddr_mem_bw": 4.5,
      "hbm_to_ddr_mem_bw": 5.5, "bwd_compute_multiplier": 6.5, "weighted_feature_bwd_compute_multiplier": 7.5,
      "uneven_sharding_perf_multiplier": 8.5, "custom": {"hbm_cap": [1100, 1200, 1300, 1400],
        "ddr_cap": [1500, 1600, 1700, 1800], "ssd_cap": [0, 1900, 0, 1900]}},
    "tables": [{"name": "a", "num_embeddings": 8, "embedding_dim": 4}]})");
  REQUIRE(spec.ok());
  const TopologySpec& t = spec->topology;
  CHECK(spec->name == "n");
  CHECK(spec->batch_size == 64);
  CHECK(t.world_size == 4);
  CHECK(t.local_world_size == 2);
  CHECK(t.compute_device == ComputeDevice::kMtia);
  CHECK(t.hbm_cap_bytes == 5000);
  CHECK(t.ddr_cap_bytes == 6000);
  CHECK(t.ssd_cap_bytes == 7000);
  CHECK(t.ssd_mem_bw == 9.5);
  CHECK(t.intra_host_bw == 1.5);
  CHECK(t.inter_host_bw == 2.5);
  CHECK(t.hbm_mem_bw == 3.5);
  CHECK(t.ddr_mem_bw == 4.5);
  CHECK(t.hbm_to_ddr_mem_bw == 5.5);
  CHECK(t.bwd_compute_multiplier == 6.5);
  CHECK(t.weighted_feature_bwd_compute_multiplier == 7.5);
  CHECK(t.uneven_sharding_perf_multiplier == 8.5);
  CHECK(t.custom_hbm_cap_bytes == std::vector<std::int64_t>{1100, 1200, 1300, 1400});
  CHECK(t.custom_ddr_cap_bytes == std::vector<std::int64_t>{1500, 1600, 1700, 1800});
  CHECK(t.custom_ssd_cap_bytes == std::vector<std::int64_t>{0, 1900, 0, 1900});
}

TEST_CASE("problem json: every key of a table is read") {
  const Result<ProblemSpec> spec = read_problem(R"({"topology": {"world_size": 1}, "tables": [
    {"name": "a", "num_embeddings": 8, "embedding_dim": 4, "features": ["f"], "kind": "sequence",
     "weighted": true, "data_type": "NFP8", "pooling": "mean", "module": "m", "optimizer": "rowwiseadagrad",
     "dependency": "tower", "use_virtual_table": true, "total_num_buckets": 4},
    {"name": "b", "num_embeddings": 8, "embedding_dim": 4, "optimizer": "LAMB", "tower": true},
    {"name": "c", "num_embeddings": 8, "embedding_dim": 4, "optimizer": null}]})");
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  const Table& a = spec->tables[0];
  CHECK(a.features == std::vector<std::string>{"f"});
  CHECK(a.kind == TableKind::kSequence);
  CHECK(a.weighted);
  CHECK(a.data_type == DataType::kNfp8);
  CHECK(a.pooling == Pooling::kMean);
  CHECK(a.module == "m");
  CHECK(a.optimizer == Optimizer::kRowWiseAdagrad);
  CHECK(a.dependency == "tower");
  CHECK(a.use_virtual_table);
  CHECK(a.total_num_buckets == 4);
  CHECK_FALSE(a.tower);
  CHECK(spec->tables[1].tower);
  CHECK(spec->tables[1].optimizer == Optimizer::kOther);
  CHECK(spec->tables[2].optimizer == Optimizer::kUnset);
}

TEST_CASE("problem json: every key of the constraints is read") {
  const ProblemSpec spec = read(R"(, "constraints": {"a": {
    "sharding_types": ["table_wise", "grid_shard"], "compute_kernels": ["fused", "key_value"],
    "min_partition": 32, "pooling_factors": [1.5, 2], "num_poolings": [3, 4.5], "batch_sizes": [5, 6],
    "is_weighted": true, "enforce_hbm": false, "stochastic_rounding": true, "bounds_check_mode": "WARNING",
    "feature_names": ["f", "g"], "output_dtype": "fp16", "device_group": "gpu", "use_virtual_table": true,
    "cache_params": {"algorithm": "lfu", "load_factor": 0.25, "reserved_memory": 1.5, "precision": "FP16",
      "prefetch_pipeline": true, "multipass_prefetch_config": {"num_passes": 3},
      "stats": {"cacheability": 0.5, "expected_lookups": 7, "mrc_hist_counts": [1, 2.5], "height": 9}},
    "key_value_params": {"max_l1_cache_size": 11, "l2_cache_size": 12, "ps_hosts": [["h", 1]],
      "gather_ssd_cache_stats": true}}})");
  REQUIRE(spec.tables[0].constraints.has_value());
  const ParameterConstraints& c = *spec.tables[0].constraints;
  CHECK(c.sharding_types ==
        std::vector<ShardingType>{ShardingType::kTableWise, ShardingType::kGridShard});
  CHECK(c.compute_kernels ==
        std::vector<ComputeKernel>{ComputeKernel::kFused, ComputeKernel::kKeyValue});
  CHECK(c.min_partition == 32);
  CHECK(c.pooling_factors == std::vector<double>{1.5, 2});
  CHECK(c.num_poolings == std::vector<double>{3, 4.5});
  CHECK(c.batch_sizes == std::vector<std::int64_t>{5, 6});
  CHECK(c.is_weighted);
  CHECK(c.enforce_hbm == false);
  CHECK(c.stochastic_rounding == true);
  CHECK(c.bounds_check_mode == "WARNING");
  CHECK(c.feature_names == std::vector<std::string>{"f", "g"});
  CHECK(c.output_dtype == DataType::kFp16);
  CHECK(c.device_group == "gpu");
  CHECK(c.use_virtual_table);
  REQUIRE(c.cache_params.has_value());
  CHECK(c.cache_params->algorithm == CacheAlgorithm::kLfu);
  CHECK(c.cache_params->load_factor == 0.25);
  CHECK(c.cache_params->reserved_memory == 1.5);
  CHECK(c.cache_params->precision == DataType::kFp16);
  CHECK(c.cache_params->prefetch_pipeline == true);
  CHECK(c.cache_params->prefetch_passes == 3);
  REQUIRE(c.cache_params->stats.has_value());
  CHECK(c.cache_params->stats->cacheability == 0.5);
  CHECK(c.cache_params->stats->expected_lookups == 7);
  CHECK(c.cache_params->stats->mrc_hist_counts == std::vector<double>{1, 2.5});
  CHECK(c.cache_params->stats->height == 9);
  REQUIRE(c.key_value_params.has_value());
  CHECK(c.key_value_params->max_l1_cache_size_mib == 11);
  CHECK(c.key_value_params->l2_cache_size_gib == 12);
}

TEST_CASE("problem json: every part of the planner is read") {
  const ProblemSpec spec = read(R"(, "dense_params": 1000, "perf_model": "storage",
    "sharder": {"type": "quant", "fused_params": {"cache_load_factor": 0.5, "prefetch_pipeline": true,
        "multipass_prefetch_config": {"num_passes": 2}},
      "qcomm_codecs": {"pooled_all_to_all": {"forward": "fp16", "backward": "bf16"},
        "sequence_all_to_all": {"forward": "INT8"}, "pooled_reduce_scatter": {"backward": "FP16"}}},
    "storage_estimator": {"pipeline_type": "TRAIN_PREFETCH_SPARSE_DIST", "run_embedding_at_peak_memory": true,
      "is_inference": true}, "perf_estimator": {"is_inference": true},
    "reservation": {"type": "inference", "percentage": 0.25, "parameter_multiplier": 2, "dense_tensor_estimate": 77},
    "proposers": [{"type": "grid", "max_proposals": 5}, {"type": "greedy", "use_depth": false, "threshold": 9},
      {"type": "uniform"}, {"type": "dp", "hbm_bins_per_device": 50}, {"type": "scaleup"}],
    "partitioner": {"type": "memory_balanced", "sort_by": "perf", "balance_modules": true, "max_search_count": 3,
      "tolerance": 0.5}, "use_exact_enumerate_order": true)");
  CHECK(spec.dense_params == 1000);
  CHECK(spec.perf_model == PerfModel::kStorage);
  CHECK(spec.sharder.type == SharderSpec::Type::kQuant);
  CHECK(spec.sharder.cache_load_factor == 0.5);
  CHECK(spec.sharder.prefetch_pipeline == true);
  CHECK(spec.sharder.prefetch_passes == 2);
  CHECK(spec.sharder.pooled_all_to_all.forward == DataType::kFp16);
  CHECK(spec.sharder.pooled_all_to_all.backward == DataType::kBf16);
  CHECK(spec.sharder.sequence_all_to_all.forward == DataType::kInt8);
  // A direction that the codec does not name has type torch.float.
  CHECK(spec.sharder.sequence_all_to_all.backward == DataType::kFp32);
  CHECK(spec.sharder.pooled_reduce_scatter.forward == DataType::kFp32);
  CHECK(spec.sharder.pooled_reduce_scatter.backward == DataType::kFp16);
  CHECK(spec.storage_estimator.pipeline_type == PipelineType::kTrainPrefetchSparseDist);
  CHECK(spec.storage_estimator.run_embedding_at_peak_memory);
  CHECK(spec.storage_estimator.is_inference);
  CHECK(spec.perf_estimator.is_inference);
  CHECK(spec.reservation.type == ReservationSpec::Type::kInference);
  CHECK(spec.reservation.percentage == 0.25);
  CHECK(spec.reservation.parameter_multiplier == 2);
  CHECK(spec.reservation.dense_tensor_estimate_bytes == 77);
  REQUIRE(spec.proposers.size() == 5);
  CHECK(spec.proposers[0].type == ProposerSpec::Type::kGrid);
  CHECK(spec.proposers[0].max_proposals == 5);
  CHECK_FALSE(spec.proposers[1].use_depth);
  CHECK(spec.proposers[1].threshold == 9);
  CHECK(spec.proposers[2].type == ProposerSpec::Type::kUniform);
  CHECK(spec.proposers[3].type == ProposerSpec::Type::kDynamicProgramming);
  CHECK(spec.proposers[3].hbm_bins_per_device == 50);
  CHECK(spec.proposers[4].type == ProposerSpec::Type::kScaleup);
  CHECK(spec.partitioner.type == PartitionerSpec::Type::kMemoryBalanced);
  CHECK(spec.partitioner.sort_by == PartitionerSpec::SortBy::kPerf);
  CHECK(spec.partitioner.balance_modules);
  CHECK(spec.partitioner.max_search_count == 3);
  CHECK(spec.partitioner.tolerance == 0.5);
  CHECK(spec.use_exact_enumerate_order);
}

TEST_CASE("problem json: keys that only answers carry are ignored") {
  const ProblemSpec spec = read(R"(, "expected": {"x": 1}, "group": "g", "timing": [], "note": "n",
    "num_proposals": 3, "plan": [], "error": {}, "proposals_note": "p")");
  CHECK(spec.tables.size() == 1);
}

TEST_CASE("problem json: a workload gives pooling factors and a topology") {
  const Result<ProblemSpec> spec = read_problem(kWorkload);
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  CHECK(spec->topology.world_size == 16);
  CHECK(spec->topology.local_world_size == 8);
  CHECK(spec->topology.hbm_cap_bytes == 80 * kGibibyte);
  CHECK(spec->topology.ddr_cap_bytes == 192 * kGibibyte);
  CHECK(spec->batch_size == 65536 / 16);
  CHECK(spec->tables[0].data_type == DataType::kFp16);
  CHECK(spec->tables[1].data_type == DataType::kInt8);
  CHECK(spec->tables[0].constraints->pooling_factors == std::vector<double>{2, 2, 2});
  CHECK(spec->tables[1].constraints->pooling_factors == std::vector<double>{2.5});
  CHECK(spec->tables[1].constraints->min_partition == 4);
  CHECK(spec->tables[1].features == std::vector<std::string>{"b"});
  CHECK(spec->tables[2].constraints->pooling_factors == std::vector<double>{1, 10});
  CHECK(spec->tables[2].features == std::vector<std::string>{"c0", "c1"});
  CHECK(spec->tables[3].constraints->pooling_factors == std::vector<double>{7.5});
}

TEST_CASE("problem json: flags override the file") {
  ProblemOverrides overrides;
  overrides.ranks = 32;
  overrides.ranks_per_host = 4;
  overrides.hbm_bytes = 7 * kGibibyte;
  overrides.ddr_bytes = 9 * kGibibyte;
  overrides.ssd_bytes = 11 * kGibibyte;
  overrides.device = ComputeDevice::kMtia;
  Result<ProblemSpec> spec = read_problem(kWorkload, overrides);
  REQUIRE(spec.ok());
  CHECK(spec->topology.world_size == 32);
  CHECK(spec->topology.local_world_size == 4);
  CHECK(spec->topology.hbm_cap_bytes == 7 * kGibibyte);
  CHECK(spec->topology.ddr_cap_bytes == 9 * kGibibyte);
  CHECK(spec->topology.ssd_cap_bytes == 11 * kGibibyte);
  CHECK(spec->topology.compute_device == ComputeDevice::kMtia);
  // The global batch is divided among the ranks.
  CHECK(spec->batch_size == 65536 / 32);

  overrides.batch_size = 99;
  spec = read_problem(kWorkload, overrides);
  REQUIRE(spec.ok());
  CHECK(spec->batch_size == 99);

  // With fewer ranks than a host of the file has, all ranks are on one host.
  ProblemOverrides few;
  few.ranks = 4;
  spec = read_problem(kWorkload, few);
  REQUIRE(spec.ok());
  CHECK(spec->topology.local_world_size == 4);
}

TEST_CASE("problem json: a file without ranks says what to do") {
  const std::string text =
      R"({"tables": [{"name": "a", "num_embeddings": 8, "embedding_dim": 4}]})";
  const Result<ProblemSpec> missing = read_problem(text);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().where.empty());
  CHECK(missing.error().message.find("{ranks}") != std::string::npos);
  ProblemOverrides overrides;
  overrides.ranks = 8;
  CHECK(read_problem(text, overrides).ok());
}

TEST_CASE("problem json: every recorded case and workload is read and valid") {
  std::size_t files = 0;
  for (const char* folder : {"tests/golden/embedding/cases", "tests/golden/workloads"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      CAPTURE(entry.path().string());
      const Result<std::string> text = read_file(entry.path().string());
      REQUIRE(text.ok());
      const Result<ProblemSpec> spec = read_problem(*text);
      REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
      const Result<Problem> problem = Problem::make(*spec);
      REQUIRE_MESSAGE(problem.ok(), problem.error().to_string());
      ++files;
    }
  }
  CHECK(files == 39 + 45);
}

}  // namespace shardwright::problem_json_test
