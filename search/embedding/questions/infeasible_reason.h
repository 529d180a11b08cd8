// Finds out why a problem has no plan: an irreducible set of tables that does not fit.
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

// Returns the problem with these tables alone. Placement groups keep their tables that are in
// `tables`. Precondition: `tables` is ascending.
ProblemSpec only_tables(const ProblemSpec& spec, std::span<const TableId> tables);

struct IrreducibleSet {
  std::vector<TableId> tables;  // ascending
  // For every table, a plan of the other tables of the set was found and verified. Otherwise the
  // search gave up before it had tested every table.
  bool tested = false;
};

// Narrows `tables`, which do not fit even if they have the machine to themselves: takes tables, the
// largest first, until they do not fit; then leaves out every table without which the rest does not
// fit either. `space` has the options of all tables of `problem`. Cost: one planning per table of
// the set and O(log tables) further ones; a large set is first tested by exchanging a table in a
// known plan.
IrreducibleSet find_irreducible_set(const Problem& problem, const SearchSpace& space,
                                    std::vector<TableId> tables, FitOracle& oracle);

struct InfeasibleReason {
  enum class Kind : std::uint8_t {
    kReservation,  // exceeds the memory of a rank
    kTable,        // one table fits nowhere
    kTogether,     // tables that must share a rank or host exceed its memory
    kTotal,        // all tables exceed the memory of all ranks
    kPacking,      // the tables fit in total, but not rank by rank
    kRules,        // placement rules leave a table no place
    kSearch,       // the search ended for another reason
  };
  Kind kind = Kind::kSearch;
  bool proved = false;  // otherwise planning found nothing
  // Tables that do not fit even if they have the machine to themselves, in the order of the
  // problem. If `irreducible`, for each of them a plan of the others was found and verified.
  std::vector<TableId> tables;
  bool irreducible = false;
  // Lower bound of the bytes needed, and the bytes available after reservation. For kReservation:
  // what the reservation takes of rank 0, and the HBM of rank 0. Absent if nothing is proved.
  std::optional<std::int64_t> needed_bytes;
  std::optional<std::int64_t> available_bytes;
  std::optional<MemoryShortage> shortage;  // the proof, if memory is the reason
  std::shared_ptr<const void> owner;       // keeps the shortage's option alive
};
template <>
struct EnumNames<InfeasibleReason::Kind> {
  static constexpr std::string_view kWhat = "reason";
  static constexpr std::array<std::string_view, 7> kNames{
      "reservation", "table", "together", "total", "packing", "rules", "search"};
};

// Finds out why the problem has no plan. `present`: the oracle's answer for the problem as it is.
// `no_place`: planning found that the placement rules leave a table no place.
InfeasibleReason find_infeasible_reason(const Fit& present, bool no_place, FitOracle& oracle);

}  // namespace shardwright::embedding
