// How good is a running plan, as its planner's log tells?
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "core/stop_reason.h"
#include "runtime/embedding/log_fit.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/plan_result.h"
#include "runtime/embedding/planner_log.h"

namespace shardwright {

struct AuditOptions {
  KnownConstants known;
  // The changes reach the best rating but for this part of it.
  double within = 0.01;
  // Measured costs, by which the plan of the log is judged; null = as TorchRec printed them.
  std::shared_ptr<const embedding::MachineModel> machine;
  PlanOptions plan;  // mode is best mode
};

// A value that costs depend on, and where it comes from. Bandwidths are in bytes per ms.
template <class Value>
struct Inferred {
  Value value{};
  InferredFrom from = InferredFrom::kLog;
};

// Times are in ms and memory is in bytes.
// Thread safety: a value.
struct AuditAnswer {
  // A rank whose printed time differs from that of its tables by more than the digits allow.
  struct Difference {
    std::int64_t rank = 0;
    double printed = 0;
    double recomputed = 0;
  };
  struct TableTime {
    std::string table, module;
    double ms = 0;  // on the slowest rank
    double share = 0;
  };
  // The plan of the log.
  struct AsRun {
    double rating = 0;  // of the tables
    double mean = 0;
    std::int64_t slowest_rank = 0;
    std::vector<double> perf_by_rank;
    std::vector<double> printed_perf_by_rank;
    double precision = 0;           // how far the digits let the time of a rank be off, at most
    double largest_difference = 0;  // between both lists
    std::vector<Difference> differences;
    std::size_t num_tables = 0;
    std::size_t num_shards = 0;
    std::vector<std::int64_t> hbm_by_rank;  // of tables, dense modules and inputs
    std::int64_t hbm_capacity = 0;          // of the planner
    std::int64_t dense_hbm = 0;             // of every rank
    std::int64_t input_hbm = 0;
    std::vector<TableTime> slowest_tables;  // of the slowest rank, the largest first
  } as_run;

  // The plan of the log at the measured costs of a machine, by which the other plans are judged.
  struct Measured {
    std::string machine;
    double rating = 0;
    std::vector<std::string> not_measured;  // sentences
  };
  std::optional<Measured> measured;
  // The rating that the other plans are compared with.
  double rating_now() const { return measured ? measured->rating : as_run.rating; }

  // The best plan that was found.
  struct Best {
    double rating = 0;
    std::optional<double> lower_bound;  // no plan of these options rates below it
    // The same, if every printed time is as far off as its digits allow.
    std::optional<double> certain_lower_bound;
    double precision = 0;  // of the rating
    std::size_t num_moved_tables = 0;
    std::size_t num_moved_shards = 0;  // to another rank
    std::int64_t moved_bytes = 0;
    std::vector<double> perf_by_rank;
    StopReason stopped_by = StopReason::kFinished;
  };
  std::optional<Best> same_options;  // every table as it is cut; only ranks are chosen anew
  std::optional<Best> all_options;   // all sharding types, at inferred costs
  std::optional<std::string> why;    // why one of both is missing

  struct Constants {
    Inferred<std::string> release;
    Inferred<embedding::DataType> weights, communication, backward_communication, reduction;
    Inferred<double> inter_host_bw, intra_host_bw;
    std::optional<Inferred<double>> hbm_mem_bw, ddr_mem_bw;  // of the memory that tables are in
    Inferred<std::int64_t> ranks_per_host, batch_size;
    Inferred<embedding::Optimizer> optimizer;
    Inferred<embedding::PipelineType> pipeline_type;
  } inferred;

  struct Column {
    std::optional<double> median, worst;
    std::vector<std::string> not_followed;  // full names of tables
  };
  struct Fit {
    Column compute, communication, total, memory;
  } fit;

  struct Change {
    std::string table, module, from, to;  // such as "column_wise on ranks 3,9"
    double gain_ms = 0;
    std::int64_t moved_bytes = 0;
    double rating_after = 0;
  };
  std::vector<Change> changes;  // the first of which gain most
  double within = 0;            // what they reach: the best rating but for this part of it
  bool reaches = false;
  std::vector<std::string> unknown;  // what the log cannot tell, in sentences
  std::vector<LoggedTable> tables;   // as the log has them
  std::vector<LoggedRank> ranks;
};

// Why a planning failed, and single changes that would help, by sums of memory.
struct FailedAnswer {
  FailedPlanning failed;
  std::optional<embedding::MemoryTier> tier;  // of which there is too little
  std::int64_t missing_bytes = 0;             // on all ranks together
  std::string reason;                         // a sentence
  std::vector<std::string> remedies;          // sentences; each alone is enough for the sums
};
FailedAnswer explain_failed(const FailedPlanning& failed);

struct Audit {
  AuditAnswer answer;
  // The problem of `all_options`, or of `same_options` without that, and the plan of the log.
  std::shared_ptr<const embedding::Problem> problem;
  std::vector<PlanEntry> plan;
};

// Judges the plan of a log: recomputes its ranks, plans its tables again with the options that they
// have and with all, and looks for the fewest changes that are worth most of that. Costs of options
// that are not in the log follow TorchRec's formulas with the constants of fit_log(); tables that
// do not follow these keep the option and the costs that the log has. Errors: kInvalidInput with
// the line of a table that cannot be as printed, or with the option; kStopped before the first
// plan. Thread safety: may be called from any number of threads at once.
Result<Audit> audit_log(const PlannerLog& log, const AuditOptions& options);

// Returns the plan of the log as a plan of its problem, at TorchRec's costs, for a plan file.
// Errors: kInvalidInput if the problem has no option that the log has.
Result<EmbeddingPlanResult> plan_of_audit(const Audit& audit);

}  // namespace shardwright
