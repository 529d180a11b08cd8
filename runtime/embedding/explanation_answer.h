// The answer of `explain` as a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/plan_mode.h"
#include "core/embedding/problem/kinds.h"
#include "core/embedding/problem/topology.h"
#include "core/stop_reason.h"
#include "runtime/embedding/amount.h"
#include "runtime/embedding/explain.h"
#include "search/embedding/questions/infeasible_reason.h"
#include "search/embedding/questions/option_costs.h"
#include "search/embedding/questions/remedies.h"

namespace shardwright {

// An OptionCost with its option. If no ranks can hold the option, the ratings are absent.
struct ExplainedOption {
  using Standing = embedding::OptionCost::Standing;
  struct Shards {  // consecutive shards of equal size
    std::int64_t count = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
  };
  struct Part {
    embedding::PerfPart name = embedding::PerfPart::kForwardCompute;
    double change_ms = 0;
  };

  Standing standing = Standing::kPossible;
  embedding::ShardingType sharding_type = embedding::ShardingType::kTableWise;
  embedding::ComputeKernel compute_kernel = embedding::ComputeKernel::kFused;
  std::optional<double> load_factor;
  std::vector<Shards> shards;
  std::optional<Amount> rating;
  std::optional<Amount> rating_change;
  std::optional<embedding::Rank> busiest_rank;
  std::optional<std::optional<Part>> part;  // the inner one is absent if no part changes
  double time_ms = 0;
  std::int64_t hbm_bytes = 0;
  std::int64_t ddr_bytes = 0;
  std::optional<std::int64_t> ssd_bytes;  // absent if neither problem nor option has SSD
  std::vector<embedding::Rank> ranks;
  std::optional<embedding::MemoryLack> lack;
  std::vector<std::string> excluded_by;

  // Returns 0 if there is no rating.
  double change() const { return rating_change ? rating_change->value : 0; }
  bool is_usable() const { return standing <= Standing::kPossible; }
};

struct ExplainedTable {
  std::string name;
  std::string module;
  std::vector<std::string> reasons;      // why the option was chosen, in sentences
  std::vector<ExplainedOption> options;  // the chosen one first
};

// Why no plan fits.
struct InfeasibleAnswer {
  struct Table {
    std::string name;
    std::string module;
  };

  embedding::InfeasibleReason::Kind reason = embedding::InfeasibleReason::Kind::kSearch;
  bool proved = false;
  std::string message;
  std::optional<std::int64_t> needed_bytes;
  std::optional<std::int64_t> available_bytes;
  bool irreducible = false;
  std::vector<Table> tables;
};

// Values to set in the problem file.
struct ProblemEdit {
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> local_world_size;
  std::optional<std::int64_t> hbm_bytes;
  std::optional<std::int64_t> ddr_bytes;
  std::optional<std::int64_t> ssd_bytes;
  std::optional<std::int64_t> batch_size;
  std::optional<double> reserved_share;
};

// A change that makes a plan possible. If the change drops a constraint, `drop` is the only
// optional member that is set.
struct RemedyAnswer {
  embedding::Remedy::Kind kind = embedding::Remedy::Kind::kRanks;
  std::optional<std::string> drop;  // JSON pointer of the constraint
  std::optional<Amount> from;
  std::optional<Amount> to;
  std::optional<Amount> step;
  std::optional<bool> each_rank_adds;
  std::optional<std::string> flags;  // of the command that make the change
  std::optional<ProblemEdit> set;
  Amount first_rating;
  bool less_is_impossible = false;
};

// A change that does not make a plan possible.
struct VainRemedy {
  embedding::Remedy::Kind kind = embedding::Remedy::Kind::kRanks;
  std::string message;
};

// With a plan, `best_rating` and `tables` are set. Without a plan, `infeasible`, `remedies` and
// `in_vain` are set instead.
struct ExplanationAnswer {
  std::optional<std::string> name;      // of the problem
  std::optional<std::string> estimate;  // which cost model and machine the ratings are for
  bool feasible = false;
  PlanMode mode = PlanMode::kBest;
  std::optional<Amount> best_rating;
  std::optional<std::vector<ExplainedTable>> tables;
  std::optional<InfeasibleAnswer> infeasible;
  std::optional<std::vector<RemedyAnswer>> remedies;
  std::optional<std::vector<VainRemedy>> in_vain;
  std::uint64_t plannings = 0;
  int threads = 1;
  double total_s = 0;
  // Members that a saved answer does not have:
  std::string machine;  // such as "26 tables on 8 ranks"
  StopReason stopped_by = StopReason::kFinished;
};

// O(options x shards).
ExplanationAnswer explanation_answer(const Explanation& explanation);

}  // namespace shardwright
