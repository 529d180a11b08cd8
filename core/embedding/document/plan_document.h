// A plan as a file states it, and the moves of a replanning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/plan_failure.h"
#include "core/embedding/plan_mode.h"
#include "core/embedding/problem/kinds.h"
#include "core/embedding/sharding_option.h"
#include "core/stop_reason.h"

namespace shardwright::embedding {

// The best rating and the best bound after `work` units of work. Each improvement is one step.
struct ImprovementStep {
  std::uint64_t work = 0;
  double rating = 0;
  double bound = 0;
};

}  // namespace shardwright::embedding

namespace shardwright {

// The sharding of a table and the rank of every shard.
struct TablePlace {
  embedding::ShardingType sharding_type = embedding::ShardingType::kTableWise;
  embedding::ComputeKernel compute_kernel = embedding::ComputeKernel::kFused;
  std::optional<double> load_factor;
  std::vector<std::int64_t> ranks;

  friend bool operator==(const TablePlace&, const TablePlace&) = default;
};

// A table whose placement changed. `bytes` counts the parts of the tensor that ranks must receive:
// the area of each new shard without what old shards on the same rank cover. Optimizer states,
// caches and a change of memory tier on one rank are not counted.
struct TableMove {
  embedding::TableId table;
  std::optional<TablePlace> from;  // absent for a new table
  TablePlace to;
  std::int64_t bytes = 0;
};

struct Migration {
  double weight = 0;                    // ms of rating per GiB moved
  std::optional<double> rating_before;  // of the old plan, for the tables of the new problem
  std::string not_kept;  // why the old plan is not valid for the new problem; empty if it is
  // Rating of the old plan with new tables placed beside it; absent if this plan is not valid.
  std::optional<double> rating_kept;
  // The new plan's rating + weight x GiB moved, and a lower bound on this sum over all plans of the
  // search space. Absent without a plan or without a weight.
  std::optional<double> objective;
  std::optional<double> lower_bound;
  // Proves `lower_bound`. Absent if the bound on the rating alone is as high.
  std::optional<embedding::BoundCertificate> certificate;
  std::int64_t moved_bytes = 0;      // of tables that the old plan has
  std::int64_t placed_bytes = 0;     // of new tables
  std::size_t tables_kept = 0;       // in their old place
  std::vector<TableMove> moves;      // in proposal order
  std::vector<std::string> dropped;  // tables that are gone, in the old plan's order
};

// One table of a plan in a file. `module` may be empty if table names are unique.
struct PlanEntry {
  std::string table;
  std::string module;
  embedding::ShardingType sharding_type = embedding::ShardingType::kTableWise;
  embedding::ComputeKernel compute_kernel = embedding::ComputeKernel::kFused;
  std::optional<double> load_factor;
  std::vector<std::int64_t> ranks;
  std::optional<embedding::ShardLayout> layout;
  std::optional<std::int64_t> element_bits;
  std::optional<std::int64_t> hbm_bytes;
  std::optional<std::int64_t> ddr_bytes;
  std::optional<std::int64_t> ssd_bytes;
  std::optional<double> perf_ms;

  // Returns true if the file states the layout, and a rank for each shard of the layout.
  bool is_cut() const { return layout && layout->num_shards == ranks.size(); }
};

// The memory that remains after the reservation, in bytes, as a file states it.
struct ReservedTopology {
  // [hbm, ddr] or [hbm, ddr, ssd] per rank. If `uniform`, one entry stands for all ranks.
  std::vector<std::vector<std::int64_t>> per_rank;
  bool uniform = false;
  std::optional<std::int64_t> world_size;
  std::vector<std::int64_t> dense_storage;  // in the same form; empty if not stated
  std::vector<std::int64_t> kjt_storage;
};

// The memory of a rank by purpose, as a file states it. Each list is in bytes, [hbm, ddr] or [hbm,
// ddr, ssd], and empty if not stated.
struct ClaimedMemory {
  std::vector<std::int64_t> capacity, reservation, reserved, margin, tables, free, peak;
};

// The failure that a file states instead of a plan.
struct ClaimedFailure {
  std::optional<FailureType> type;
  std::optional<FailureReason> reason;
  std::optional<AbsenceProof> proof;  // also absent if the file says null
  std::string message;
};

// Names of facts, as the flags of the command, and their values as JSON.
using MachineFacts = std::vector<std::pair<std::string, std::string>>;

// An unchecked plan as a file states it. Members that the file does not state are absent or empty.
// Thread safety: a value.
struct PlanDocument {
  std::optional<std::string> problem_hash;
  std::vector<std::pair<std::string, std::string>> problem_parts;
  std::string estimate;              // which cost model and machine the rating is for
  std::vector<std::string> verdict;  // sentences
  MachineFacts machine;  // that the plan was made for; empty where the file does not say
  std::optional<std::string> search_hash;
  std::optional<std::string> plan_hash;
  std::optional<PlanMode> mode;
  std::optional<std::int64_t> sharding_group_size;  // absent without sharding groups
  std::optional<std::int64_t> pod_size;             // absent without pods
  StopReason stopped_by = StopReason::kFinished;    // kFinished if not stated
  std::optional<ReservedTopology> reserved_topology;
  std::optional<std::int64_t> search_space_size;
  std::optional<double> best_rating;
  std::vector<double> perf_ms_by_rank;
  std::vector<std::int64_t> hbm_bytes_by_rank;
  std::vector<std::int64_t> ddr_bytes_by_rank;
  std::vector<std::int64_t> ssd_bytes_by_rank;
  std::vector<ClaimedMemory> memory_parts_by_rank;
  std::optional<std::string> ranks_sha1;
  std::optional<std::vector<PlanEntry>> plan;  // absent if the file has no plan
  std::optional<double> lower_bound;
  std::optional<double> gap;
  std::optional<bool> proven_optimal;
  std::optional<embedding::BoundCertificate> certificate;
  std::vector<embedding::ImprovementStep> improvements;
  bool reused = false;
  bool has_migration = false;
  std::optional<ClaimedFailure> failure;

  // Returns the machine layout. Absent if the file lacks a size that the problem does not fix.
  std::optional<embedding::MachineLayout> layout_on(const embedding::Topology& topology) const {
    const embedding::TopologySpec& spec = topology.spec();
    if (spec.groups && !sharding_group_size) return std::nullopt;
    if (!spec.pod_sizes.empty() && !pod_size) return std::nullopt;
    return embedding::MachineLayout{sharding_group_size.value_or(spec.world_size),
                                    pod_size.value_or(1)};
  }
};

}  // namespace shardwright
