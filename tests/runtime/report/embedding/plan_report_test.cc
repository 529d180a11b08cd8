// Reports of plans: every number equals the verifier's, in the report and in the page's data.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/embedding/evaluate.h"
#include "core/embedding/ranks_sha1.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/file.h"
#include "runtime/report/embedding/plan_report.h"
#include "runtime/report/html/plan_report_json.h"

namespace shardwright::plan_report_test {

using namespace shardwright;
using embedding::Evaluation;
using embedding::Perf;
using embedding::Problem;
using embedding::Storage;
using nlohmann::json;

namespace {

constexpr double kRounding = 1e-9;  // tolerance for sums in another order

struct Planned {
  std::shared_ptr<const Problem> problem;
  EmbeddingPlanResult result;
  PlanReport report;
  json page;
};

std::shared_ptr<const Problem> read_case(const std::string& path) {
  auto text = read_file(path);
  REQUIRE_MESSAGE(text.ok(), text.error().to_string());
  auto spec = read_problem(*text);
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  auto problem = Problem::make(std::move(spec).value());
  REQUIRE_MESSAGE(problem.ok(), problem.error().to_string());
  return std::make_shared<const Problem>(std::move(problem).value());
}

json data_of(const PlanReport& report) {
  std::string text;
  write_plan_report(report, {}, nullptr, [&](std::string_view piece) { text += piece; });
  CHECK(text.find('<') == std::string::npos);
  return json::parse(text);
}

Planned planned(const std::shared_ptr<const Problem>& problem, const PlanOptions& options) {
  auto result = plan_embedding(problem, options);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  Planned all{problem, std::move(result).value(), {}, {}};
  all.report = make_plan_report(*problem, all.result);
  all.page = data_of(all.report);
  return all;
}

PlanOptions limited(PlanMode mode, std::uint64_t work) {
  PlanOptions options;
  options.mode = mode;
  options.work_limit = work;
  return options;
}

Planned planned_golden(const std::string& name, const PlanOptions& options) {
  return planned(read_case("tests/golden/embedding/cases/" + name + ".json.gz"), options);
}

void check_ranks(const Planned& all, const Evaluation& verified) {
  const std::size_t world = all.problem->topology().world_size();
  REQUIRE(all.report.ranks.size() == world);
  REQUIRE(all.page["ranks"]["ms"].size() == world);
  const json& ranks = all.page["ranks"];
  for (std::size_t rank = 0; rank < world; ++rank) {
    CAPTURE(rank);
    const ReportedRank& reported = all.report.ranks[rank];
    CHECK(reported.perf_ms == verified.perf_ms_by_rank[rank]);
    CHECK(reported.parts == verified.perf_parts_by_rank[rank]);
    CHECK(reported.memory.tables == verified.storage_by_rank[rank]);
    CHECK(reported.memory.capacity == all.problem->topology().storage()[rank]);
    CHECK(reported.memory.free + reported.memory.tables ==
          all.result.reservation->topology.storage()[rank]);
    CHECK(ranks["ms"][rank] == verified.perf_ms_by_rank[rank]);
    const Perf& parts = verified.perf_parts_by_rank[rank];
    CHECK(ranks["fwd_compute"][rank] == parts.fwd_compute.value());
    CHECK(ranks["fwd_comms"][rank] == parts.fwd_comms.value());
    CHECK(ranks["bwd_compute"][rank] == parts.bwd_compute.value());
    CHECK(ranks["bwd_comms"][rank] == parts.bwd_comms.value());
    CHECK(ranks["prefetch"][rank] == parts.prefetch_compute.value());
    const Storage& held = verified.storage_by_rank[rank];
    CHECK(ranks["memory"]["tables"][0][rank] == held.hbm.value());
    CHECK(ranks["memory"]["tables"][1][rank] == held.ddr.value());
    CHECK(ranks["memory"]["free"][0][rank] == reported.memory.free.hbm.value());
  }
}

// Checks that the values of the heat map sum to the verifier's values on every rank.
void check_cells(const Planned& all, const Evaluation& verified) {
  const std::size_t world = all.problem->topology().world_size();
  std::vector<std::array<std::int64_t, 2>> bytes(world, {0, 0});
  std::vector<double> times(world, 0);
  const json& costs = all.page["costs"];
  for (const json& table : all.page["tables"]) {
    const json& runs = table[5][10];
    for (std::size_t i = 0; i < runs.size(); i += 3) {
      const std::size_t first = runs[i], count = runs[i + 1];
      const json& cost = costs.at(runs[i + 2].get<std::size_t>());
      for (std::size_t rank = first; rank < first + count; ++rank) {
        REQUIRE(rank < world);
        bytes[rank][0] += cost[0].get<std::int64_t>();
        bytes[rank][1] += cost[1].get<std::int64_t>();
        for (std::size_t part = 2; part < 7; ++part)
          times[rank] += cost[part].get<double>();
      }
    }
  }
  const auto& factors = all.problem->spec().calibration.rank_time;
  for (std::size_t rank = 0; rank < world; ++rank) {
    CAPTURE(rank);
    CHECK(bytes[rank][0] == verified.storage_by_rank[rank].hbm.value());
    CHECK(bytes[rank][1] == verified.storage_by_rank[rank].ddr.value());
    const double factor = factors.empty() ? 1 : factors[rank];
    CHECK(times[rank] * factor ==
          doctest::Approx(verified.perf_ms_by_rank[rank]).epsilon(kRounding));
  }
}

void check_tables(const Planned& all) {
  REQUIRE(all.page["tables"].size() == all.problem->tables().size());
  for (std::size_t i = 0; i < all.result.plan->size(); ++i) {
    const embedding::Assignment& assignment = (*all.result.plan)[i];
    const embedding::ShardingOption& option = *assignment.option;
    const json& table = all.page["tables"][option.table.index()];
    CAPTURE(table);
    CHECK(table[0] == all.problem->table(option.table).name);
    CHECK(table[5][0] == to_name(option.sharding_type));
    CHECK(table[5][1] == to_name(option.compute_kernel));
    CHECK(table[5][3] == option.num_shards());
    CHECK(table[5][7] == option.total_storage().hbm.value());
    CHECK(table[5][8] == option.total_storage().ddr.value());
    CHECK(table[5][9] == option.total_perf().value());
    std::uint32_t shard = 0;
    const json& runs = table[5][10];
    for (std::size_t run = 0; run < runs.size(); run += 3) {
      for (std::uint32_t k = 0; k < runs[run + 1].get<std::uint32_t>(); ++k, ++shard)
        CHECK(runs[run].get<std::uint32_t>() + k == assignment.rank(shard));
    }
    CHECK(shard == option.num_shards());
  }
}

void check_plan(const Planned& all) {
  REQUIRE(all.result.plan.has_value());
  const Evaluation verified =
      embedding::evaluate(*all.problem, all.result.reservation->topology, *all.result.plan);
  CHECK(all.report.rating == verified.rating);
  CHECK(all.page["rating"] == verified.rating);
  CHECK(all.page["ranks_sha1"] == embedding::ranks_sha1(*all.result.plan));
  CHECK(all.page["violations"].size() == verified.violations.size());
  check_ranks(all, verified);
  check_cells(all, verified);
  check_tables(all);
}

}  // namespace

TEST_CASE("plan report: numbers equal the verifier's, for every kind of plan") {
  for (const char* const name :
       {"04_rw_uneven_rows_8r", "05_cw_min_partition_8r", "07b_grid_shard_wraparound_2hosts_8r",
        "09_mixed_default_20t_16r_2h", "19_multi_module_balance_modules_4r",
        "26_offload_scaleup_10t_4r", "30_custom_topology_uneven_hbm_4r",
        "32_optimizers_storage_perfmodel_8r", "02_cpu_2r_default"}) {
    CAPTURE(std::string(name));
    check_plan(planned_golden(name, limited(PlanMode::kCompat, 400'000)));
  }
}

TEST_CASE("plan report: best mode shows rating, bound and how they were found") {
  const Planned all =
      planned_golden("09_mixed_default_20t_16r_2h", limited(PlanMode::kBest, 4'000'000));
  check_plan(all);
  REQUIRE(all.result.lower_bound.has_value());
  CHECK(all.page["lower_bound"] == *all.result.lower_bound);
  CHECK(all.page["gap"] == gap(*all.result.best_rating, *all.result.lower_bound));
  CHECK_FALSE(all.page["proof"].get<std::string>().empty());
  const json& steps = all.page["search"]["steps"];
  REQUIRE(steps.size() == all.result.improvements.size());
  CHECK(all.page["search"]["steps_are"] == "work");
  CHECK(steps.back()[1] == *all.result.best_rating);
}

TEST_CASE("plan report: compat mode's trace is the best rating so far") {
  PlanOptions options = limited(PlanMode::kCompat, 400'000);
  options.trace = true;
  const Planned all = planned_golden("09_mixed_default_20t_16r_2h", options);
  const auto& steps = all.report.search.steps;
  CHECK(all.report.search.steps_are_proposals);
  REQUIRE(steps.size() >= 2);
  CHECK(steps.back().rating == *all.result.best_rating);
  CHECK(steps.back().work == all.result.num_proposals);
  for (const embedding::ImprovementStep& step : steps) {
    double least = std::numeric_limits<double>::infinity();
    for (std::uint64_t i = 0; i < step.work; ++i)
      least = std::min(least, all.result.trace->proposals[i].rating.value_or(least));
    CHECK(step.rating == least);
  }
}

TEST_CASE("plan report: if nothing fits, it shows the least memory that tables need") {
  const Planned all =
      planned_golden("11_nofit_insufficient_2r", limited(PlanMode::kCompat, 400'000));
  REQUIRE_FALSE(all.result.plan.has_value());
  CHECK(all.page["rating"].is_null());
  CHECK(all.page["failure"]["message"] == all.result.failure->message);
  CHECK(all.page["failure"]["type"] == name_of(all.result.failure->type));
  CHECK(all.page["failure"]["reason"] == name_of(all.result.failure->reason));
  const embedding::SearchSpace& space = *all.result.search_space;
  std::int64_t hbm = 0, total = 0;
  for (std::size_t i = 0; i < all.problem->tables().size(); ++i) {
    std::int64_t own_hbm = std::numeric_limits<std::int64_t>::max(), own_total = own_hbm;
    for (const embedding::ShardingOption& option : space.options()) {
      if (option.table.index() != i) continue;
      const Storage storage = option.total_storage();
      own_hbm = std::min(own_hbm, storage.hbm.value());
      own_total = std::min(own_total, storage.hbm.value() + storage.ddr.value());
    }
    CHECK(all.page["needs"]["tables"][i][0] == own_hbm);
    CHECK(all.page["needs"]["tables"][i][1] == own_total);
    hbm += own_hbm;
    total += own_total;
  }
  CHECK(all.page["needs"]["hbm"] == hbm);
  CHECK(all.page["needs"]["total"] == total);
  CHECK(all.page["needs"]["available"][0] ==
        all.result.reservation->topology.total_storage().hbm.value());
}

TEST_CASE("plan report: a reservation that takes too much shows ranks but no needs") {
  const Planned all =
      planned_golden("13_reservation_negative_hbm", limited(PlanMode::kCompat, 400'000));
  REQUIRE_FALSE(all.result.reservation.has_value());
  CHECK(all.page["failure"]["reason"] == "negative_reservation");
  CHECK(all.page["needs"]["tables"].empty());
  CHECK(all.page["needs"]["capacity"][0] == all.problem->topology().total_storage().hbm.value());
  CHECK(all.page["ranks"]["memory"]["capacity"][0].size() == all.problem->topology().world_size());
}

TEST_CASE("plan report: constraints of the user, with the tables of equal constraints together") {
  json problem = json::parse(*read_file("samples/data/mlperf_dlrm_dcnv2.json"));
  problem["constraints"]["cat_0"]["ranks"] = {3, 1, 2};
  problem["constraints"]["cat_1"]["max_shards"] = 2;
  problem["constraints"]["cat_4"]["max_shards"] = 2;
  problem["keep_apart"] = json::array({{"cat_3", "cat_6"}});
  problem["memory_margin"] = {{"hbm", 0.125}};
  ProblemOverrides overrides;
  overrides.ranks = 8;
  const auto spec = read_problem(problem.dump(), overrides);
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  const std::vector<Constraint> list = constraint_list(*Problem::make(*spec));
  const auto tables_of = [&](const std::string& text) {
    std::vector<std::uint32_t> tables;
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const Constraint& c) { return c.text == text; });
    REQUIRE_MESSAGE(found != list.end(), text);
    for (const embedding::TableId table : found->tables)
      tables.push_back(table.value());
    return tables;
  };
  CHECK(tables_of("on ranks 1-3") == std::vector<std::uint32_t>{0});
  CHECK(tables_of("at most 2 shards") == std::vector<std::uint32_t>{1, 4});
  CHECK(tables_of("no two on one rank") == std::vector<std::uint32_t>{3, 6});
  CHECK(tables_of("12% of what is left of the HBM of a rank kept free").empty());
}

}  // namespace shardwright::plan_report_test
