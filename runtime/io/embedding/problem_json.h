// Reads embedding problems from problem files, workload files and CSV tables.
#pragma once

#include <array>
#include <string_view>

#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/io/embedding/problem_overrides.h"
#include "runtime/io/json/json_shape.h"

namespace shardwright {

// Index: ReservationSpec::Type.
inline constexpr std::array<std::string_view, 6> kReservationTypeNames{
    "heuristical", "fixed", "inference", "none", "fixed_absolute", "sku_aware"};

// Reads a problem in the format `shardwright.embedding/1` (runtime/io/README.md). Names of
// enumerators are not case-sensitive. A table's `pooling_factor` sets the pooling factors of its
// constraints unless the constraints have their own. If the file has no `topology`, the first entry
// of `meta.topologies` is used; its `global_batch` is divided by the number of ranks and rounded
// down. Problem::make checks ranges. The tables alone may be CSV, whose first line has the JSON
// names of members of a table. Errors: kInvalidInput; `where` is a JSON pointer, or the flag that
// set the value. In CSV and for syntax errors it is line and column. `warnings` gets a warning of
// members of the file that `overrides.gpu` replaces.
Result<embedding::ProblemSpec> read_problem(std::string_view text,
                                            const ProblemOverrides& overrides = {},
                                            std::vector<Error>* warnings = nullptr);

// Returns true if read_problem() reads `text` as tables in CSV.
bool is_problem_csv(std::string_view text);

// Corrects the place of an error of Problem::make, for a problem that was read from `text` with
// `overrides`: to the flag that set the value, or to line and column if the text is CSV.
Error locate_in_problem(std::string_view text, const ProblemOverrides& overrides, Error error);

// Reads a problem file without `tables` into `spec`, whose tables the constraints and rules
// concern. Absent keys change nothing. Errors: as read_problem(); `tables` is an unknown key.
Result<embedding::ProblemSpec> read_problem_settings(std::string_view text,
                                                     embedding::ProblemSpec spec);

// Return the shapes of a problem file and of its topology.
JsonShape problem_shape();
JsonShape topology_shape();

}  // namespace shardwright
