#include "runtime/embedding/explain_reasons.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/embedding/problem/table.h"
#include "core/units.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using embedding::MemoryLack;
using Standing = ExplainedOption::Standing;

constexpr std::size_t kMostSentences = 3;

std::string amount_text(const Amount& amount) {
  const double size = std::abs(amount.value);
  if (!amount.is_whole) return format_ms(size) + " ms";
  return format_bytes(Bytes(static_cast<std::int64_t>(size)));
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : " and ") + name;
  return text;
}

// Compares by rating, then by time.
bool is_cheaper(const ExplainedOption& a, const ExplainedOption& b) {
  return std::pair(a.change(), a.time_ms) < std::pair(b.change(), b.time_ms);
}

std::string against_chosen(const ExplainedOption& other, const ExplainedOption& chosen) {
  std::string text = option_name(other) + ": " + change_text(other);
  if (other.change() != 0) return text;
  const double more = other.time_ms - chosen.time_ms;
  if (more == 0) return text + ", and its shards take as long";
  if (more > 0) return text + ", but its shards take " + format_ms(more) + " ms more in all";
  return text + ", and its shards take " + format_ms(-more) +
         " ms less in all; the rating does not decide between the two";
}

std::string hindrance(const ExplainedOption& option) {
  const bool one = option.excluded_by.size() == 1;
  switch (option.standing) {
    case Standing::kTooLarge:
      return lack_text(*option.lack);
    case Standing::kExcluded:
      return joined(option.excluded_by) + (one ? " excludes" : " exclude") + " it" +
             (option.lack ? ", and " + lack_text(*option.lack) : "");
    case Standing::kChosen:
    case Standing::kPossible:
    case Standing::kNoPlace:
      break;
  }
  return joined(option.excluded_by) + (one ? " leaves" : " leave") + " it no place";
}

}  // namespace

std::string option_name(embedding::ShardingType type, embedding::ComputeKernel kernel,
                        std::optional<double> load_factor) {
  std::string name = std::string(to_name(type)) + "." + std::string(to_name(kernel));
  if (load_factor) name += " " + format_share(*load_factor, 1);
  return name;
}

std::string change_text(const ExplainedOption& option) {
  if (!option.rating) return "no place";
  if (option.change() == 0) return "equal rating";
  std::string text = amount_text(*option.rating_change) +
                     (option.change() > 0 ? " worse" : " better") + " on rank " +
                     std::to_string(option.busiest_rank.value_or(0));
  if (option.part && *option.part) {
    const ExplainedOption::Part& part = **option.part;
    text += " (" + std::string(to_name(part.name)) + (part.change_ms > 0 ? " +" : " -") +
            format_ms(std::abs(part.change_ms)) + " ms)";
  }
  return text;
}

std::string lack_text(const MemoryLack& lack) {
  return "rank " + std::to_string(lack.rank) + " lacks " + format_bytes(Bytes(lack.bytes)) + " " +
         std::string(label_of(lack.tier)) + " (" + std::to_string(lack.bytes) + " bytes)";
}

std::vector<std::string> reasons_for(const ExplainedTable& table) {
  const ExplainedOption& chosen = table.options.front();
  std::vector<std::string> reasons;
  for (const ExplainedOption& option : table.options) {
    if (option.standing != Standing::kPossible || reasons.size() == kMostSentences) continue;
    reasons.push_back(against_chosen(option, chosen));
  }
  if (reasons.empty()) reasons.emplace_back("no other option can be used");
  const std::size_t others = reasons.size();
  for (const ExplainedOption& option : table.options) {
    if (option.is_usable() || !option.rating || !is_cheaper(option, chosen)) continue;
    if (reasons.size() - others == kMostSentences) break;
    reasons.push_back(
        option_name(option) + " would be " +
        (option.change() == 0 ? "of equal rating and less time" : change_text(option)) + ", but " +
        hindrance(option));
  }
  return reasons;
}

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

// Returns a sentence that names the constraints on a table's options; empty if there are none.
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

namespace {

using embedding::FailedRemedy;
using embedding::Remedy;

std::string value_text(Remedy::Kind kind, double value) {
  switch (kind) {
    case Remedy::Kind::kHbm:
    case Remedy::Kind::kDdr:
    case Remedy::Kind::kSsd:
      return format_bytes(Bytes(static_cast<std::int64_t>(value)));
    case Remedy::Kind::kReservation:
      return format_share(value, 1);
    case Remedy::Kind::kRanks:
    case Remedy::Kind::kHosts:
    case Remedy::Kind::kBatchSize:
    case Remedy::Kind::kConstraint:
      break;
  }
  return format_count(static_cast<std::uint64_t>(value));
}

std::string machine_flags(std::int64_t ranks, std::int64_t ranks_per_host) {
  return "--ranks " + std::to_string(ranks) + " --ranks-per-host " + std::to_string(ranks_per_host);
}

std::string memory_flag(const char* flag, const Remedy& remedy, std::int64_t bytes) {
  if (remedy.each_rank_adds) return "";
  return flag + std::to_string(bytes / kMebibyte) + "MiB";
}

}  // namespace

std::string flags_of(const embedding::Problem& problem, const Remedy& remedy) {
  const auto to = static_cast<std::int64_t>(remedy.to);
  const auto local = static_cast<std::int64_t>(problem.topology().local_world_size());
  switch (remedy.kind) {
    case Remedy::Kind::kRanks:
      return machine_flags(to, to);
    case Remedy::Kind::kHosts:
      return machine_flags(to * local, local);
    case Remedy::Kind::kHbm:
      return memory_flag("--hbm ", remedy, to);
    case Remedy::Kind::kDdr:
      return memory_flag("--ddr ", remedy, to);
    case Remedy::Kind::kSsd:
      return memory_flag("--ssd ", remedy, to);
    case Remedy::Kind::kBatchSize:
      return "--batch-size " + std::to_string(to);
    case Remedy::Kind::kReservation:
    case Remedy::Kind::kConstraint:
      break;
  }
  return "";
}

std::string failed_remedy_text(const FailedRemedy& vain) {
  switch (vain.reason) {
    case FailedRemedy::Reason::kRanksDiffer:
      return "more ranks were not tried: the problem describes its ranks one by one";
    case FailedRemedy::Reason::kStopped:
      return "stopped before an answer was found";
    case FailedRemedy::Reason::kNotEnough:
      return "not even " + value_text(vain.kind, vain.most) + (vain.each_rank_adds ? " more" : "") +
             " would do";
    case FailedRemedy::Reason::kNoneSuffices:
      break;
  }
  return "dropping any one of " + std::to_string(vain.tried) + " constraints" +
         (vain.tried < vain.constraints
              ? " (of " + std::to_string(vain.constraints) + ", the others untried)"
              : "") +
         " does not do";
}

}  // namespace shardwright
