// Statistics of recorded plans equal those of TorchRec's own functions to the last bit.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/embedding/plan_stats.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/file.h"
#include "tests/support/embedding/recorded_release.h"

namespace shardwright::embedding_stats_golden_test {

namespace {

using namespace shardwright;
using embedding::Problem;
using nlohmann::json;

const std::string kFolder = "tests/golden/embedding/";

const json& recorded() {
  static const json content = json::parse(*read_file(kFolder + "stats.json.gz"));
  return content;
}

struct Measured {
  std::shared_ptr<const Problem> problem;
  PlanStats stats;
};

Measured measured(const std::string& name) {
  auto spec = read_problem(*read_file(kFolder + "cases/" + name + ".json.gz"),
                           test_support::recorded_release());
  REQUIRE(spec.ok());
  const auto problem = std::make_shared<const Problem>(*Problem::make(std::move(spec).value()));
  const std::string answer = *read_file(kFolder + "answers/" + name + ".json.gz");
  const auto space = read_search_space(answer, problem);
  REQUIRE(space.ok());
  const auto found = verify_plan(problem, *read_plan(answer), *space);
  REQUIRE(found.ok());
  REQUIRE(found->plan.has_value());
  return {problem, plan_stats(*problem, *found->reservation, *found->plan)};
}

json measures(const Imbalance& m) {
  return {m.total_variation, m.total_distance, m.chi_divergence, m.kl_divergence};
}

json measures(const std::optional<Imbalance>& m) { return m ? measures(*m) : json(); }

json level(const HbmLevel& l) { return {l.bytes, l.ranks}; }

json names(const Problem& problem, const std::vector<embedding::TableId>& tables) {
  json list = json::array();
  for (const embedding::TableId table : tables)
    list.push_back(problem.table(table).name);
  return list;
}

void check_ranks(const PlanStats& stats, const json& expected) {
  REQUIRE(stats.ranks.size() == expected["perf"].size());
  for (std::size_t rank = 0; rank < stats.ranks.size(); ++rank) {
    CAPTURE(rank);
    const RankStats& at = stats.ranks[rank];
    CHECK(json(at.perf.total().value()) == expected["perf"][rank]);
    CHECK(json{at.perf.fwd_compute.value(), at.perf.fwd_comms.value(), at.perf.bwd_compute.value(),
               at.perf.bwd_comms.value(),
               at.perf.prefetch_compute.value()} == expected["perf_parts"][rank]);
    CHECK(json(at.sparse_hbm_bytes) == expected["sparse_hbm"][rank]);
    CHECK(json(at.hbm_bytes) == expected["hbm"][rank]);
    CHECK(json(at.ddr_bytes) == expected["ddr"][rank]);
    CHECK(json(at.input_mib) == expected["input_mib"][rank]);
    CHECK(json(at.output_mib) == expected["output_mib"][rank]);
    json shards = json::object();
    for (std::size_t type = 0; type < kShardingTypes; ++type) {
      if (at.shards[type] == 0) continue;
      shards[std::string(to_name(static_cast<embedding::ShardingType>(type)))] = at.shards[type];
    }
    CHECK(shards == expected["shards"][rank]);
  }
}

}  // namespace

TEST_CASE("stats: every figure of TorchRec's recorded plans is TorchRec's") {
  std::size_t plans = 0;
  for (const auto& item : recorded()["plans"].items()) {
    const std::string& name = item.key();
    const json& expected = item.value();
    CAPTURE(name);
    const auto [problem, stats] = measured(name);
    ++plans;
    check_ranks(stats, expected);
    CHECK(json(stats.mean_perf_ms) == expected["mean_perf"]);
    CHECK(json(stats.perf_above_mean_percent) == expected["perf_above"]);
    CHECK(json(stats.hbm_above_mean_percent) == expected["hbm_above"]);
    CHECK(json(stats.sum_of_maxima_ms) == expected["sum_of_maxima"]);
    CHECK(json{stats.critical_comms_ms, stats.critical_compute_ms, stats.critical_path_ms()} ==
          expected["critical"]);
    CHECK(measures(stats.perf_imbalance) == expected["perf_imbalance"]);
    CHECK(measures(stats.hbm_imbalance) == expected["hbm_imbalance"]);
    CHECK(measures(stats.ddr_imbalance) == expected["ddr_imbalance"]);
    const json& levels = expected["levels"];
    CHECK(level(stats.sparse_max_hbm) == levels["sparse_max_hbm"]);
    CHECK(level(stats.sparse_min_hbm) == levels["sparse_min_hbm"]);
    CHECK(level(stats.max_hbm) == levels["max_hbm"]);
    CHECK(level(stats.min_hbm) == levels["min_hbm"]);
    CHECK(level(stats.mean_hbm) == levels["mean_hbm"]);
    CHECK(level(stats.low_median_hbm) == levels["low_median_hbm"]);
    CHECK(level(stats.high_median_hbm) == levels["high_median_hbm"]);
    json kernels = json::object();
    for (const KernelStats& kernel : stats.kernels) {
      kernels[std::string(to_name(kernel.kernel))] = {kernel.tables, kernel.storage.hbm.value(),
                                                      kernel.storage.ddr.value()};
    }
    CHECK(kernels == expected["kernels"]);
    CHECK(names(*problem, stats.slowest_tables) == expected["slowest"]);
    CHECK(names(*problem, stats.fullest_tables) == expected["fullest"]);
  }
  CHECK(plans == 31);
}

TEST_CASE("stats: measures of imbalance are TorchRec's, one rank and empty ranks included") {
  REQUIRE(recorded()["measures"].size() == 6);
  for (const json& row : recorded()["measures"]) {
    CAPTURE(row["shares"].size());
    CHECK(measures(imbalance(row["shares"].get<std::vector<double>>())) == row["measures"]);
  }
}

TEST_CASE("stats: peaks are distinct levels with the ranks' own numbers, the highest first") {
  const auto [problem, stats] = measured("36_mid_100t_16r_2h_default");
  REQUIRE_FALSE(stats.peak_hbm.empty());
  CHECK(stats.peak_hbm.size() <= 5);
  CHECK(stats.peak_hbm[0].bytes == stats.max_hbm.bytes);
  CHECK(stats.peak_hbm[0].ranks == stats.max_hbm.ranks);
  std::vector<bool> seen(stats.ranks.size());
  for (std::size_t i = 0; i < stats.peak_hbm.size(); ++i) {
    if (i > 0) CHECK(stats.peak_hbm[i].bytes < stats.peak_hbm[i - 1].bytes);
    REQUIRE_FALSE(stats.peak_hbm[i].ranks.empty());
    for (const embedding::Rank rank : stats.peak_hbm[i].ranks) {
      CHECK_FALSE(seen[rank]);
      seen[rank] = true;
      CHECK(stats.ranks[rank].hbm_bytes <= stats.peak_hbm[i].bytes);
    }
  }
}

}  // namespace shardwright::embedding_stats_golden_test
