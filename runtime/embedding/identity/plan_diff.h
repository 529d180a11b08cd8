// What differs between two plans in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/migration.h"
#include "core/embedding/plan_document.h"

namespace shardwright {

// A table that is in another place, or in one of the plans only.
struct TableDifference {
  std::string table;  // full name, as far as the files have it
  std::optional<TablePlace> from;
  std::optional<TablePlace> to;
  bool cut_anew = false;  // into shards of other sizes
  // Of the tensor, as TableMove counts; absent where a file does not say how the table is cut, and
  // for a table that is gone.
  std::optional<std::int64_t> bytes;

  // What differs, such as "kernel and ranks"; "added", "removed".
  std::string what() const;
};

// A value before and after; absent where a file does not have it.
template <class Value>
struct Change {
  std::optional<Value> from;
  std::optional<Value> to;
};

// What a rank holds and how long it works.
struct RankDifference {
  Change<double> perf_ms;
  Change<std::int64_t> hbm_bytes;
  Change<std::int64_t> ddr_bytes;
};

struct PlanDiff {
  std::vector<TableDifference> tables;  // in the order of the new plan, then those that are gone
  std::size_t tables_kept = 0;
  std::size_t tables_moved = 0;
  std::size_t tables_added = 0;
  std::size_t tables_removed = 0;
  // Of tables that both plans have, and of those that the old one lacks; absent where one of them
  // is not known.
  std::optional<std::int64_t> moved_bytes;
  std::optional<std::int64_t> placed_bytes;
  Change<double> rating;
  std::vector<RankDifference> ranks;  // as many as the larger of the two machines has
  // Whether both were made for the same problem; absent where a file does not say.
  std::optional<bool> same_problem;
  std::string problem_differs_in;  // parts of the problem

  bool same() const { return tables.empty(); }
};

// What changes on the way from `from` to `to`. Nothing is recomputed: it compares what the files
// claim. Errors: kInvalidInput where a plan has a table twice or no plan at all; `where` begins
// with "PLAN_A" or "PLAN_B". O(ranks log).
Result<PlanDiff> diff_plans(const PlanDocument& from, const PlanDocument& to);

}  // namespace shardwright
