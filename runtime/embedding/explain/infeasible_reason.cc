#include "runtime/embedding/explain/infeasible_reason.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/problem/places.h"
#include "runtime/embedding/explain/irreducible_set.h"
#include "runtime/embedding/explain/problem_changes.h"
#include "runtime/embedding/explain/reasons.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using embedding::Misfit;
using embedding::Problem;
using embedding::Storage;
using embedding::Table;
using embedding::TableId;
using Kind = Infeasibility::Kind;

constexpr std::size_t kMostNames = 4;

std::string with_unit(std::int64_t bytes) {
  return std::to_string(bytes) + " bytes (" + format_bytes(Bytes(bytes)) + ")";
}

std::string named(const Problem& problem, const std::vector<TableId>& tables) {
  std::string text = tables.size() == 1 ? "table " : format_plural(tables.size(), "table") + " (";
  for (std::size_t i = 0; i < std::min(tables.size(), kMostNames); ++i)
    text += (i == 0 ? "\"" : ", \"") + problem.table(tables[i]).name + "\"";
  if (tables.size() > kMostNames) text += ", …";
  return text + (tables.size() == 1 ? "" : ")");
}

const char* tier_text(Misfit::Tier tier) {
  switch (tier) {
    case Misfit::Tier::kHbm:
      return "HBM";
    case Misfit::Tier::kDdr:
      return "DDR";
    case Misfit::Tier::kBoth:
      return "HBM and DDR together";
    case Misfit::Tier::kWeighted:
      break;
  }
  return "of a weighted mean of HBM and DDR";
}

std::string short_of(const Misfit& misfit) {
  return with_unit(misfit.needed_bytes - misfit.available_bytes) + " short";
}

// The constraints that narrow a table's options, for a sentence; empty where there are none.
std::string narrowing(const Table& table) {
  if (!table.constraints) return "";
  const std::string place = embedding::constraints_place(table.name);
  std::string text;
  const auto add = [&](bool given, const char* key) {
    if (given) text += (text.empty() ? "" : " and ") + place + "/" + key;
  };
  add(!table.constraints->sharding_types.empty(), "sharding_types");
  add(!table.constraints->compute_kernels.empty(), "compute_kernels");
  add(table.constraints->min_partition.has_value(), "min_partition");
  return text.empty() ? "" : " Its options are those that " + text + " leave.";
}

std::string table_message(const Problem& problem, const Misfit& misfit) {
  const Table& table = problem.table(misfit.tables.front());
  return "Table \"" + table.name +
         "\" fits on no rank, were all ranks empty. The least demanding of its options, " +
         option_name(*misfit.closest) + ", has a shard of " + with_unit(misfit.needed_bytes) + " " +
         tier_text(misfit.tier) + "; rank " + std::to_string(misfit.rank) +
         ", the largest for it, has " + with_unit(misfit.available_bytes) +
         " after reservation: " + short_of(misfit) + "." + narrowing(table);
}

std::string together_message(const Problem& problem, const Misfit& misfit) {
  const bool group = !misfit.place.empty();
  return "The " + named(problem, misfit.tables) +
         (group ? " must be together (" + misfit.place + ")" : " may be only on a few ranks") +
         " and need at least " + with_unit(misfit.needed_bytes) + " " + tier_text(misfit.tier) +
         "; the place that lacks least, from rank " + std::to_string(misfit.rank) + " on, has " +
         with_unit(misfit.available_bytes) + " after reservation: " + short_of(misfit) + ".";
}

std::string total_message(const Problem& problem, const Misfit& misfit) {
  return "The " + named(problem, misfit.tables) + " need at least " +
         with_unit(misfit.needed_bytes) + " " + tier_text(misfit.tier) + " over all ranks; " +
         format_plural(problem.topology().world_size(), "rank") + " have " +
         with_unit(misfit.available_bytes) + " after reservation: " + short_of(misfit) + ".";
}

std::string shards_message(const Problem& problem, const Misfit& misfit) {
  return "The " + named(problem, misfit.tables) +
         " fit in total, but have shards so large that too few share a rank: they block at least " +
         with_unit(misfit.needed_bytes) + " " + tier_text(misfit.tier) + ", and all ranks have " +
         with_unit(misfit.available_bytes) +
         ", were each as large as the largest: " + short_of(misfit) + ".";
}

void describe(const Problem& problem, const Misfit& misfit, Infeasibility& reason) {
  reason.proved = true;
  reason.needed_bytes = misfit.needed_bytes;
  reason.available_bytes = misfit.available_bytes;
  switch (misfit.kind) {
    case Misfit::Kind::kTable:
      reason.kind = Kind::kTable;
      reason.message = table_message(problem, misfit);
      return;
    case Misfit::Kind::kTogether:
      reason.kind = Kind::kTogether;
      reason.message = together_message(problem, misfit);
      return;
    case Misfit::Kind::kTotal:
      reason.kind = Kind::kTotal;
      reason.message = total_message(problem, misfit);
      return;
    case Misfit::Kind::kShards:
      break;
  }
  reason.kind = Kind::kPacking;
  reason.message = shards_message(problem, misfit);
}

// What is set aside on rank 0, as a larger machine would tell, against what there is.
Infeasibility negative_reservation(const Fit& present) {
  constexpr std::int64_t kPlenty = std::int64_t{1} << 61;  // of all ranks together
  constexpr std::int64_t kMostOfRank = std::int64_t{1} << 50;
  Infeasibility reason;
  reason.kind = Kind::kReservation;
  reason.proved = true;
  reason.message = present.why;
  const Problem& problem = *present.problem;
  const std::int64_t has = problem.topology().storage().front().hbm.value();
  embedding::ProblemSpec spec = problem.spec();
  spec.topology.custom_hbm_cap_bytes.clear();
  spec.topology.hbm_cap_bytes = std::min(kPlenty / problem.topology().world_size(), kMostOfRank);
  const Result<Problem> larger = Problem::make(std::move(spec));
  if (!larger.ok()) return reason;
  const Result<Reservation> reservation = reserve_embedding(*larger);
  if (!reservation.ok()) return reason;
  const auto left = static_cast<std::int64_t>((1 - problem.spec().reservation.percentage) *
                                              static_cast<double>(has));
  reason.needed_bytes =
      has - left + reservation->dense_storage->hbm.value() + reservation->kjt_storage->hbm.value();
  reason.available_bytes = has;
  return reason;
}

// Numbers of tables of a problem of these tables alone, as those of the whole problem.
void renumber(const std::vector<TableId>& tables, Misfit& misfit) {
  for (TableId& id : misfit.tables)
    id = tables[id.index()];
}

// What the tables of the set, and no others, lack of what the whole problem's reservation leaves.
void describe_set(const Fit& present, FitOracle& oracle, Infeasibility& reason) {
  const Problem& problem = *present.problem;
  const Fit alone = oracle.ask(only_tables(problem.spec(), reason.tables), Effort::kProof);
  std::optional<Misfit> misfit;
  if (alone.search_space)
    misfit = embedding::prove_misfit(*alone.search_space, present.reservation->topology);
  if (misfit) {
    // The option belongs to the smaller problem, which lives no longer than this function.
    renumber(reason.tables, *misfit);
    describe(problem, *misfit, reason);
    return;
  }
  // A search of few tables may end with a proof.
  const Effort effort = oracle.quick_is_full() ? Effort::kFull : Effort::kQuick;
  const Fit planned = oracle.ask(only_tables(problem.spec(), reason.tables), effort);
  reason.kind = Kind::kPacking;
  reason.proved = planned.impossible();
  const bool one = reason.tables.size() == 1;
  reason.message = "The " + named(problem, reason.tables);
  if (reason.proved) {
    reason.message +=
        std::string(one ? " fits" : " fit") + " in no way: every option was tried on every rank.";
  } else {
    reason.message +=
        std::string(one ? " is not too large" : " are not too large one by one or in total") +
        " as far as can be shown, but planning finds no way to place " +
        (one ? "its shards" : "them") + " rank by rank.";
  }
}

}  // namespace

const char* to_name(Infeasibility::Kind kind) {
  constexpr const char* kNames[] = {"reservation", "table", "together", "total",
                                    "packing",     "rules", "search"};
  return kNames[static_cast<std::size_t>(kind)];
}

Infeasibility find_infeasible_reason(const Fit& present, const PlanFailure& failure,
                                     FitOracle& oracle) {
  if (!present.reservation) return negative_reservation(present);
  const Problem& problem = *present.problem;
  Infeasibility reason;
  reason.message = failure.message;
  if (!present.misfit && failure.reason == "placement_rules") {
    reason.kind = Kind::kRules;
    reason.proved = true;
  } else if (!present.misfit &&
             (failure.reason == "nothing_proposed" || failure.reason == "ratings_too_large")) {
    return reason;
  }
  std::vector<TableId> tables;
  if (present.misfit) tables = present.misfit->tables;
  // With the others go their inputs, whose memory may be what is missing.
  const bool suffice = !tables.empty() &&
                       oracle.ask(only_tables(problem.spec(), tables), Effort::kProof).impossible();
  if (!suffice) {
    tables.clear();
    for (std::size_t i = 0; i < problem.tables().size(); ++i)
      tables.emplace_back(i);
  }
  IrreducibleSet set =
      find_irreducible_set(problem, *present.search_space, std::move(tables), oracle);
  reason.tables = std::move(set.tables);
  reason.irreducible = set.tested;
  if (reason.kind != Kind::kRules) describe_set(present, oracle, reason);
  return reason;
}

}  // namespace shardwright
