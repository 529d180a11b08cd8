// Plans in files: what `shardwright plan` answers, and reading it back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/embedding/problem.h"
#include "core/embedding/sharding_option.h"
#include "core/status.h"
#include "runtime/io/text_sink.h"
#include "runtime/planner.h"

namespace shardwright {

struct PlanJsonOptions {
  bool search_space = false;  // write the options, too
  bool stats = false;         // write `stats` of the plan
  bool trace = false;         // write `proposals` even where the search had none
  double read_s = 0;  // time it took to read the problem
};

// Writes the result in the form of the recorded answers (formats: `plan`); the trace where the
// result has one or `trace` is set. O(ranks written).
void write_plan(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                const PlanJsonOptions& options, const TextSink& sink);

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
  std::optional<double> perf_ms;

  // Whether the file says where every part of the table is.
  bool is_cut() const { return layout && layout->num_shards == ranks.size(); }
};

// What a file says a reservation left.
struct ReservedTopology {
  std::vector<std::vector<std::int64_t>> per_rank;  // [hbm, ddr]; one entry where uniform
  bool uniform = false;
  std::optional<std::int64_t> world_size;
  std::vector<std::int64_t> dense_storage;  // [hbm, ddr] or empty
  std::vector<std::int64_t> kjt_storage;
};

// What a file says the memory of a rank is taken by, [hbm, ddr] each; empty where not claimed.
struct ClaimedMemory {
  std::vector<std::int64_t> capacity, reservation, reserved, margin, tables, free, peak;
};

// A plan as a file claims it, nothing of it checked. Absent members were not claimed.
// Thread safety: a value.
struct PlanDocument {
  std::optional<std::string> problem_hash;
  std::vector<std::pair<std::string, std::string>> problem_parts;
  std::optional<std::string> search_hash;
  std::optional<std::string> plan_hash;
  std::optional<std::string> mode;
  std::optional<std::string> stopped_by;  // absent where the search ran to its end, too
  std::optional<ReservedTopology> reserved_topology;
  std::optional<std::int64_t> search_space_size;
  std::optional<double> best_rating;
  std::vector<double> perf_ms_by_rank;
  std::vector<std::int64_t> hbm_bytes_by_rank;
  std::vector<std::int64_t> ddr_bytes_by_rank;
  std::vector<ClaimedMemory> memory_parts_by_rank;
  std::optional<std::string> ranks_sha1;
  std::optional<std::vector<PlanEntry>> plan;  // absent where there is no plan
  std::optional<double> lower_bound;
  std::optional<double> gap;
  std::optional<bool> proven_optimal;
  std::optional<embedding::BoundCertificate> certificate;
  std::string error_message;
};

// Errors: kInvalidInput with `where` = the JSON pointer.
Result<PlanDocument> read_plan(std::string_view text);

}  // namespace shardwright
