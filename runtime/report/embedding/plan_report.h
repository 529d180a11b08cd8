// A planning result in the form of reports, with the problem's constraints as sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/storage.h"
#include "runtime/embedding/memory_parts.h"
#include "runtime/embedding/planner.h"

namespace shardwright {

// A constraint, and the tables to which it applies. A constraint on ranks has no tables.
struct Constraint {
  std::string text;                        // such as "sharding types table_wise, row_wise"
  std::vector<embedding::TableId> tables;  // ascending
};

// Returns everything in the problem that restricts plans or changes their cost: first the
// constraints, one line for all tables with the same constraint, in the order of their first table;
// then groups, memory and measurements.
std::vector<Constraint> constraint_list(const embedding::Problem& problem);

// Shards of one table with equal costs, on the ranks first_rank, first_rank + 1, ...
struct ReportedShards {
  embedding::Rank first_rank = 0;
  std::uint32_t count = 0;
  std::uint32_t cost = 0;  // index into PlanReport::costs

  friend bool operator==(const ReportedShards&, const ReportedShards&) = default;
};

// Where a table is placed, and its cost as a sum over its shards.
struct ReportedPlace {
  embedding::ShardingType sharding_type = embedding::ShardingType::kTableWise;
  embedding::ComputeKernel compute_kernel = embedding::ComputeKernel::kFused;
  std::optional<double> load_factor;
  std::uint32_t num_shards = 0;
  std::int64_t shard_rows = 0, shard_columns = 0;  // of the first shard
  bool even = true;                                // all shards have this size
  embedding::Storage storage;
  double perf_ms = 0;
  std::vector<ReportedShards> shards;  // in shard order
};

struct ReportedTable {
  std::string name, module;
  std::int64_t rows = 0, columns = 0;
  embedding::DataType data_type = embedding::DataType::kFp32;
  std::optional<ReportedPlace> place;  // absent if there is no plan
};

struct ReportedRank {
  MemoryParts memory;  // `tables` is 0 if there is no plan
  embedding::Perf parts;
  double perf_ms = 0;
};

// The course of the search. The `work` of a step is work done, or a number of proposals if
// `steps_are_proposals` is true.
struct ReportedSearch {
  PlanMode mode = PlanMode::kBest;
  std::uint64_t num_options = 0, num_proposals = 0, num_plans = 0, work = 0;
  int threads = 1;
  double total_s = 0;
  StopReason stopped_by = StopReason::kFinished;
  bool steps_are_proposals = false;
  std::vector<embedding::ImprovementStep> steps;  // ratings fall, bounds rise; 0 = no bound
};

struct ReportedProblem {
  std::string name;
  embedding::ComputeDevice device = embedding::ComputeDevice::kCuda;
  std::uint32_t hosts = 0, ranks_per_host = 0;
  std::int64_t batch_size = 0;
  embedding::PerfModel perf_model = embedding::PerfModel::kPerf;
  bool counts_ssd = false;
};

struct ReportedReservation {
  embedding::ReservationSpec::Type type = embedding::ReservationSpec::Type::kHeuristical;
  double percentage = 0;
  std::optional<embedding::Storage> dense,
      inputs;  // absent if not computed, or if the reservation failed
};

// A planning result for reports. The numbers are those that the verifier computes and checks.
// Thread safety: a value.
struct PlanReport {
  ReportedProblem problem;
  std::optional<double> rating;  // ms, or bytes for the storage model
  std::optional<double> lower_bound;
  std::string proof;                 // what proves the bound; empty without a bound
  std::string estimate;              // of estimate_text()
  std::vector<std::string> verdict;  // of verdict_sentences()
  std::string problem_hash;
  std::string plan_hash;   // empty without a plan
  std::string ranks_sha1;  // of the plan; empty without one
  ReportedSearch search;
  ReportedReservation reservation;
  std::vector<Constraint> constraints;
  std::vector<ReportedRank> ranks;          // index: rank
  std::vector<ReportedTable> tables;        // in the order of the problem
  std::vector<embedding::ShardCost> costs;  // distinct, by first appearance
  std::vector<std::string> violations;
  std::optional<PlanFailure> failure;
  std::optional<MemoryNeeds> needs;  // only if there is no plan
  std::optional<Migration> migration;
  std::vector<ReplanPoint> front;  // of a replan, by bytes moved
};

// `read_s` is the time for reading the problem, in seconds. Cost: O(tables + shards), and
// O(options) if there is no plan.
PlanReport make_plan_report(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                            double read_s = 0);

}  // namespace shardwright
