// A plan as a file states it, and what replanning moves.
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

// The best rating and the best bound after `work` units; one step for every improvement of either.
struct ImprovementStep {
  std::uint64_t work = 0;
  double rating = 0;
  double bound = 0;
};

}  // namespace shardwright::embedding

namespace shardwright {

// How a table is sharded, and the rank of every shard.
struct TablePlace {
  embedding::ShardingType sharding_type = embedding::ShardingType::kTableWise;
  embedding::ComputeKernel compute_kernel = embedding::ComputeKernel::kFused;
  std::optional<double> load_factor;
  std::vector<std::int64_t> ranks;

  friend bool operator==(const TablePlace&, const TablePlace&) = default;
};

// A table that is not where it was. Bytes are those of its tensor that the ranks of its shards do
// not hold already: the area of each shard less what the old shards on the same rank cover.
// Optimizer states, caches and a change of memory tier on one rank are not counted.
struct TableMove {
  embedding::TableId table;
  std::optional<TablePlace> from;  // absent for a new table
  TablePlace to;
  std::int64_t bytes = 0;
};

struct Migration {
  double weight = 0;                    // ms of rating per GiB moved
  std::optional<double> rating_before;  // of the old plan's tables under the new problem
  std::string not_kept;  // why the old plan is no plan of the new problem; empty where it is one
  // Of the old plan with new tables placed beside it; absent if that is no plan.
  std::optional<double> rating_kept;
  // Rating + weight x GiB moved of the new plan, and a bound: no plan of the search space costs
  // less. Absent without a plan or without a weight.
  std::optional<double> objective;
  std::optional<double> lower_bound;
  // Proves the bound; absent if the bound of the rating is as high.
  std::optional<embedding::BoundCertificate> certificate;
  std::int64_t moved_bytes = 0;      // of tables that the old plan has
  std::int64_t placed_bytes = 0;     // of new tables
  std::size_t tables_kept = 0;       // in their old place
  std::vector<TableMove> moves;      // in proposal order
  std::vector<std::string> dropped;  // tables that are gone, in the order of the old plan
};

// One table of a plan in a file. `module` may be absent where names are unique.
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

  // Whether the file says where every part of the table is.
  bool is_cut() const { return layout && layout->num_shards == ranks.size(); }
};

// The memory that is left after the reservation, as a file states it.
struct ReservedTopology {
  // [hbm, ddr], or [hbm, ddr, ssd]; one entry where uniform.
  std::vector<std::vector<std::int64_t>> per_rank;
  bool uniform = false;
  std::optional<std::int64_t> world_size;
  std::vector<std::int64_t> dense_storage;  // as above, or empty
  std::vector<std::int64_t> kjt_storage;
};

// The parts of a rank's memory as a file states them, [hbm, ddr] or [hbm, ddr, ssd] each; empty
// where not stated.
struct ClaimedMemory {
  std::vector<std::int64_t> capacity, reservation, reserved, margin, tables, free, peak;
};

// Why there is no plan, as a file states it.
struct ClaimedFailure {
  std::optional<FailureType> type;
  std::optional<FailureReason> reason;
  std::optional<AbsenceProof> proof;  // also absent where the file says null
  std::string message;
};

// Names of facts, as the flags of the command, and their values as JSON.
using MachineFacts = std::vector<std::pair<std::string, std::string>>;

// An unchecked plan as a file states it. Members that the file does not state are absent.
// Thread safety: a value.
struct PlanDocument {
  std::optional<std::string> problem_hash;
  std::vector<std::pair<std::string, std::string>> problem_parts;
  MachineFacts machine;  // that the plan was made for; empty where the file does not say
  std::optional<std::string> search_hash;
  std::optional<std::string> plan_hash;
  std::optional<PlanMode> mode;
  std::optional<std::int64_t> sharding_group_size;  // absent without sharding groups
  std::optional<std::int64_t> pod_size;             // absent without pods
  StopReason stopped_by = StopReason::kFinished;    // also where the file does not say
  std::optional<ReservedTopology> reserved_topology;
  std::optional<std::int64_t> search_space_size;
  std::optional<double> best_rating;
  std::vector<double> perf_ms_by_rank;
  std::vector<std::int64_t> hbm_bytes_by_rank;
  std::vector<std::int64_t> ddr_bytes_by_rank;
  std::vector<std::int64_t> ssd_bytes_by_rank;
  std::vector<ClaimedMemory> memory_parts_by_rank;
  std::optional<std::string> ranks_sha1;
  std::optional<std::vector<PlanEntry>> plan;  // absent where there is no plan
  std::optional<double> lower_bound;
  std::optional<double> gap;
  std::optional<bool> proven_optimal;
  std::optional<embedding::BoundCertificate> certificate;
  std::vector<embedding::ImprovementStep> improvements;
  bool reused = false;
  bool has_migration = false;
  std::optional<ClaimedFailure> failure;

  // The layout of the machine; absent if the file lacks a size that the problem leaves open.
  std::optional<embedding::MachineLayout> layout_on(const embedding::Topology& topology) const {
    const embedding::TopologySpec& spec = topology.spec();
    if (spec.groups && !sharding_group_size) return std::nullopt;
    if (!spec.pod_sizes.empty() && !pod_size) return std::nullopt;
    return embedding::MachineLayout{sharding_group_size.value_or(spec.world_size),
                                    pod_size.value_or(1)};
  }
};

}  // namespace shardwright
