// The constraints of a problem as sentences.
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

// A constraint and its tables. A constraint on ranks has no tables.
struct Constraint {
  std::string text;                        // "sharding types table_wise, row_wise"
  std::vector<embedding::TableId> tables;  // ascending
};

// Returns everything in a problem file that restricts plans or changes their cost. Tables with the
// same constraint share a line, in the order of their first table. Then come groups, memory and
// measurements.
std::vector<Constraint> constraint_list(const embedding::Problem& problem);

// Shards of one table that cost the same, one on each of the ranks first_rank, first_rank + 1, ...
struct ReportedShards {
  embedding::Rank first_rank = 0;
  std::uint32_t count = 0;
  std::uint32_t cost = 0;  // index into PlanReport::costs

  friend bool operator==(const ReportedShards&, const ReportedShards&) = default;
};

// The place of a table, and its cost summed over its shards.
struct ReportedPlace {
  embedding::ShardingType sharding_type = embedding::ShardingType::kTableWise;
  embedding::ComputeKernel compute_kernel = embedding::ComputeKernel::kFused;
  std::optional<double> load_factor;
  std::uint32_t num_shards = 0;
  std::int64_t shard_rows = 0, shard_columns = 0;  // of the first shard
  bool even = true;                                // all shards are of that size
  embedding::Storage storage;
  double perf_ms = 0;
  std::vector<ReportedShards> shards;  // in shard order
};

struct ReportedTable {
  std::string name, module;
  std::int64_t rows = 0, columns = 0;
  embedding::DataType data_type = embedding::DataType::kFp32;
  std::optional<ReportedPlace> place;  // absent without a plan
};

struct ReportedRank {
  MemoryParts memory;  // `tables` is 0 without a plan
  embedding::Perf parts;
  double perf_ms = 0;
};

// The course of the search. A step has the work done, or the number of the proposal.
struct ReportedSearch {
  PlanMode mode = PlanMode::kBest;
  std::uint64_t num_options = 0, num_proposals = 0, num_plans = 0, work = 0;
  int threads = 1;
  double total_s = 0;
  StopReason stopped_by = StopReason::kFinished;
  bool steps_are_proposals = false;
  std::vector<embedding::ImprovementStep> steps;  // ratings fall, bounds rise; 0 = none yet
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
      inputs;  // absent if not computed or if the reservation failed
};

// A result as reports show it. The numbers are those that the verifier computes and checks.
// Thread safety: a value.
struct PlanReport {
  ReportedProblem problem;
  std::optional<double> rating;  // ms, or bytes for the storage model
  std::optional<double> lower_bound;
  std::string proof;  // what proves the bound; empty without one
  std::string estimate;               // of estimate_text()
  std::vector<std::string> verdict;   // of verdict_sentences()
  std::string problem_hash;
  std::string plan_hash;   // empty without a plan
  std::string ranks_sha1;  // of the plan; empty without one
  ReportedSearch search;
  ReportedReservation reservation;
  std::vector<Constraint> constraints;
  std::vector<ReportedRank> ranks;          // by rank
  std::vector<ReportedTable> tables;        // in the order of the problem
  std::vector<embedding::ShardCost> costs;  // distinct, by first appearance
  std::vector<std::string> violations;
  std::optional<PlanFailure> failure;
  std::optional<MemoryNeeds> needs;  // only without a plan
  std::optional<Migration> migration;
};

// `read_s` is the time that reading the problem took. O(tables + shards), without a plan also
// O(options).
PlanReport make_plan_report(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                            double read_s = 0);

}  // namespace shardwright
