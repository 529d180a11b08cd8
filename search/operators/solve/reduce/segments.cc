#include "search/operators/solve/reduce/segments.h"

#include <algorithm>
#include <utility>

namespace shardwright::operators {
namespace {

struct Border {
  std::uint32_t time;
  std::uint32_t segment;
  std::int64_t sign;
};

std::vector<Border> borders_by_time(const std::vector<Segment>& segments) {
  std::vector<Border> borders;
  for (std::uint32_t i = 0; i < segments.size(); ++i) {
    borders.push_back({segments[i].live.begin, i, +1});
    borders.push_back({segments[i].live.end, i, -1});
  }
  std::sort(borders.begin(), borders.end(),
            [](const Border& a, const Border& b) { return a.time < b.time; });
  return borders;
}

}  // namespace

void make_disjoint(std::vector<Segment>& segments, std::size_t num_strategies) {
  const std::vector<Border> borders = borders_by_time(segments);
  std::vector<Segment> disjoint;
  std::vector<std::int64_t> held(num_strategies, 0);
  for (std::size_t i = 0; i < borders.size();) {
    const std::uint32_t time = borders[i].time;
    for (; i < borders.size() && borders[i].time == time; ++i) {
      const auto& bytes = segments[borders[i].segment].bytes;
      for (std::size_t s = 0; s < held.size(); ++s)
        held[s] += borders[i].sign * bytes[s];
    }
    const bool nothing =
        std::all_of(held.begin(), held.end(), [](auto bytes) { return bytes == 0; });
    if (i == borders.size() || nothing) continue;
    const LiveInterval live{time, borders[i].time};
    if (!disjoint.empty() && disjoint.back().live.end == time && disjoint.back().bytes == held) {
      disjoint.back().live.end = live.end;
    } else {
      disjoint.push_back(Segment{live, held});
    }
  }
  segments = std::move(disjoint);
}

}  // namespace shardwright::operators
