#include "core/redistribution/transfer/exact_cover.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace shardwright::redistribution {
namespace {

struct Cut {
  std::size_t dim = 0;
  std::int64_t at = 0;
};

// The median of the boundaries strictly inside `whole`, in the dimension that has most of them.
std::optional<Cut> best_cut(const std::vector<Box>& boxes, const Box& whole) {
  std::size_t dim = 0;
  std::vector<std::int64_t> most;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    std::vector<std::int64_t> inside;
    for (const Box& box : boxes) {
      if (box[d].begin > whole[d].begin) inside.push_back(box[d].begin);
      if (box[d].end < whole[d].end) inside.push_back(box[d].end);
    }
    if (inside.size() > most.size()) {
      most = std::move(inside);
      dim = d;
    }
  }
  if (most.empty()) return std::nullopt;
  const auto middle = most.begin() + static_cast<std::ptrdiff_t>(most.size() / 2);
  std::nth_element(most.begin(), middle, most.end());
  return Cut{dim, *middle};
}

bool fill(std::vector<Box> boxes, const Box& whole) {
  const std::optional<Cut> cut = best_cut(boxes, whole);
  // Nothing ends inside, so each box is all of it.
  if (!cut) return boxes.size() == 1;
  std::vector<Box> after;
  std::vector<Box> before;
  for (Box& box : boxes) {
    if (box[cut->dim].end > cut->at) {
      after.push_back(box);
      after.back()[cut->dim].begin = std::max(box[cut->dim].begin, cut->at);
    }
    if (box[cut->dim].begin < cut->at) {
      box[cut->dim].end = std::min(box[cut->dim].end, cut->at);
      before.push_back(std::move(box));
    }
  }
  Box first = whole;
  Box second = whole;
  first[cut->dim].end = second[cut->dim].begin = cut->at;
  boxes.clear();
  return fill(std::move(before), first) && fill(std::move(after), second);
}

}  // namespace

bool covers_exactly(std::vector<Box> boxes, const Box& whole) {
  boxes.erase(std::remove_if(boxes.begin(), boxes.end(),
                             [](const Box& box) { return num_elements(box) == 0; }),
              boxes.end());
  if (num_elements(whole) == 0) return boxes.empty();
  for (const Box& box : boxes) {
    for (std::size_t dim = 0; dim < whole.size(); ++dim) {
      if (box[dim].begin < whole[dim].begin || box[dim].end > whole[dim].end) return false;
    }
  }
  return fill(std::move(boxes), whole);
}

}  // namespace shardwright::redistribution
