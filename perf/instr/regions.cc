#include "perf/instr/regions.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/embedding/evaluate.h"
#include "core/embedding/ranks_sha1.h"
#include "perf/instr/best_regions.h"
#include "perf/instr/operator_regions.h"
#include "perf/support/search.h"
#include "perf/support/workloads.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/file.h"
#include "search/embedding/compat/estimate.h"

namespace shardwright::perf {
namespace {

using embedding::SearchSpace;

// Numbers of shards that a region places. They are large enough that setup inside a region does not
// matter, and small enough for an emulated processor. A uniform option places all its shards at
// once, so its region can place more.
constexpr std::uint64_t kPlacedShards = 300'000;
constexpr std::uint64_t kUniformShards = 3'000'000;
constexpr const char* kAds = "ads_bootstrap_1000t@128";

// A workload with the results of all stages before exploration.
struct Prepared {
  explicit Prepared(const std::string& name)
      : workload(require(load_workload(name))), space(enumerate_inline(workload)) {}

  Workload workload;
  std::shared_ptr<const SearchSpace> space;
};

// A `Prepared` workload with a plan of compat mode.
struct Planned : Prepared {
  Planned(const std::string& name, std::optional<std::uint64_t> work_limit)
      : Prepared(name), result(explore_inline(workload, space, work_limit)) {
    if (!result.plan) stop_with({ErrorCode::kInfeasible, "the search found no plan", name});
    result.evaluation =
        embedding::evaluate(*workload.problem, result.reservation->topology, *result.plan);
  }

  EmbeddingPlanResult result;
};

Action read_problem_json() {
  const WorkloadFile file = require(find_workload(kAds));
  return [text = require(read_file(file.path)), overrides = file.overrides] {
    keep(require(embedding::Problem::make(require(read_problem(text, overrides)))));
  };
}

Action enumerate() {
  return [workload = require(load_workload(kAds))] { keep(enumerate_inline(workload)); };
}

Action estimate() {
  const auto prepared = std::make_shared<Prepared>(kAds);
  return [prepared] {
    const embedding::Estimator estimator(*prepared->workload.problem);
    for (const embedding::ShardingOption& option : prepared->space->options()) {
      keep(require(estimator.estimate(option)));
    }
  };
}

Action build_pool() {
  const auto prepared = std::make_shared<Prepared>(kAds);
  return [prepared] { keep(embedding::OptionPool(prepared->space)); };
}

std::function<Action()> exploring(const char* name, std::optional<std::uint64_t> work_limit = {}) {
  return [name, work_limit]() -> Action {
    const auto prepared = std::make_shared<Prepared>(name);
    return [prepared, work_limit] {
      keep(explore_inline(prepared->workload, prepared->space, work_limit));
    };
  };
}

Action verify_plan() {
  const auto planned = std::make_shared<Planned>("36", 20'000);
  return [planned] {
    keep(embedding::evaluate(*planned->workload.problem, planned->result.reservation->topology,
                             *planned->result.plan));
    keep(embedding::ranks_sha1(*planned->result.plan));
  };
}

Action write_plan_json() {
  const auto planned = std::make_shared<Planned>("36", 20'000);
  return [planned] {
    std::size_t bytes = 0;
    write_plan(*planned->workload.problem, planned->result, PlanJsonOptions{},
               [&](std::string_view part) { bytes += part.size(); });
    keep(bytes);
  };
}

Action read_search_space_json() {
  const auto prepared = std::make_shared<Prepared>("09");
  std::string text;
  write_search_space(*prepared->space, ShardForm::kExpanded,
                     [&](std::string_view part) { text += part; });
  return [prepared, text = std::move(text)] {
    keep(require(read_search_space(text, prepared->workload.problem)));
  };
}

Action write_search_space_json() {
  const auto prepared = std::make_shared<Prepared>("09");
  return [prepared] {
    std::size_t bytes = 0;
    write_search_space(*prepared->space, ShardForm::kExpanded,
                       [&](std::string_view part) { bytes += part.size(); });
    keep(bytes);
  };
}

}  // namespace

const std::vector<Region>& regions() {
  static const std::vector<Region> all = [] {
    std::vector<Region> list = {
        {"read_problem_json", "1,000 tables from JSON to a checked problem", read_problem_json},
        {"enumerate", "1,000 tables, 128 ranks, 16 options each, estimated", enumerate},
        {"estimate", "the estimates of these options again, alone", estimate},
        {"option_pool", "these options as flat columns", build_pool},
        {"explore_greedy", "case 41: table-wise, 16 ranks, 300,000 shards",
         exploring("41", kPlacedShards)},
        {"explore_row_wise", "case 43: row-wise mix, 64 ranks, 3,000,000 shards",
         exploring("43", kUniformShards)},
        {"explore_default", "case 36: default proposers, 16 ranks, 3,000,000 shards",
         exploring("36", kUniformShards)},
        {"explore_full_devices", "case 42: nothing fits, 128 ranks, 300,000 shards",
         exploring("42", kPlacedShards)},
        {"explore_grid_search", "case 24: all 7,776 combinations", exploring("24")},
        {"explore_grid_shard", "case 07: grid shards on 4 hosts", exploring("07")},
        {"explore_dynamic_programming", "case 25: 100 bins a device", exploring("25")},
        {"explore_memory_balanced", "case 23: memory-balanced partitioner, 16 ranks",
         exploring("23")},
        {"scaleup", "case 26: caches scaled to the memory", exploring("26")},
    };
    for (Region& region : best_mode_regions())
      list.push_back(std::move(region));
    list.insert(
        list.end(),
        {
            {"verify_plan", "case 36: the verifier and the hash of the ranks", verify_plan},
            {"write_plan_json", "case 36: 100 tables", write_plan_json},
            {"read_search_space_json", "case 09: 320 options on 16 ranks", read_search_space_json},
            {"write_search_space_json", "case 09: 320 options on 16 ranks",
             write_search_space_json},
        });
    for (Region& region : operator_and_program_regions())
      list.push_back(std::move(region));
    return list;
  }();
  return all;
}

}  // namespace shardwright::perf
