#include "runtime/embedding/explain/reasons.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using embedding::MemoryLack;
using embedding::OptionCost;
using embedding::Problem;
using embedding::ShardingOption;
using Standing = OptionCost::Standing;

constexpr std::size_t kMostSentences = 3;

bool by_time(const Problem& problem) {
  return problem.spec().perf_model == embedding::PerfModel::kPerf;
}

std::string amount(const Problem& problem, double value) {
  if (by_time(problem)) return format_ms(value) + " ms";
  return format_bytes(Bytes(static_cast<std::int64_t>(value)));
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : " and ") + name;
  return text;
}

// The better rating counts, then the shorter time.
bool is_cheaper(const OptionCost& a, const OptionCost& b) {
  return std::pair(a.rating_change, a.time_ms) < std::pair(b.rating_change, b.time_ms);
}

std::string against_chosen(const Problem& problem, const OptionCost& other,
                           const OptionCost& chosen) {
  std::string text = option_name(*other.option) + ": " + change_text(problem, other);
  if (other.rating_change != 0) return text;
  const double more = other.time_ms - chosen.time_ms;
  if (more == 0) return text + ", and its shards take as long";
  return text + ", but its shards take " + format_ms(std::abs(more)) + " ms " +
         (more > 0 ? "more" : "less") + " in all";
}

std::string hindrance(const OptionCost& cost) {
  switch (cost.standing) {
    case Standing::kTooLarge:
      return lack_text(*cost.lack);
    case Standing::kExcluded:
      return joined(cost.excluded_by) + (cost.excluded_by.size() == 1 ? " excludes" : " exclude") +
             " it" + (cost.lack ? ", and " + lack_text(*cost.lack) : "");
    case Standing::kChosen:
    case Standing::kPossible:
    case Standing::kNoPlace:
      break;
  }
  return joined(cost.excluded_by) + (cost.excluded_by.size() == 1 ? " leaves" : " leave") +
         " it no place";
}

}  // namespace

std::string option_name(const ShardingOption& option) {
  std::string name = std::string(to_name(option.sharding_type)) + "." +
                     std::string(to_name(option.compute_kernel));
  if (option.load_factor) name += " " + format_share(*option.load_factor, 1);
  return name;
}

std::string change_text(const Problem& problem, const OptionCost& cost) {
  if (!cost.rating) return "no place";
  if (cost.rating_change == 0) return "equal rating";
  std::string text = amount(problem, std::abs(cost.rating_change)) +
                     (cost.rating_change > 0 ? " worse" : " better") + " on rank " +
                     std::to_string(cost.busiest_rank);
  if (cost.part) {
    text += " (" + std::string(to_name(*cost.part)) + (cost.part_change_ms > 0 ? " +" : " -") +
            format_ms(std::abs(cost.part_change_ms)) + " ms)";
  }
  return text;
}

std::string lack_text(const MemoryLack& lack) {
  return "rank " + std::to_string(lack.rank) + " lacks " + format_bytes(Bytes(lack.bytes)) + " " +
         std::string(label_of(lack.tier)) + " (" + std::to_string(lack.bytes) + " bytes)";
}

std::vector<std::string> reasons_for(const Problem& problem, const TableExplanation& table) {
  const OptionCost& chosen = table.options.front();
  std::vector<std::string> reasons;
  for (const OptionCost& cost : table.options) {
    if (cost.standing != Standing::kPossible || reasons.size() == kMostSentences) continue;
    reasons.push_back(against_chosen(problem, cost, chosen));
  }
  if (reasons.empty()) reasons.emplace_back("no other option can be used");
  const std::size_t others = reasons.size();
  for (const OptionCost& cost : table.options) {
    const bool out = cost.standing > Standing::kPossible;
    if (!out || !cost.rating || !is_cheaper(cost, chosen)) continue;
    if (reasons.size() - others == kMostSentences) break;
    reasons.push_back(
        option_name(*cost.option) + " would be " +
        (cost.rating_change == 0 ? "of equal rating and less time" : change_text(problem, cost)) +
        ", but " + hindrance(cost));
  }
  return reasons;
}

}  // namespace shardwright
