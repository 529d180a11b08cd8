#include "runtime/report/embedding/plan/memory_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "runtime/embedding/result/memory_parts.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/style.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using embedding::Problem;
using embedding::Rank;
using embedding::Storage;
using Align = TextTable::Align;

constexpr std::size_t kMemoryRanksWidth = 24;

// The range of several sizes: "least to most".
// Thread safety: one thread at a time.
class MemoryRange {
 public:
  void add(Bytes bytes) {
    least_ = seen_ ? std::min(least_, bytes) : bytes;
    most_ = seen_ ? std::max(most_, bytes) : bytes;
    seen_ = true;
  }
  std::string text() const {
    const std::string low = format_bytes(least_), high = format_bytes(most_);
    return low == high ? low : low + " to " + high;
  }

 private:
  bool seen_ = false;
  Bytes least_, most_;
};

// Capacity, reservation, reserved memory and margin.
using SetAside = std::array<Bytes, 4>;

struct Group {
  std::vector<Rank> ranks;
  MemoryRange tables, free;
};

}  // namespace

std::string memory_section(const Problem& problem, const EmbeddingPlanResult& result,
                           const TextReportOptions& options) {
  const bool has_hbm = problem.topology().has_hbm();
  const auto tier = [&](const Storage& s) { return has_hbm ? s.hbm : s.ddr; };
  std::map<SetAside, Group> groups;
  const auto by_rank = memory_parts(problem, *result.reservation, result.evaluation);
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const MemoryParts& parts = by_rank[rank];
    Group& group = groups[{tier(parts.capacity), tier(parts.reservation), tier(parts.reserved),
                           tier(parts.margin)}];
    group.ranks.push_back(static_cast<Rank>(rank));
    group.tables.add(tier(parts.tables));
    group.free.add(tier(parts.free));
  }
  TextTable table({{"rank", Align::kLeft, 0},
                   {"capacity", Align::kRight, 1},
                   {"reservation", Align::kRight, 2},
                   {"reserved", Align::kRight, 4},
                   {"margin", Align::kRight, 3},
                   {"tables", Align::kRight, 0},
                   {"free", Align::kRight, 0}});
  if (!problem.spec().memory.any_reserved()) table.hide(3);
  if (!problem.spec().memory.any_margin()) table.hide(4);
  std::vector<std::pair<const SetAside*, const Group*>> order;
  order.reserve(groups.size());
  for (const auto& [sizes, group] : groups)
    order.emplace_back(&sizes, &group);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second->ranks.front() < b.second->ranks.front();
  });
  for (std::size_t i = 0; i < order.size() && i < options.max_ranks; ++i) {
    const auto& [sizes, group] = order[i];
    table.add_row({format_ranges(group->ranks, kMemoryRanksWidth), format_bytes((*sizes)[0]),
                   format_bytes((*sizes)[1]), format_bytes((*sizes)[2]), format_bytes((*sizes)[3]),
                   group->tables.text(), group->free.text()});
  }
  std::string text = heading(
      "What takes the " + std::string(has_hbm ? "HBM" : "memory") + " of a rank at its peak",
      options.colours);
  text += table.render(options.width);
  if (order.size() > options.max_ranks) {
    text += "  … and " + format_plural(order.size() - options.max_ranks, "group") + " of ranks\n";
  }
  return text;
}

}  // namespace shardwright
