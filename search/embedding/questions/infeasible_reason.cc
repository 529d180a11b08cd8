#include "search/embedding/questions/infeasible_reason.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/embedding/evaluate.h"
#include "search/embedding/compat/storage_reservations.h"
#include "search/embedding/questions/plan_of_entries.h"

namespace shardwright::embedding {
namespace {

using Kind = InfeasibleReason::Kind;

std::vector<TableGroup> narrowed(const std::vector<TableGroup>& groups,
                                 const std::set<std::string>& names) {
  std::vector<TableGroup> left;
  for (TableGroup group : groups) {
    const auto gone =
        std::remove_if(group.tables.begin(), group.tables.end(),
                       [&](const std::string& name) { return !names.contains(name); });
    group.tables.erase(gone, group.tables.end());
    if (!group.tables.empty()) left.push_back(std::move(group));
  }
  return left;
}

// Larger sets first try to exchange a table in a known plan, which is cheaper than planning.
constexpr std::size_t kMostPlanned = 24;
// In larger sets, tables are not left out one by one by proof, because each takes another proof.
constexpr std::size_t kMostProved = 400;
// After this many full searches without a plan, the set is not narrowed further.
constexpr int kMostFailedSearches = 6;
// Largest number of passes over the set in compat mode.
constexpr int kMostRounds = 3;

// A plan of a subset of the tables.
struct KnownPlan {
  std::vector<TableId> tables;  // ascending; table i of the plan's problem is tables[i]
  Fit fit;
};

// Thread safety: one thread at a time.
class SetFinder {
 public:
  SetFinder(const Problem& problem, const SearchSpace& space, std::vector<TableId> tables,
            FitOracle& oracle)
      : problem_(problem), oracle_(oracle), set_(std::move(tables)) {
    std::vector<std::int64_t> needs(problem.tables().size(), -1);
    for (const ShardingOption& option : space.options()) {
      const Storage total = option.total_storage();
      std::int64_t& need = needs[option.table.index()];
      const std::int64_t bytes = total.sum().value();
      need = need < 0 ? bytes : std::min(need, bytes);
    }
    std::stable_sort(set_.begin(), set_.end(),
                     [&](TableId a, TableId b) { return needs[a.index()] > needs[b.index()]; });
  }

  IrreducibleSet run() {
    const bool proved = ask(set_, Effort::kProof).impossible();
    if (proved) narrow_by_proof();
    IrreducibleSet result;
    result.tested = take_smallest_prefix(proved) && leave_out_the_rest();
    result.tables = sorted(set_);
    return result;
  }

 private:
  static std::vector<TableId> sorted(std::vector<TableId> tables) {
    std::sort(tables.begin(), tables.end());
    return tables;
  }
  std::vector<TableId> prefix(std::size_t size) const {
    return {set_.begin(), set_.begin() + static_cast<std::ptrdiff_t>(size)};
  }
  std::vector<TableId> without(std::size_t i) const {
    std::vector<TableId> rest = set_;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    return rest;
  }

  Fit ask(std::vector<TableId> tables, Effort effort) {
    std::sort(tables.begin(), tables.end());
    return oracle_.ask(only_tables(problem_.spec(), tables), effort);
  }
  Effort quick() const { return oracle_.quick_is_full() ? Effort::kFull : Effort::kQuick; }

  // Keeps the shortest prefix of set_ that is proved not to fit, then leaves out tables that the
  // proof does not need.
  void narrow_by_proof() {
    std::size_t fits = 0;
    std::size_t fails = set_.size();
    while (fails - fits > 1) {
      const std::size_t middle = fits + (fails - fits) / 2;
      (ask(prefix(middle), Effort::kProof).impossible() ? fails : fits) = middle;
    }
    set_ = prefix(fails);
    if (set_.size() > kMostProved) return;
    for (std::size_t i = set_.size(); i-- > 0 && set_.size() > 1;) {
      std::vector<TableId> rest = without(i);
      if (ask(rest, Effort::kProof).impossible()) set_ = std::move(rest);
    }
  }

  // Keeps the shortest prefix of set_ for which no plan is found. Returns false if the search was
  // stopped.
  bool take_smallest_prefix(bool proved) {
    std::size_t fits = 0;
    std::size_t fails = set_.size();
    const auto try_prefix = [&](std::size_t size, Effort effort) {
      Fit fit = ask(prefix(size), effort);
      if (!fit.fits()) {
        fails = size;
        return;
      }
      fits = size;
      known_ = KnownPlan{sorted(prefix(size)), std::move(fit)};
    };
    // The proof needs all tables of the prefix, so one table less usually fits.
    if (proved && fails > 1) try_prefix(fails - 1, quick());
    while (fails - fits > 1 && !oracle_.stopped())
      try_prefix(fits + (fails - fits) / 2, quick());
    // A full search may find plans for more tables.
    const std::size_t all = set_.size();
    while (fails < all && !oracle_.quick_is_full() && !oracle_.stopped() &&
           !ask(prefix(fails), Effort::kProof).impossible()) {
      const std::size_t before = fails;
      fails = all;
      try_prefix(before, Effort::kFull);
      if (fails == before) break;
      while (fails - fits > 1 && !oracle_.stopped())
        try_prefix(fits + (fails - fits) / 2, quick());
    }
    set_ = prefix(fails);
    return !oracle_.stopped();
  }

  // Leaves out every table without which the others still do not fit. Returns false if too many
  // searches found no plan. Compat mode tests the remaining tables again, because it may miss a
  // plan although it finds a plan for more tables.
  bool leave_out_the_rest() {
    for (int round = 0; round < kMostRounds; ++round) {
      const std::size_t before = set_.size();
      // The set fits without its last table, so the first round skips this table.
      if (!leave_out(set_.size() - (round == 0 ? 1 : 0))) return false;
      if (set_.size() == before || !oracle_.quick_is_full()) return true;
    }
    return false;
  }

  // Tests the first `count` tables of the set.
  bool leave_out(std::size_t count) {
    int vain = 0;
    for (std::size_t i = count; i-- > 0 && set_.size() > 1;) {
      const std::vector<TableId> rest = without(i);
      if (exchange(rest)) continue;
      Fit fit = ask(rest, quick());
      if (fit.answer == Fit::Answer::kStopped) return false;
      if (!fit.fits() && !fit.impossible() && !oracle_.quick_is_full()) {
        if (oracle_.stopped() || ++vain > kMostFailedSearches) return false;
        fit = ask(rest, Effort::kFull);
      }
      if (!fit.fits()) set_ = rest;
    }
    return true;
  }

  // Tries to add the one table of `rest` that the known plan lacks, with all other tables
  // unchanged. Returns true if the result is a valid plan.
  bool exchange(const std::vector<TableId>& rest) {
    if (!known_ || rest.size() < kMostPlanned || oracle_.quick_is_full()) return false;
    const std::vector<TableId> tables = sorted(rest);
    const Fit fit = ask(tables, Effort::kProof);
    // A stopped oracle returns no options.
    if (fit.impossible() || !fit.search_space) return false;
    PlanLoads loads(*fit.problem, fit.reservation->topology);
    std::vector<Assignment> assignments;
    std::vector<std::vector<const ShardingOption*>> options(tables.size());
    for (const ShardingOption& option : fit.search_space->options())
      options[option.table.index()].push_back(&option);
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const Assignment old = known_assignment(tables[i]);
      assignments.push_back(old.option == nullptr ? Assignment() : same_place(options[i], old));
      if (assignments.back().option != nullptr) {
        loads.add(assignments.back());
      } else if (last) {
        return false;
      } else {
        last = i;
      }
    }
    if (!last) return false;
    const auto place = place_anew(*fit.problem, fit.reservation->topology, options[*last], loads);
    if (!place) return false;
    assignments[*last] = *place;
    const Plan plan = Plan::generate(fit.search_space, assignments.size(),
                                     [&](std::size_t i) { return assignments[i]; });
    return evaluate(*fit.problem, fit.reservation->topology, plan).valid();
  }

  Assignment known_assignment(TableId id) const {
    const auto at = std::lower_bound(known_->tables.begin(), known_->tables.end(), id);
    if (at == known_->tables.end() || *at != id) return {};
    const TableId own(static_cast<std::size_t>(at - known_->tables.begin()));
    for (std::size_t i = 0; i < known_->fit.plan->size(); ++i) {
      if ((*known_->fit.plan)[i].option->table == own) return (*known_->fit.plan)[i];
    }
    return {};
  }

  static Assignment same_place(const std::vector<const ShardingOption*>& options,
                               const Assignment& old) {
    for (const ShardingOption* const option : options) {
      if (option->sharding_type == old.option->sharding_type &&
          option->compute_kernel == old.option->compute_kernel &&
          option->load_factor == old.option->load_factor &&
          option->num_shards() == old.option->num_shards()) {
        return {option, old.ranks};
      }
    }
    return {};
  }

  const Problem& problem_;
  FitOracle& oracle_;
  std::vector<TableId> set_;  // the largest first
  std::optional<KnownPlan> known_;
};

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

// The reason if the reservation exceeds the memory of a rank. Computes what it takes of rank 0 on a
// machine with more memory.
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

// Returns tables that do not fit even if there are no other tables.
std::vector<TableId> tables_to_narrow(const Fit& present, FitOracle& oracle) {
  const Problem& problem = *present.problem;
  if (present.shortage && !present.shortage->tables.empty()) {
    const std::vector<TableId>& tables = present.shortage->tables;
    // Without the other tables, their inputs take no memory either, so `tables` alone may fit.
    if (oracle.ask(only_tables(problem.spec(), tables), Effort::kProof).impossible()) return tables;
  }
  std::vector<TableId> all;
  for (std::size_t i = 0; i < problem.tables().size(); ++i)
    all.emplace_back(i);
  return all;
}

// Sets the kind of the reason, and a proof if `reason.tables` lack memory beside the reservation of
// the whole problem.
void examine_set(const Fit& present, FitOracle& oracle, InfeasibleReason& reason) {
  const ProblemSpec& spec = present.problem->spec();
  const Fit alone = oracle.ask(only_tables(spec, reason.tables), Effort::kProof);
  if (alone.search_space) {
    reason.shortage =
        prove_memory_shortage(*alone.search_space, present.reservation->topology, oracle.budget());
    reason.owner = alone.search_space;
  }
  if (reason.shortage) {
    // The reduced problem has its own table numbers.
    for (TableId& id : reason.shortage->tables)
      id = reason.tables[id.index()];
    reason.kind = kind_of(reason.shortage->kind);
    reason.proved = true;
    reason.needed_bytes = reason.shortage->needed_bytes;
    reason.available_bytes = reason.shortage->available_bytes;
    return;
  }
  // A search for few tables may end with a proof.
  const Effort effort = oracle.quick_is_full() ? Effort::kFull : Effort::kQuick;
  reason.kind = Kind::kPacking;
  reason.proved = oracle.ask(only_tables(spec, reason.tables), effort).impossible();
}

}  // namespace

ProblemSpec only_tables(const ProblemSpec& spec, std::span<const TableId> tables) {
  ProblemSpec narrow = spec;
  narrow.tables.clear();
  std::set<std::string> names;
  for (const TableId id : tables) {
    narrow.tables.push_back(spec.tables[id.index()]);
    names.insert(spec.tables[id.index()].name);
  }
  narrow.keep_together = narrowed(spec.keep_together, names);
  narrow.keep_apart = narrowed(spec.keep_apart, names);
  return narrow;
}

IrreducibleSet find_irreducible_set(const Problem& problem, const SearchSpace& space,
                                    std::vector<TableId> tables, FitOracle& oracle) {
  return SetFinder(problem, space, std::move(tables), oracle).run();
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
