// Compares the plans of two files.
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

// A table that is placed differently in the two plans, or that only one of the plans has.
struct TableDifference {
  std::string table;  // full name if the files have full names
  std::optional<TablePlace> from;
  std::optional<TablePlace> to;
  std::string what;  // such as "kernel and ranks"; "added"; "removed"
  // Bytes that move, counted as in TableMove. Absent for a removed table, and if a file does not
  // say how the table is cut.
  std::optional<std::int64_t> bytes;
};

// A value before and after the change. A side is absent if its file does not have the value.
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
  std::vector<TableDifference> tables;  // order of the new plan, then removed tables
  std::size_t tables_kept = 0;
  std::size_t tables_moved = 0;
  std::size_t tables_added = 0;
  std::size_t tables_removed = 0;
  // `moved_bytes` counts tables that both plans have, `placed_bytes` those that only the new plan
  // has. Absent if the bytes of one of these tables are unknown.
  std::optional<std::int64_t> moved_bytes;
  std::optional<std::int64_t> placed_bytes;
  Change<double> rating;
  std::vector<RankDifference> ranks;  // one per rank of the larger machine
  // Whether both plans were made for the same problem; absent if a file does not say.
  std::optional<bool> same_problem;
  std::optional<std::string> problem_differs_in;  // names of parts

  bool same() const { return tables.empty(); }
};

// Returns the number of ranks of the larger machine, as the files claim it; at least 1.
std::int64_t machine_size(const PlanDocument& from, const PlanDocument& to);

// Compares two files by what they claim, without recomputing anything. If `flows` is not null, adds
// the bytes of moved tables to it. Errors: kInvalidInput if a file has no plan or has a table
// twice; `where` begins with "PLAN_A" or "PLAN_B".
Result<PlanDiff> diff_plans(const PlanDocument& from, const PlanDocument& to,
                            embedding::RankFlows* flows = nullptr);

}  // namespace shardwright
