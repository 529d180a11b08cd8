// The methods of the operators' solver: each has a name and a function that switches it off.
#pragma once

#include <array>
#include <string_view>

#include "search/operators/solve/solver_parameters.h"

namespace shardwright::perf {

struct SolverMethod {
  std::string_view name;
  void (*leave_out)(operators::SolverParameters& solver);
};

inline constexpr auto kSolverMethods = std::to_array<SolverMethod>({
    {"separable_edges", [](auto& solver) { solver.reduce.splits_separable_edges = false; }},
    {"functional_merging", [](auto& solver) { solver.reduce.merges_functional = false; }},
    {"node_elimination", [](auto& solver) { solver.reduce.eliminates_nodes = false; }},
    {"memory_reduction", [](auto& solver) { solver.reduce.reduces_memory = false; }},
    {"dominance", [](auto& solver) { solver.reduce.removes_dominated = false; }},
    {"tables", [](auto& solver) { solver.stages.most_table_entries = 0; }},
    {"label_search",
     [](auto& solver) { solver.stages.most_labels = solver.branch.most_labels = 0; }},
    {"dual_ascent",
     [](auto& solver) {
       solver.stages.most_rounds = 0;
       solver.stages.last_stretch = 1;
       solver.stages.last_progress = 1;
     }},
    {"price_bundle",
     [](auto& solver) {
       solver.dual.bundle.most_lines = 1;
       solver.exact.memory_prices.bundle.most_lines = 1;
     }},
    {"branch_and_bound", [](auto& solver) { solver.stages.most_branched_strategies = 0; }},
    {"early_descent", [](auto& solver) { solver.stages.descent_passes = 0; }},
});

}  // namespace shardwright::perf
