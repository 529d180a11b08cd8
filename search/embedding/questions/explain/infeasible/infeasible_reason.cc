#include "search/embedding/questions/explain/infeasible/infeasible_reason.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "search/embedding/compat/storage_reservations.h"
#include "search/embedding/questions/explain/infeasible/irreducible_set.h"
#include "search/embedding/questions/explain/infeasible/problem_changes.h"

namespace shardwright::embedding {
namespace {

using Kind = InfeasibleReason::Kind;

Kind kind_of(MemoryShortage::Kind kind) {
  switch (kind) {
    case MemoryShortage::Kind::kTable:
      return Kind::kTable;
    case MemoryShortage::Kind::kTogether:
      return Kind::kTogether;
    case MemoryShortage::Kind::kTotal:
      return Kind::kTotal;
    case MemoryShortage::Kind::kShards:
      break;
  }
  return Kind::kPacking;
}

// What the reservation sets aside on rank 0, computed on a machine with enough memory.
InfeasibleReason negative_reservation(const Problem& problem) {
  constexpr std::int64_t kAmple = std::int64_t{1} << 61;  // over all ranks
  constexpr std::int64_t kMostOfRank = std::int64_t{1} << 50;
  InfeasibleReason reason;
  reason.kind = Kind::kReservation;
  reason.proved = true;
  const std::int64_t has = problem.topology().storage().front().hbm.value();
  ProblemSpec spec = problem.spec();
  spec.topology.custom_hbm_cap_bytes.clear();
  spec.topology.hbm_cap_bytes = std::min(kAmple / problem.topology().world_size(), kMostOfRank);
  const Result<Problem> larger = Problem::make(std::move(spec));
  if (!larger.ok()) return reason;
  const Result<Reservation> reserved = reserve(*larger);
  if (!reserved.ok()) return reason;
  const auto left = static_cast<std::int64_t>((1 - problem.spec().reservation.percentage) *
                                              static_cast<double>(has));
  reason.needed_bytes =
      has - left + reserved->dense_storage->hbm.value() + reserved->kjt_storage->hbm.value();
  reason.available_bytes = has;
  return reason;
}

// Tables that certainly do not fit a machine of their own.
std::vector<TableId> tables_to_narrow(const Fit& present, FitOracle& oracle) {
  const Problem& problem = *present.problem;
  if (present.shortage && !present.shortage->tables.empty()) {
    const std::vector<TableId>& tables = present.shortage->tables;
    // Without the other tables their inputs are gone, too, and those may be what takes the memory.
    if (oracle.ask(only_tables(problem.spec(), tables), Effort::kProof).impossible()) return tables;
  }
  std::vector<TableId> all;
  for (std::size_t i = 0; i < problem.tables().size(); ++i)
    all.emplace_back(i);
  return all;
}

// Says what the tables of the set lack if the memory is what the whole problem's reservation
// leaves.
void examine_set(const Fit& present, FitOracle& oracle, InfeasibleReason& reason) {
  const ProblemSpec& spec = present.problem->spec();
  const Fit alone = oracle.ask(only_tables(spec, reason.tables), Effort::kProof);
  if (alone.search_space) {
    reason.shortage =
        prove_memory_shortage(*alone.search_space, present.reservation->topology, oracle.budget());
    reason.owner = alone.search_space;
  }
  if (reason.shortage) {
    // The smaller problem has table numbers of its own.
    for (TableId& id : reason.shortage->tables)
      id = reason.tables[id.index()];
    reason.kind = kind_of(reason.shortage->kind);
    reason.proved = true;
    reason.needed_bytes = reason.shortage->needed_bytes;
    reason.available_bytes = reason.shortage->available_bytes;
    return;
  }
  // A search of few tables may end with a proof.
  const Effort effort = oracle.quick_is_full() ? Effort::kFull : Effort::kQuick;
  reason.kind = Kind::kPacking;
  reason.proved = oracle.ask(only_tables(spec, reason.tables), effort).impossible();
}

}  // namespace

const char* to_name(InfeasibleReason::Kind kind) {
  constexpr const char* kNames[] = {"reservation", "table", "together", "total",
                                    "packing",     "rules", "search"};
  return kNames[static_cast<std::size_t>(kind)];
}

InfeasibleReason find_infeasible_reason(const Fit& present, bool no_place, FitOracle& oracle) {
  if (!present.reservation) return negative_reservation(*present.problem);
  InfeasibleReason reason;
  if (no_place && !present.shortage) {
    reason.kind = Kind::kRules;
    reason.proved = true;
  }
  IrreducibleSet set = find_irreducible_set(*present.problem, *present.search_space,
                                            tables_to_narrow(present, oracle), oracle);
  reason.tables = std::move(set.tables);
  reason.irreducible = set.tested;
  if (reason.kind != Kind::kRules) examine_set(present, oracle, reason);
  return reason;
}

}  // namespace shardwright::embedding
