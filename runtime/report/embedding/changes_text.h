// Tables of moves, and of the differences between plans or problems, as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "runtime/embedding/plan_diff.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/problem_diff.h"
#include "runtime/report/embedding/plan_text.h"

namespace shardwright {

// A move of a table. `from` is null for a new table, `to` for a removed table.
struct MoveRow {
  std::string table;
  std::optional<std::int64_t> bytes;
  const TablePlace* from = nullptr;
  const TablePlace* to = nullptr;
};

// Returns a table of at most `most` rows, in descending order of bytes.
std::string moves_table(std::vector<MoveRow> rows, std::size_t most, std::size_t width);

// Returns the bytes moved, the ratings before and after, and the tables that move, the largest
// first. Empty without a migration.
std::string migration_section(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                              const TextReportOptions& options = {});

// Returns half a line, such as "moves 3.1 GiB to save 0.36 ms (5 %)", and how to move less if no
// weight was given. Empty without a migration or a plan.
std::string migration_summary(const embedding::Problem& problem, const EmbeddingPlanResult& result);

// Lists the tables that move by bytes, then the ranks whose figures change most.
std::string diff_report(const PlanDiff& diff, std::size_t width);

// Lists the tables added and removed, and every value that differs.
std::string diff_report(const ProblemDiff& diff, std::size_t width);

}  // namespace shardwright
