// Reads embedding problems from problem files and from table lists of workloads.
#pragma once

#include <array>
#include <string_view>

#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/io/embedding/problem_overrides.h"
#include "runtime/io/json/json_shape.h"

namespace shardwright {

// Indexed by ReservationSpec::Type.
inline constexpr std::array<std::string_view, 6> kReservationTypeNames{
    "heuristical", "fixed", "inference", "none", "fixed_absolute", "sku_aware"};

// Reads a problem in the format `shardwright.embedding/1` (see runtime/io/README.md). Names of
// enumeration values are not case-sensitive. In a workload, `pooling_factor` sets the pooling
// factors of the table's constraints unless these are given. If the file has no `topology`, the
// first entry of `meta.topologies` is used, and its `global_batch` is divided by the number of
// ranks and rounded down. Problem::make checks the ranges.
// Tables alone may be comma-separated values, whose first line names the columns as JSON names the
// members of a table. Errors: kInvalidInput; `where` is a JSON pointer, line and column of a
// syntax error and of tables in CSV, or the flag that gave the value.
Result<embedding::ProblemSpec> read_problem(std::string_view text,
                                            const ProblemOverrides& overrides = {});

// Returns true if read_problem() takes `text` for tables in CSV.
bool is_problem_csv(std::string_view text);

// Moves the place of an error of Problem::make about a problem that was read from `text` with
// `overrides`: to the flag that gave the value, or to line and column if the text is CSV.
Error locate_in_problem(std::string_view text, const ProblemOverrides& overrides, Error error);

// Reads a problem file without `tables` into `spec`. The file's constraints and placement rules
// apply to the tables of `spec`. Absent keys leave `spec` unchanged. Errors: as read_problem();
// `tables` is an unknown key.
Result<embedding::ProblemSpec> read_problem_settings(std::string_view text,
                                                     embedding::ProblemSpec spec);

// The shapes of a problem file, and of the topology in it.
JsonShape problem_shape();
JsonShape topology_shape();

}  // namespace shardwright
