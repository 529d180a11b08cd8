// Problems: defaults, and every input that is refused, with its place.
#include "core/embedding/problem/problem.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::problem_test {

namespace {

using namespace shardwright::embedding;
using shardwright::ErrorCode;
using shardwright::Result;
using shardwright::test_support::problem_spec;

// Changes a problem of three tables on 4 ranks. Returns the place of the error, or "accepted".
template <class Change>
std::string refused_with(const Change& change) {
  ProblemSpec spec = problem_spec(3, 4, 2);
  change(spec);
  const Result<Problem> result = Problem::make(std::move(spec));
  if (result.ok()) return "accepted";
  CHECK(result.error().code == ErrorCode::kInvalidInput);
  CHECK_FALSE(result.error().message.empty());
  return result.error().where;
}

template <class Change>
std::string refused_with_constraints(const Change& change) {
  return refused_with([&](ProblemSpec& spec) { change(spec.tables[1].constraints.emplace()); });
}

template <class Change>
std::string refused_with_cache_statistics(const Change& change) {
  return refused_with_constraints([&](ParameterConstraints& constraints) {
    CacheStatistics statistics;
    statistics.mrc_hist_counts = {1, 2};
    change(statistics);
    constraints.cache_params.emplace().stats = statistics;
  });
}

}  // namespace

TEST_CASE("problem: keeps the tables in order and fills in the four default proposers") {
  const Problem problem = Problem::make(problem_spec(3, 4, 2)).value();
  CHECK(problem.tables().size() == 3);
  CHECK(problem.table(TableId(2)).name == "t2");
  CHECK(problem.topology().num_hosts() == 2);
  CHECK(problem.batch_size() == 512);
  const auto& proposers = problem.spec().proposers;
  REQUIRE(proposers.size() == 4);
  CHECK(proposers[0].type == ProposerSpec::Type::kGrid);
  CHECK(proposers[1].type == ProposerSpec::Type::kGreedy);
  CHECK(proposers[1].use_depth);
  CHECK(proposers[2].type == ProposerSpec::Type::kGreedy);
  CHECK_FALSE(proposers[2].use_depth);
  CHECK(proposers[3].type == ProposerSpec::Type::kUniform);
}

TEST_CASE("problem: keeps the proposers that it was given") {
  ProblemSpec spec = problem_spec(1, 1, 1);
  spec.proposers.resize(1);
  spec.proposers[0].type = ProposerSpec::Type::kScaleup;
  const Problem problem = Problem::make(spec).value();
  REQUIRE(problem.spec().proposers.size() == 1);
  CHECK(problem.spec().proposers[0].type == ProposerSpec::Type::kScaleup);
}

TEST_CASE("problem: the specification shows the checked topology") {
  ProblemSpec spec = problem_spec(1, 4, 0);
  const Problem problem = Problem::make(spec).value();
  CHECK(problem.spec().topology.local_world_size == 4);
}

TEST_CASE("problem: tables without a module get the default module of their kind") {
  ProblemSpec spec = problem_spec(4, 1, 1);
  spec.tables[1].weighted = true;
  spec.tables[2].kind = TableKind::kSequence;
  spec.tables[3].module = "mine";
  const Problem problem = Problem::make(spec).value();
  CHECK(problem.tables()[0].fqn() == "ebc.t0");
  CHECK(problem.tables()[1].fqn() == "ebc_w.t1");
  CHECK(problem.tables()[2].fqn() == "ec.t2");
  CHECK(problem.tables()[3].fqn() == "mine.t3");
}

TEST_CASE("problem: modules come in order of first appearance with all their tables") {
  ProblemSpec spec = problem_spec(4, 1, 1);
  spec.tables[0].module = spec.tables[2].module = "second";
  spec.tables[1].module = spec.tables[3].module = "first";
  const Problem problem = Problem::make(spec).value();
  REQUIRE(problem.modules().size() == 2);
  CHECK(problem.modules()[0].name == "second");
  CHECK(problem.modules()[0].tables == std::vector<TableId>{TableId(0), TableId(2)});
  CHECK(problem.modules()[1].tables == std::vector<TableId>{TableId(1), TableId(3)});
  CHECK(problem.module_of(TableId(2)) == 0);
  CHECK(problem.module_of(TableId(3)) == 1);
}

TEST_CASE("problem: a problem may have no tables") {
  const Problem problem = Problem::make(problem_spec(0, 1, 1)).value();
  CHECK(problem.tables().empty());
  CHECK(problem.modules().empty());
}

TEST_CASE("problem: an error of the topology names its place in the problem") {
  CHECK(refused_with([](ProblemSpec& spec) { spec.topology.world_size = 0; }) ==
        "/topology/world_size");
}

TEST_CASE("problem: ranks may be on no host from release 1.9.2 on") {
  ProblemSpec spec = problem_spec(1, 5, 2);
  CHECK(Problem::make(spec).value().topology().num_hosted_ranks() == 4);
  spec.torchrec = TorchRecRelease::kA48cef79;
  CHECK(Problem::make(spec).error().where == "/topology/local_world_size");
}

TEST_CASE("problem: refuses tables without a name or of impossible size") {
  CHECK(refused_with([](ProblemSpec& spec) { spec.tables[1].name = ""; }) == "/tables/1/name");
  const auto rows = [](std::int64_t value) {
    return refused_with([&](ProblemSpec& spec) {
      spec.tables[1].num_embeddings = value;
      spec.tables[1].embedding_dim = 4;
    });
  };
  CHECK(rows(0) == "/tables/1/num_embeddings");
  CHECK(rows(-5) == "/tables/1/num_embeddings");
  CHECK(rows(std::int64_t{1} << 50) == "accepted");
  CHECK(rows((std::int64_t{1} << 50) + 1) == "/tables/1/num_embeddings");
  const auto columns = [](std::int64_t value) {
    return refused_with([&](ProblemSpec& spec) { spec.tables[1].embedding_dim = value; });
  };
  CHECK(columns(0) == "/tables/1/embedding_dim");
  CHECK(columns(1 << 20) == "accepted");
  CHECK(columns((1 << 20) + 1) == "/tables/1/embedding_dim");
  const auto elements = [](std::int64_t dim) {
    return refused_with([&](ProblemSpec& spec) {
      spec.tables[1].num_embeddings = std::int64_t{1} << 50;
      spec.tables[1].embedding_dim = dim;
    });
  };
  CHECK(elements(256) == "accepted");
  // Each factor is in range, but not the product.
  CHECK(elements(257) == "/tables/1/num_embeddings");
}

TEST_CASE("problem: refuses buckets that do not divide the rows") {
  const auto buckets = [](std::int64_t value) {
    return refused_with([&](ProblemSpec& spec) { spec.tables[2].total_num_buckets = value; });
  };
  CHECK(buckets(0) == "/tables/2/total_num_buckets");
  CHECK(buckets(7) == "/tables/2/total_num_buckets");
  CHECK(buckets(8) == "accepted");
}

TEST_CASE("problem: table names are unique within a module, not across modules") {
  CHECK(refused_with([](ProblemSpec& spec) { spec.tables[2].name = "t0"; }) == "/tables/2/name");
  CHECK(refused_with([](ProblemSpec& spec) {
          spec.tables[2].name = "t0";
          spec.tables[2].module = "other";
        }) == "accepted");
}

TEST_CASE("problem: all tables of a module are of one kind") {
  CHECK(refused_with([](ProblemSpec& spec) {
          for (Table& table : spec.tables)
            table.module = "m";
          spec.tables[1].kind = TableKind::kSequence;
        }) == "/tables/1/module");
  CHECK(refused_with([](ProblemSpec& spec) {
          for (Table& table : spec.tables)
            table.module = "m";
          spec.tables[2].weighted = true;
        }) == "/tables/2/module");
}

TEST_CASE("problem: refuses constraints outside their ranges") {
  using Constraints = ParameterConstraints;
  const std::string at = "/constraints/t1";
  CHECK(refused_with_constraints([](Constraints& c) { c.pooling_factors = {}; }) ==
        at + "/pooling_factors");
  CHECK(refused_with_constraints([](Constraints& c) {
          c.pooling_factors = {1, -1};
        }) == at + "/pooling_factors/1");
  CHECK(refused_with_constraints([](Constraints& c) { c.pooling_factors = {std::nan("")}; }) ==
        at + "/pooling_factors/0");
  CHECK(refused_with_constraints([](Constraints& c) { c.pooling_factors = {1e13}; }) ==
        at + "/pooling_factors/0");
  CHECK(refused_with_constraints([](Constraints& c) { c.num_poolings = {-1}; }) ==
        at + "/num_poolings/0");
  CHECK(refused_with_constraints([](Constraints& c) {
          c.num_poolings = {1, 1};
        }) == at + "/num_poolings");
  CHECK(refused_with_constraints([](Constraints& c) {
          c.batch_sizes = {1, 1};
        }) == at + "/batch_sizes");
  CHECK(refused_with_constraints([](Constraints& c) { c.batch_sizes = {-1}; }) ==
        at + "/batch_sizes/0");
  const auto for_device = [](const char* device) {
    return refused_with_constraints([&](Constraints& c) {
      c.num_poolings = {1, 1};
      c.batch_sizes = {8, 8};
      c.device_group = device;
    });
  };
  CHECK(for_device("cuda") == at + "/num_poolings");
  CHECK(for_device("cpu") == "accepted");  // the members do not apply to CPUs
  CHECK(refused_with_constraints([](Constraints& c) { c.min_partition = -1; }) ==
        at + "/min_partition");
  CHECK(refused_with_constraints([](Constraints& c) { c.output_dtype = DataType::kInt64; }) ==
        at + "/output_dtype");
  CHECK(refused_with_constraints([](Constraints& c) { c.output_dtype = DataType::kInt32; }) ==
        at + "/output_dtype");
  CHECK(refused_with_constraints([](Constraints& c) { c.output_dtype = DataType::kInt8; }) ==
        "accepted");
  CHECK(refused_with_constraints([](Constraints& c) {
          c.key_value_params.emplace().max_l1_cache_size_mib = -1;
        }) == at + "/key_value_params/max_l1_cache_size");
  CHECK(refused_with_constraints([](Constraints& c) {
          c.pooling_factors = {1, 2};
          c.num_poolings = {1, 1};
          c.batch_sizes = {8, 16};
        }) == "accepted");
}

TEST_CASE("problem: a tower is for training, has no weights and no feature processors of its own") {
  const auto with = [](auto&& change) {
    return refused_with([&](ProblemSpec& spec) {
      spec.tables[1].module = "m";
      spec.tables[1].tower = true;
      change(spec);
    });
  };
  CHECK(with([](ProblemSpec&) {}) == "accepted");
  CHECK(with([](ProblemSpec& spec) { spec.tables[1].kind = TableKind::kSequence; }) == "accepted");
  CHECK(with([](ProblemSpec& spec) { spec.tables[1].weighted = true; }) == "/tables/1/tower");
  CHECK(with([](ProblemSpec& spec) { spec.sharder.type = SharderSpec::Type::kQuant; }) ==
        "/tables/1/tower");
  CHECK(with([](ProblemSpec& spec) { spec.tables[1].feature_processed = true; }) ==
        "/tables/1/feature_processed");
  CHECK(with([](ProblemSpec& spec) { spec.tables[0].module = "m"; }) == "/tables/1/module");
  // It defaults to "tower".
  CHECK(with([](ProblemSpec& spec) { spec.tables[1].module = ""; }) == "accepted");
}

TEST_CASE("problem: refuses cache parameters outside their ranges") {
  using Statistics = CacheStatistics;
  const std::string at = "/constraints/t1/cache_params";
  const auto load_factor = [](double value) {
    return refused_with_constraints(
        [&](ParameterConstraints& c) { c.cache_params.emplace().load_factor = value; });
  };
  CHECK(load_factor(-0.1) == at + "/load_factor");
  CHECK(load_factor(1.1) == at + "/load_factor");
  CHECK(load_factor(std::nan("")) == at + "/load_factor");
  CHECK(load_factor(0) == "accepted");
  CHECK(load_factor(1) == "accepted");
  CHECK(refused_with_constraints([](ParameterConstraints& c) {
          c.cache_params.emplace().prefetch_passes = -1;
        }) == at + "/multipass_prefetch_config/num_passes");
  CHECK(refused_with_cache_statistics([](Statistics&) {}) == "accepted");
  CHECK(refused_with_cache_statistics([](Statistics& s) { s.mrc_hist_counts = {}; }) ==
        at + "/stats/mrc_hist_counts");
  CHECK(refused_with_cache_statistics([](Statistics& s) { s.mrc_hist_counts[1] = -1; }) ==
        at + "/stats/mrc_hist_counts/1");
  CHECK(refused_with_cache_statistics([](Statistics& s) { s.height = -1; }) ==
        at + "/stats/height");
  CHECK(refused_with_cache_statistics([](Statistics& s) { s.expected_lookups = HUGE_VAL; }) ==
        at + "/stats/expected_lookups");
  CHECK(refused_with_cache_statistics([](Statistics& s) { s.cacheability = std::nan(""); }) ==
        at + "/stats/cacheability");
}

TEST_CASE("problem: the place of a constraint is a json pointer whatever the table's name") {
  CHECK(refused_with([](ProblemSpec& spec) {
          spec.tables[0].name = "user/item~1";
          spec.tables[0].constraints.emplace().pooling_factors = {};
        }) == "/constraints/user~1item~01/pooling_factors");
}

TEST_CASE("problem: refuses settings of the planner outside their ranges") {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  CHECK(refused_with([](ProblemSpec& s) { s.batch_size = 0; }) == "/batch_size");
  CHECK(refused_with([&](ProblemSpec& s) { s.batch_size = huge; }) == "/batch_size");
  CHECK(refused_with([](ProblemSpec& s) { s.dense_params = -1; }) == "/dense_params");
  CHECK(refused_with([&](ProblemSpec& s) { s.dense_params = huge; }) == "/dense_params");
  CHECK(refused_with([](ProblemSpec& s) { s.sharder.cache_load_factor = 2; }) ==
        "/sharder/fused_params/cache_load_factor");
  CHECK(refused_with([](ProblemSpec& s) { s.sharder.prefetch_passes = -1; }) ==
        "/sharder/fused_params/multipass_prefetch_config/num_passes");
  CHECK(refused_with([](ProblemSpec& s) { s.reservation.percentage = 1.5; }) ==
        "/reservation/percentage");
  CHECK(refused_with([](ProblemSpec& s) { s.reservation.percentage = std::nan(""); }) ==
        "/reservation/percentage");
  CHECK(refused_with([](ProblemSpec& s) { s.reservation.parameter_multiplier = -1; }) ==
        "/reservation/parameter_multiplier");
  CHECK(refused_with([&](ProblemSpec& s) { s.reservation.dense_tensor_estimate_bytes = huge; }) ==
        "/reservation/dense_tensor_estimate");
  CHECK(refused_with([](ProblemSpec& s) { s.partitioner.max_search_count = -1; }) ==
        "/partitioner/max_search_count");
  CHECK(refused_with([](ProblemSpec& s) { s.partitioner.tolerance = std::nan(""); }) ==
        "/partitioner/tolerance");
}

TEST_CASE("problem: refuses proposers that cannot run") {
  const auto proposer = [](auto change, ComputeDevice device = ComputeDevice::kCuda) {
    return refused_with([&](ProblemSpec& spec) {
      spec.topology.compute_device = device;
      spec.proposers.resize(2);
      change(spec.proposers[1]);
    });
  };
  CHECK(proposer([](ProposerSpec& p) { p.threshold = -1; }) == "/proposers/1/threshold");
  CHECK(proposer([](ProposerSpec& p) { p.max_proposals = -1; }) == "/proposers/1/max_proposals");
  CHECK(proposer([](ProposerSpec& p) { p.hbm_bins_per_device = 1'000'001; }) ==
        "/proposers/1/hbm_bins_per_device");
  const auto dynamic = [](ProposerSpec& p) { p.type = ProposerSpec::Type::kDynamicProgramming; };
  CHECK(proposer(dynamic) == "accepted");
  CHECK(proposer(dynamic, ComputeDevice::kCpu) == "/proposers/1/type");
  CHECK(refused_with([&](ProblemSpec& spec) {
          spec.topology.compute_device = ComputeDevice::kCpu;
          spec.topology.custom_hbm_cap_bytes.assign(
              static_cast<std::size_t>(spec.topology.world_size), 1 << 30);
          dynamic(spec.proposers.emplace_back());
        }) == "accepted");
}

}  // namespace shardwright::problem_test
