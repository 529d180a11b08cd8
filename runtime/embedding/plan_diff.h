// Compares two plans in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/rank_flows.h"
#include "core/status.h"

namespace shardwright {

// A table that has another place, or that only one of the plans has.
struct TableDifference {
  std::string table;  // full name if the files have it
  std::optional<TablePlace> from;
  std::optional<TablePlace> to;
  std::string what;  // differs, such as "kernel and ranks"; "added", "removed"
  // Bytes of the tensor, as in TableMove; absent for a table that is gone, and if a file does not
  // say how the table is cut.
  std::optional<std::int64_t> bytes;
};

// A value before and after; absent if the file does not have it.
template <class Value>
struct Change {
  std::optional<Value> from;
  std::optional<Value> to;
};

struct RankDifference {
  Change<double> perf_ms;
  Change<std::int64_t> hbm_bytes;
  Change<std::int64_t> ddr_bytes;
  std::optional<Change<std::int64_t>> ssd_bytes;  // absent if neither file has it
};

struct PlanDiff {
  std::vector<TableDifference> tables;  // in the order of the new plan, then those that are gone
  std::size_t tables_kept = 0;
  std::size_t tables_moved = 0;
  std::size_t tables_added = 0;
  std::size_t tables_removed = 0;
  // Bytes of tables that both plans have, and of tables that the old plan lacks. Absent if the
  // bytes of one of these tables are not known.
  std::optional<std::int64_t> moved_bytes;
  std::optional<std::int64_t> placed_bytes;
  Change<double> rating;
  std::vector<RankDifference> ranks;  // one per rank of the larger machine
  // True if both were made for the same problem; absent if a file does not say.
  std::optional<bool> same_problem;
  std::optional<std::string> problem_differs_in;  // parts of the problem

  bool same() const { return tables.empty(); }
};

// The number of ranks of the larger of the two machines, as the files claim it; at least 1.
std::int64_t machine_size(const PlanDocument& from, const PlanDocument& to);

// What changes from `from` to `to`, by what the files claim; nothing is recomputed. Adds the moves
// of tables to `flows`, unless it is null. Errors: kInvalidInput if a file has a table twice or no
// plan; `where` begins with "PLAN_A" or "PLAN_B".
Result<PlanDiff> diff_plans(const PlanDocument& from, const PlanDocument& to,
                            embedding::RankFlows* flows = nullptr);

}  // namespace shardwright
