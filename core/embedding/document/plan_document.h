// A plan as a file states it, before anything of it is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/document/improvement.h"
#include "core/embedding/plan_failure.h"
#include "core/embedding/plan_mode.h"
#include "core/embedding/sharding_option.h"
#include "core/stop_reason.h"

namespace shardwright {

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

// What a file says a reservation left.
struct ReservedTopology {
  // [hbm, ddr], or [hbm, ddr, ssd]; one entry where uniform.
  std::vector<std::vector<std::int64_t>> per_rank;
  bool uniform = false;
  std::optional<std::int64_t> world_size;
  std::vector<std::int64_t> dense_storage;  // as above, or empty
  std::vector<std::int64_t> kjt_storage;
};

// What a file says the memory of a rank is taken by, [hbm, ddr] or [hbm, ddr, ssd] each; empty
// where not claimed.
struct ClaimedMemory {
  std::vector<std::int64_t> capacity, reservation, reserved, margin, tables, free, peak;
};

// Why there is no plan, as far as a file says.
struct ClaimedFailure {
  std::optional<FailureType> type;
  std::optional<FailureReason> reason;
  std::optional<AbsenceProof> proof;  // also absent where the file says null
  std::string message;
};

// A plan as a file claims it, nothing of it checked. Absent members were not claimed.
// Thread safety: a value.
struct PlanDocument {
  std::optional<std::string> problem_hash;
  std::vector<std::pair<std::string, std::string>> problem_parts;
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

  // The layout of the machine; absent if the file names none for what the problem leaves open.
  std::optional<embedding::MachineLayout> layout_on(const embedding::Topology& topology) const {
    const embedding::TopologySpec& spec = topology.spec();
    if (spec.groups && !sharding_group_size) return std::nullopt;
    if (!spec.pod_sizes.empty() && !pod_size) return std::nullopt;
    return embedding::MachineLayout{sharding_group_size.value_or(spec.world_size),
                                    pod_size.value_or(1)};
  }
};

}  // namespace shardwright
