// Finds out why a problem has no plan.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "search/embedding/questions/fit_oracle.h"
#include "search/embedding/questions/memory_shortage.h"

namespace shardwright::embedding {

// Returns the problem reduced to `tables`. Placement groups lose all other tables. Precondition:
// `tables` is ascending.
ProblemSpec only_tables(const ProblemSpec& spec, std::span<const TableId> tables);

struct IrreducibleSet {
  std::vector<TableId> tables;  // ascending
  // True if, for every table, a plan of all other tables of the set was found and verified. False
  // if the search gave up before it had tested every table.
  bool tested = false;
};

// Narrows `tables` to an irreducible set: it does not fit, but fits without any one of its tables.
// First takes tables, the largest first, until they do not fit. Then leaves out every table without
// which the others still do not fit. `space` has the options of all tables of `problem`.
// Precondition: `tables` do not fit even if there are no other tables. Cost: one planning per table
// of the set and O(log tables) more; in large sets, exchanging a table in a known plan replaces
// most plannings.
IrreducibleSet find_irreducible_set(const Problem& problem, const SearchSpace& space,
                                    std::vector<TableId> tables, FitOracle& oracle);

struct InfeasibleReason {
  enum class Kind : std::uint8_t {
    kReservation,  // the reservation exceeds the memory of a rank
    kTable,        // one table fits nowhere
    kTogether,     // tables that must share a rank or host exceed its memory
    kTotal,        // all tables exceed the memory of all ranks
    kPacking,      // the tables fit all ranks in total, but not rank by rank
    kRules,        // placement rules leave a table no place
    kSearch,       // the search ended for another reason
  };
  Kind kind = Kind::kSearch;
  bool proved = false;  // if false, planning found no plan
  // Tables that do not fit even if there are no other tables, in the order of the problem. If
  // `irreducible`, a plan without any one of them was found and verified.
  std::vector<TableId> tables;
  bool irreducible = false;
  // A lower bound of the bytes that the tables need, and the bytes that the reservation leaves. For
  // kReservation, the bytes that the reservation takes of rank 0, and the HBM of rank 0. Absent if
  // nothing is proved.
  std::optional<std::int64_t> needed_bytes;
  std::optional<std::int64_t> available_bytes;
  std::optional<MemoryShortage> shortage;  // the proof, if memory is the reason
  std::shared_ptr<const void> owner;       // owns the option of `shortage`
};
template <>
struct EnumNames<InfeasibleReason::Kind> {
  static constexpr std::string_view kWhat = "reason";
  static constexpr std::array<std::string_view, 7> kNames{
      "reservation", "table", "together", "total", "packing", "rules", "search"};
};

// Finds out why the problem has no plan. `present`: the oracle's answer for the unchanged problem.
// `no_place`: true if planning found that the placement rules leave a table no place.
InfeasibleReason find_infeasible_reason(const Fit& present, bool no_place, FitOracle& oracle);

}  // namespace shardwright::embedding
