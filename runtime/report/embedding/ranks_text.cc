#include "runtime/report/embedding/ranks_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/report/text/format.h"
#include "runtime/report/text/style.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using embedding::Perf;
using embedding::Problem;
using embedding::Rank;
using embedding::Storage;
using Align = TextTable::Align;

constexpr std::size_t kBarWidth = 8;
constexpr std::size_t kTimeBarWidth = 24;
constexpr std::size_t kRanksWidth = 24;
constexpr double kNearlyFull = 0.95;

double as_double(Bytes bytes) { return static_cast<double>(bytes.value()); }

struct TimePart {
  Milliseconds Perf::*part;
  char letter;
  TextStyle style;
  std::string_view name;
};
constexpr std::array<TimePart, 5> kTimeParts{{
    {&Perf::fwd_compute, 'F', TextStyle::kFwdCompute, "forward compute"},
    {&Perf::fwd_comms, 'f', TextStyle::kFwdComms, "forward comms"},
    {&Perf::bwd_compute, 'B', TextStyle::kBwdCompute, "backward compute"},
    {&Perf::bwd_comms, 'b', TextStyle::kBwdComms, "backward comms"},
    {&Perf::prefetch_compute, 'p', TextStyle::kPrefetch, "prefetch"},
}};

std::string cells(std::size_t count, const TimePart& part, bool colours) {
  if (!colours) return std::string(count, part.letter);
  std::string blocks;
  for (std::size_t i = 0; i < count; ++i)
    blocks += "█";
  return paint(blocks, part.style, colours);
}

// Ranks with the same memory and times.
struct RankGroup {
  Storage used;
  Storage available;
  Perf parts;
  double time = 0;
  std::vector<Rank> ranks;

  bool holds(const RankGroup& other) const {
    return used == other.used && available == other.available && parts == other.parts;
  }
};

std::vector<RankGroup> group_ranks(const EmbeddingPlanResult& result) {
  const embedding::Evaluation& evaluation = result.evaluation;
  std::vector<RankGroup> groups;
  std::multimap<double, std::size_t> by_time;
  for (std::size_t rank = 0; rank < evaluation.storage_by_rank.size(); ++rank) {
    RankGroup group{evaluation.storage_by_rank[rank],
                    result.reservation->topology.storage()[rank],
                    evaluation.perf_parts_by_rank[rank],
                    evaluation.perf_ms_by_rank[rank],
                    {}};
    const auto [begin, end] = by_time.equal_range(group.time);
    const auto same = std::find_if(
        begin, end, [&](const auto& entry) { return groups[entry.second].holds(group); });
    if (same == end) {
      by_time.emplace(group.time, groups.size());
      groups.push_back(std::move(group));
      groups.back().ranks.push_back(static_cast<Rank>(rank));
    } else {
      groups[same->second].ranks.push_back(static_cast<Rank>(rank));
    }
  }
  return groups;
}

// Returns "largest / mean" over the ranks; 1 means perfect balance.
template <class Values, class Function>
std::string imbalance(const Values& values, const Function& value_of) {
  double sum = 0, largest = 0;
  for (const auto& value : values) {
    sum += value_of(value);
    largest = std::max(largest, value_of(value));
  }
  return sum > 0 ? format_ms(largest * static_cast<double>(values.size()) / sum) : "1.000";
}

std::string spread_text(const Problem& problem, const EmbeddingPlanResult& result,
                        const TextReportOptions& options) {
  const embedding::Evaluation& e = result.evaluation;
  std::vector<double> times = e.perf_ms_by_rank;
  std::sort(times.begin(), times.end());
  const bool has_hbm = problem.topology().has_hbm();
  const auto bytes = [&](const Storage& s) { return as_double(has_hbm ? s.hbm : s.ddr); };
  const auto memory_less = [&](const Storage& a, const Storage& b) { return bytes(a) < bytes(b); };
  const auto [least, most] =
      std::minmax_element(e.storage_by_rank.begin(), e.storage_by_rank.end(), memory_less);
  Storage total;
  for (const Storage& rank : e.storage_by_rank)
    total += rank;
  const auto spread = [](const std::string& low, const std::string& high) {
    return low == high ? low : low + " to " + high;
  };
  const std::string text =
      "time per rank " + spread(format_ms(times.front()), format_ms(times.back())) +
      " ms, largest / mean " + imbalance(times, [](double ms) { return ms; }) +
      "\nmemory per rank " +
      spread(format_bytes(has_hbm ? least->hbm : least->ddr),
             format_bytes(has_hbm ? most->hbm : most->ddr)) +
      ", largest / mean " + imbalance(e.storage_by_rank, bytes) + "; in total " +
      (has_hbm ? format_bytes(total.hbm) + " HBM, " : "") + format_bytes(total.ddr) + " DDR" +
      (problem.topology().counts_ssd() ? ", " + format_bytes(total.ssd) + " SSD" : "") + "\n";
  return wrap(text, options.width, 2);
}

enum RankColumn : std::size_t {
  kRank,
  kBar,
  kShare,
  kUsed,
  kAvailable,
  kDdr,
  kSsd,
  kFirstPart,
  kTimeBar = kFirstPart + kTimeParts.size(),
  kTotal
};

// Bars are left out first, then columns that repeat others.
TextTable make_table(bool has_hbm) {
  return TextTable({{"rank", Align::kLeft, 0},
                    {has_hbm ? "HBM" : "memory", Align::kLeft, 6},
                    {"full", Align::kRight, 0},
                    {"used", Align::kRight, 0},
                    {"available", Align::kRight, 5},
                    {"DDR", Align::kRight, 2},
                    {"SSD", Align::kRight, 2},
                    {"fwd comp", Align::kRight, 3},
                    {"fwd comm", Align::kRight, 3},
                    {"bwd comp", Align::kRight, 3},
                    {"bwd comm", Align::kRight, 3},
                    {"prefetch", Align::kRight, 3},
                    {"time", Align::kLeft, 7},
                    {"total ms", Align::kRight, 0}});
}

TextStyle fullness(double share) {
  if (share > 1) return TextStyle::kBad;
  return share > kNearlyFull ? TextStyle::kFair : TextStyle::kPlain;
}

// Returns how full the ranks are; 1 means full.
double share_of(const RankGroup& group, bool has_hbm) {
  const Bytes used = has_hbm ? group.used.hbm : group.used.ddr;
  const Bytes available = has_hbm ? group.available.hbm : group.available.ddr;
  return available.value() > 0 ? as_double(used) / as_double(available) : 0;
}

std::vector<std::string> row_of(const RankGroup& g, bool has_hbm, double slowest, bool colours) {
  const Bytes used = has_hbm ? g.used.hbm : g.used.ddr;
  const Bytes available = has_hbm ? g.available.hbm : g.available.ddr;
  const double share = share_of(g, has_hbm);
  std::vector<std::string> row{
      format_ranges(g.ranks, kRanksWidth),
      paint(format_bar(as_double(used), as_double(available), kBarWidth), fullness(share), colours),
      paint(format_share(as_double(used), as_double(available)), fullness(share), colours),
      format_bytes(used),
      format_bytes(available),
      format_bytes(g.used.ddr),
      format_bytes(g.used.ssd)};
  for (const TimePart& part : kTimeParts)
    row.push_back(format_ms((g.parts.*part.part).value()));
  row.push_back(time_bar(g.parts, slowest, kTimeBarWidth, colours));
  row.push_back(format_ms(g.time));
  return row;
}

}  // namespace

std::string time_bar(const Perf& parts, double whole, std::size_t width, bool colours) {
  std::string bar;
  double sum = 0;
  std::size_t filled = 0;
  for (const TimePart& part : kTimeParts) {
    sum += (parts.*part.part).value();
    const double share = whole > 0 ? std::clamp(sum / whole, 0.0, 1.0) : 0.0;
    const auto end = static_cast<std::size_t>(std::lround(share * static_cast<double>(width)));
    if (end > filled) bar += cells(end - filled, part, colours);
    filled = std::max(filled, end);
  }
  return bar + std::string(width - filled, ' ');
}

std::string time_bar_key(const Perf& parts, bool colours) {
  std::string key;
  for (const TimePart& part : kTimeParts) {
    if ((parts.*part.part).value() == 0) continue;
    key += (key.empty() ? "" : ", ") + cells(1, part, colours) + " " + std::string(part.name);
  }
  return key;
}

std::string ranks_section(const Problem& problem, const EmbeddingPlanResult& result,
                          const TextReportOptions& options) {
  const bool has_hbm = problem.topology().has_hbm();
  std::vector<RankGroup> groups = group_ranks(result);
  const bool cut = groups.size() > options.max_ranks;
  double slowest = 0;
  Perf all;
  Storage used;
  for (const RankGroup& group : groups) {
    slowest = std::max(slowest, group.time);
    all += group.parts;
    used += group.used;
  }
  if (cut) {
    std::stable_sort(groups.begin(), groups.end(),
                     [](const RankGroup& a, const RankGroup& b) { return a.time > b.time; });
    // The fullest ranks are always shown.
    const auto fullest =
        std::max_element(groups.begin(), groups.end(), [&](const RankGroup& a, const RankGroup& b) {
          return share_of(a, has_hbm) < share_of(b, has_hbm);
        });
    const auto last = groups.begin() + static_cast<std::ptrdiff_t>(options.max_ranks) - 1;
    if (fullest > last) std::iter_swap(fullest, last);
    groups.resize(options.max_ranks);
  }
  TextTable table = make_table(has_hbm);
  if (!has_hbm || used.ddr.value() == 0) table.hide(kDdr);
  if (used.ssd.value() == 0) table.hide(kSsd);
  if (all.prefetch_compute.value() == 0) table.hide(kFirstPart + kTimeParts.size() - 1);
  std::size_t listed = 0;
  for (const RankGroup& group : groups) {
    listed += group.ranks.size();
    table.add_row(row_of(group, has_hbm, slowest, options.colours));
  }
  std::string text =
      heading(cut ? "Ranks, the slowest first, and the fullest" : "Ranks", options.colours) +
      table.render(options.width);
  if (cut) {
    text +=
        "  … and " + format_plural(problem.topology().world_size() - listed, "faster rank") + "\n";
  }
  if (table.shows(kTimeBar, options.width)) {
    text += "  time: " + time_bar_key(all, options.colours) + "\n";
  }
  return text + spread_text(problem, result, options);
}

}  // namespace shardwright
