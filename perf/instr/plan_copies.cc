// Counts the bytes that are allocated when a search publishes a better plan: by number of tables,
// by number of changed tables, and in whole planning runs.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/embedding/plan.h"
#include "perf/instr/allocations.h"
#include "perf/support/workloads.h"
#include "runtime/embedding/planner.h"

namespace shardwright::perf {
namespace {

using embedding::Plan;
using embedding::PlanCopies;
using embedding::PlanEdit;
using embedding::Rank;
using embedding::ShardingOption;
using nlohmann::json;

constexpr std::size_t kTables[] = {100, 1'000, 6'400};
constexpr std::size_t kChanged[] = {1, 10, 100};
constexpr std::uint32_t kShards[] = {1, 16, 256};
constexpr const char* kCases[] = {"36", "40", "43", "ads_bootstrap_1000t@128"};

// A plan in which every table has one option of `shards` column-wise shards.
struct EvenPlan {
  EvenPlan(std::size_t tables, std::uint32_t shards) : options(tables), ranks(shards, 0) {
    embedding::ShardLayout layout;
    layout.append({1, 1, 0, 0, 0, 1, shards});
    const embedding::ShardLayout* const interned = layouts.intern(std::move(layout));
    for (std::size_t i = 0; i < tables; ++i) {
      options[i].table = embedding::TableId(i);
      options[i].sharding_type = embedding::ShardingType::kColumnWise;
      options[i].layout = interned;
      options[i].costs.push_back({});
    }
  }
  Plan make() const {
    return Plan::generate(nullptr, options.size(), [this](std::size_t i) {
      return embedding::Assignment::make(options[i], ranks);
    });
  }

  embedding::ShardLayoutInterner layouts;
  std::vector<ShardingOption> options;
  std::vector<Rank> ranks;
};

// The changed tables are spread evenly over the plan, so that the edit copies as many tree nodes as
// possible.
json measure_edit(std::size_t tables, std::size_t changed, std::uint32_t shards) {
  const EvenPlan even(tables, shards);
  start_counting();
  const Plan plan = even.make();
  const Allocations whole = stop_counting();
  const std::vector<Rank> moved(shards, 1);
  PlanCopies copies;
  start_counting();
  PlanEdit edit(plan);
  for (std::size_t i = 0; i < changed; ++i)
    edit.set_if_different(i * tables / changed, even.options[i * tables / changed], moved);
  const Plan published = edit.publish(copies);
  const Allocations edited = stop_counting();
  return {{"tables", tables},      {"changed", changed},           {"shards", shards},
          {"bytes", edited.bytes}, {"nodes", copies.nodes_copied}, {"whole_bytes", whole.bytes}};
}

json measure_run(const char* name) {
  const Workload workload = require(load_workload(name));
  PlanOptions options;
  options.threads = 1;
  options.work_limit = 20'000'000;
  const EmbeddingPlanResult result = require(plan_embedding(workload.problem, options));
  const PlanCopies& copies = result.work.plans;
  return {{"case", workload.name},
          {"tables", result.plan ? result.plan->size() : 0},
          {"plans", copies.plans},
          {"assignments_copied", copies.assignments_copied},
          {"assignments_shared", copies.assignments_shared},
          {"rank_bytes_copied", copies.rank_bytes_copied},
          {"nodes_copied", copies.nodes_copied}};
}

json measure() {
  json edits = json::array();
  for (const std::size_t changed : kChanged) {
    for (const std::size_t tables : kTables)
      edits.push_back(measure_edit(tables, changed, 16));
  }
  for (const std::uint32_t shards : kShards)
    edits.push_back(measure_edit(1'000, 10, shards));
  json runs = json::array();
  for (const char* const name : kCases)
    runs.push_back(measure_run(name));
  return {{"edits", std::move(edits)}, {"runs", std::move(runs)}};
}

}  // namespace
}  // namespace shardwright::perf

int main() {
  std::cout << shardwright::perf::measure().dump(1) << '\n';
  return 0;
}
