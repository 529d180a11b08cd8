#include "runtime/embedding/explain/infeasible_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/embedding/problem/placement_spec.h"
#include "runtime/embedding/explain/reasons.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using embedding::InfeasibleReason;
using embedding::MemoryShortage;
using embedding::Problem;
using embedding::Table;
using embedding::TableId;
using Kind = InfeasibleReason::Kind;

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

const char* tier_text(const Problem& problem, MemoryShortage::Tier tier) {
  const bool with_ssd = problem.topology().counts_ssd();
  switch (tier) {
    case MemoryShortage::Tier::kHbm:
      return "HBM";
    case MemoryShortage::Tier::kDdr:
      return "DDR";
    case MemoryShortage::Tier::kSsd:
      return "SSD";
    case MemoryShortage::Tier::kAll:
      return with_ssd ? "HBM, DDR and SSD together" : "HBM and DDR together";
    case MemoryShortage::Tier::kWeighted:
      break;
  }
  return with_ssd ? "of a weighted mean of HBM, DDR and SSD" : "of a weighted mean of HBM and DDR";
}

std::string short_of(const MemoryShortage& shortage) {
  return with_unit(shortage.needed_bytes - shortage.available_bytes) + " short";
}

// A sentence that names the constraints on a table's options; empty if there are none.
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

std::string table_message(const Problem& problem, const MemoryShortage& shortage) {
  const Table& table = problem.table(shortage.tables.front());
  return "Table \"" + table.name +
         "\" fits on no rank, were all ranks empty. The least demanding of its options, " +
         option_name(*shortage.closest) + ", has a shard of " + with_unit(shortage.needed_bytes) +
         " " + tier_text(problem, shortage.tier) + "; rank " + std::to_string(shortage.rank) +
         ", the largest for it, has " + with_unit(shortage.available_bytes) +
         " after reservation: " + short_of(shortage) + "." + narrowing(table);
}

std::string together_message(const Problem& problem, const MemoryShortage& shortage) {
  const bool group = !shortage.place.empty();
  return "The " + named(problem, shortage.tables) +
         (group ? " must be together (" + shortage.place + ")" : " may be only on a few ranks") +
         " and need at least " + with_unit(shortage.needed_bytes) + " " +
         tier_text(problem, shortage.tier) + "; the place that lacks least, from rank " +
         std::to_string(shortage.rank) + " on, has " + with_unit(shortage.available_bytes) +
         " after reservation: " + short_of(shortage) + ".";
}

std::string total_message(const Problem& problem, const MemoryShortage& shortage) {
  return "The " + named(problem, shortage.tables) + " need at least " +
         with_unit(shortage.needed_bytes) + " " + tier_text(problem, shortage.tier) +
         " over all ranks; " + format_plural(problem.topology().world_size(), "rank") + " have " +
         with_unit(shortage.available_bytes) + " after reservation: " + short_of(shortage) + ".";
}

std::string shards_message(const Problem& problem, const MemoryShortage& shortage) {
  return "The " + named(problem, shortage.tables) +
         " fit in total, but have shards so large that too few share a rank: they block at least " +
         with_unit(shortage.needed_bytes) + " " + tier_text(problem, shortage.tier) +
         ", and all ranks have " + with_unit(shortage.available_bytes) +
         ", were each as large as the largest: " + short_of(shortage) + ".";
}

std::string shortage_text(const Problem& problem, const MemoryShortage& shortage) {
  switch (shortage.kind) {
    case MemoryShortage::Kind::kTable:
      return table_message(problem, shortage);
    case MemoryShortage::Kind::kTogether:
      return together_message(problem, shortage);
    case MemoryShortage::Kind::kTotal:
      return total_message(problem, shortage);
    case MemoryShortage::Kind::kShards:
      break;
  }
  return shards_message(problem, shortage);
}

std::string packing_text(const Problem& problem, const InfeasibleReason& reason) {
  const bool one = reason.tables.size() == 1;
  const std::string tables = "The " + named(problem, reason.tables);
  if (reason.proved) {
    return tables + (one ? " fits" : " fit") + " in no way: every option was tried on every rank.";
  }
  return tables + (one ? " is not too large" : " are not too large one by one or in total") +
         " as far as can be shown, but planning finds no way to place " +
         (one ? "its shards" : "them") + " rank by rank.";
}

}  // namespace

std::string infeasible_text(const Problem& problem, const InfeasibleReason& reason,
                            const std::string& planner_message) {
  if (reason.shortage) return shortage_text(problem, *reason.shortage);
  if (reason.kind == Kind::kPacking) return packing_text(problem, reason);
  return planner_message;
}

}  // namespace shardwright
