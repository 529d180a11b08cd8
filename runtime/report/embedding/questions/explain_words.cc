#include "runtime/report/embedding/questions/explain_words.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/embedding/explain/reasons.h"
#include "runtime/embedding/explain/remedy_text.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using embedding::OptionCost;
using embedding::Problem;
using embedding::Remedy;

constexpr std::size_t kExplainRanksWidth = 16;

std::string value_text(const Remedy& remedy, double value) {
  const std::string more = remedy.each_rank_adds ? "+" : "";
  switch (remedy.kind) {
    case Remedy::Kind::kHbm:
    case Remedy::Kind::kDdr:
    case Remedy::Kind::kSsd:
      if (value == 0) return "as it is";
      return more +
             format_count(static_cast<std::uint64_t>(value) /
                          static_cast<std::uint64_t>(kMebibyte)) +
             " MiB";
    case Remedy::Kind::kReservation:
      return format_ms(value * 100) + "%";
    case Remedy::Kind::kRanks:
    case Remedy::Kind::kHosts:
    case Remedy::Kind::kBatchSize:
    case Remedy::Kind::kConstraint:
      break;
  }
  return format_count(static_cast<std::uint64_t>(value));
}

std::string change_name(const Remedy& remedy) {
  switch (remedy.kind) {
    case Remedy::Kind::kRanks:
      return "ranks of the host";
    case Remedy::Kind::kHosts:
      return "hosts";
    case Remedy::Kind::kHbm:
      return "HBM per rank";
    case Remedy::Kind::kDdr:
      return "DDR per rank";
    case Remedy::Kind::kSsd:
      return "SSD per rank";
    case Remedy::Kind::kBatchSize:
      return "batch per rank";
    case Remedy::Kind::kReservation:
      return "reservation";
    case Remedy::Kind::kConstraint:
      break;
  }
  return "drop " + remedy.constraint;
}

}  // namespace

std::string rank_list(std::vector<embedding::Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return format_ranges(ranks, kExplainRanksWidth);
}

std::string obstacle_text(const OptionCost& cost) {
  std::string text;
  for (const std::string& place : cost.excluded_by)
    text += (text.empty() ? "" : ", ") + place;
  if (cost.lack) text += (text.empty() ? "" : "; ") + lack_text(*cost.lack);
  return text;
}

RemedyWords words_of(const Problem& problem, const Remedy& remedy) {
  if (remedy.kind == Remedy::Kind::kConstraint) return {change_name(remedy), "", "", "", "", ""};
  return {change_name(remedy),
          value_text(remedy, remedy.from),
          value_text(remedy, remedy.to),
          value_text(remedy, remedy.step),
          remedy.less_is_impossible ? "is impossible" : "no plan found",
          flags_of(problem, remedy)};
}

}  // namespace shardwright
