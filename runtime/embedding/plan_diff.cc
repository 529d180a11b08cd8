#include "runtime/embedding/plan_diff.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/embedding/rank_flows.h"
#include "runtime/embedding/identity.h"

namespace shardwright {
namespace {

using embedding::bytes_of_elements;
using embedding::moved_elements;
using embedding::PlacedLayout;

std::string full_name(const PlanEntry& entry) {
  return entry.module.empty() ? entry.table : entry.module + "." + entry.table;
}

TablePlace place_of(const PlanEntry& entry) {
  return {entry.sharding_type, entry.compute_kernel, entry.load_factor, entry.ranks};
}

// Finds the entries of a plan by name. An entry without a module matches any module if its name is
// unique.
class Entries {
 public:
  static Result<Entries> make(const PlanDocument& document, const std::string& file) {
    if (!document.plan)
      return invalid_input(
          file, "the file holds no plan: " + (document.failure ? document.failure->message : ""));
    Entries entries;
    for (std::size_t i = 0; i < document.plan->size(); ++i) {
      const PlanEntry& entry = (*document.plan)[i];
      std::vector<const PlanEntry*>& named = entries.by_table_[entry.table];
      for (const PlanEntry* other : named) {
        if (other->module != entry.module) continue;
        return invalid_input(file + ": /plan/" + std::to_string(i),
                             "table \"" + full_name(entry) + "\" is in the plan twice");
      }
      named.push_back(&entry);
    }
    return entries;
  }

  const PlanEntry* find(const PlanEntry& like) const {
    const auto named = by_table_.find(like.table);
    if (named == by_table_.end()) return nullptr;
    const std::vector<const PlanEntry*>& entries = named->second;
    for (const PlanEntry* entry : entries) {
      if (entry->module == like.module) return entry;
    }
    const bool vague = like.module.empty() || entries.front()->module.empty();
    return vague && entries.size() == 1 ? entries.front() : nullptr;
  }

 private:
  std::map<std::string, std::vector<const PlanEntry*>> by_table_;
};

// Returns nullopt if the entry does not say how the table is cut.
std::optional<PlacedLayout> placed(const PlanEntry& entry) {
  if (!entry.is_cut()) return std::nullopt;
  return PlacedLayout{&*entry.layout, [&entry](std::uint32_t shard) { return entry.ranks[shard]; }};
}

std::optional<std::int64_t> bytes_to_move(const PlanEntry* from, const PlanEntry& to,
                                          embedding::RankFlows* flows) {
  const std::optional<PlacedLayout> after = placed(to);
  const std::optional<PlacedLayout> before = from != nullptr ? placed(*from) : PlacedLayout{};
  if (!after || !before || !to.element_bits) return std::nullopt;
  if (flows != nullptr) flows->add(*before, *after, *to.element_bits);
  return bytes_of_elements(moved_elements(*before, *after), *to.element_bits);
}

// Adds `bytes` to `sum`. The sum becomes absent if `bytes` is absent or the sum reaches 2^63.
void add_bytes(const std::optional<std::int64_t>& bytes, std::optional<std::int64_t>& sum) {
  if (sum && (!bytes || __builtin_add_overflow(*sum, *bytes, &*sum))) sum.reset();
}

std::string what_differs(const TablePlace& from, const TablePlace& to, bool cut_anew) {
  std::vector<const char*> differ;
  if (from.sharding_type != to.sharding_type) differ.push_back("sharding type");
  if (from.compute_kernel != to.compute_kernel) differ.push_back("kernel");
  if (from.load_factor != to.load_factor) differ.push_back("load factor");
  const bool as_many = from.ranks.size() == to.ranks.size();
  if (!as_many) differ.push_back("number of shards");
  if (from.ranks != to.ranks) differ.push_back("ranks");
  if (cut_anew && as_many && from.sharding_type == to.sharding_type)
    differ.push_back("shard sizes");
  std::string text;
  for (std::size_t i = 0; i < differ.size(); ++i) {
    text += i == 0 ? "" : i + 1 == differ.size() ? " and " : ", ";
    text += differ[i];
  }
  return text;
}

void compare_tables(const PlanDocument& from, const Entries& before, const PlanDocument& to,
                    const Entries& after, embedding::RankFlows* flows, PlanDiff& diff) {
  diff.moved_bytes = diff.placed_bytes = 0;
  for (const PlanEntry& entry : *to.plan) {
    const PlanEntry* const old = before.find(entry);
    TableDifference table{full_name(entry), std::nullopt, place_of(entry), "added", std::nullopt};
    if (old != nullptr) {
      table.from = place_of(*old);
      const bool cut_anew = entry.layout && old->layout && !(*entry.layout == *old->layout);
      if (table.from == table.to && !cut_anew) {
        ++diff.tables_kept;
        continue;
      }
      table.what = what_differs(*table.from, *table.to, cut_anew);
    }
    ++(old != nullptr ? diff.tables_moved : diff.tables_added);
    table.bytes = bytes_to_move(old, entry, flows);
    add_bytes(table.bytes, old != nullptr ? diff.moved_bytes : diff.placed_bytes);
    diff.tables.push_back(std::move(table));
  }
  for (const PlanEntry& entry : *from.plan) {
    if (after.find(entry) != nullptr) continue;
    ++diff.tables_removed;
    diff.tables.push_back(
        {full_name(entry), place_of(entry), std::nullopt, "removed", std::nullopt});
  }
}

template <class Value>
std::optional<Value> at(const std::vector<Value>& by_rank, std::size_t rank) {
  return rank < by_rank.size() ? std::optional<Value>(by_rank[rank]) : std::nullopt;
}

std::size_t num_ranks(const PlanDocument& document) {
  return std::max({document.perf_ms_by_rank.size(), document.hbm_bytes_by_rank.size(),
                   document.ddr_bytes_by_rank.size(), document.ssd_bytes_by_rank.size()});
}

void compare_ranks(const PlanDocument& from, const PlanDocument& to, PlanDiff& diff) {
  for (std::size_t rank = 0; rank < std::max(num_ranks(from), num_ranks(to)); ++rank) {
    RankDifference& out = diff.ranks.emplace_back();
    out.perf_ms = {at(from.perf_ms_by_rank, rank), at(to.perf_ms_by_rank, rank)};
    out.hbm_bytes = {at(from.hbm_bytes_by_rank, rank), at(to.hbm_bytes_by_rank, rank)};
    out.ddr_bytes = {at(from.ddr_bytes_by_rank, rank), at(to.ddr_bytes_by_rank, rank)};
    const Change<std::int64_t> ssd{at(from.ssd_bytes_by_rank, rank),
                                   at(to.ssd_bytes_by_rank, rank)};
    if (ssd.from || ssd.to) out.ssd_bytes = ssd;
  }
}

}  // namespace

std::int64_t machine_size(const PlanDocument& from, const PlanDocument& to) {
  auto ranks = static_cast<std::int64_t>(std::max(num_ranks(from), num_ranks(to)));
  for (const PlanDocument* const document : {&from, &to}) {
    if (!document->plan) continue;
    for (const PlanEntry& entry : *document->plan) {
      for (const std::int64_t rank : entry.ranks)
        ranks = std::max(ranks, rank + 1);
    }
  }
  return std::max<std::int64_t>(ranks, 1);
}

Result<PlanDiff> diff_plans(const PlanDocument& from, const PlanDocument& to,
                            embedding::RankFlows* flows) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Entries before, Entries::make(from, "PLAN_A"));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Entries after, Entries::make(to, "PLAN_B"));
  PlanDiff diff;
  compare_tables(from, before, to, after, flows, diff);
  compare_ranks(from, to, diff);
  diff.rating = {from.best_rating, to.best_rating};
  if (from.problem_hash && to.problem_hash) {
    diff.same_problem = *from.problem_hash == *to.problem_hash;
    if (!*diff.same_problem)
      diff.problem_differs_in = differing_parts(from.problem_parts, to.problem_parts);
  }
  return diff;
}

}  // namespace shardwright
