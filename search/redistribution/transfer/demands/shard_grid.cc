#include "search/redistribution/transfer/demands/shard_grid.h"

#include <algorithm>

namespace shardwright::redistribution {
namespace {

// The part that begins at or before `at`.
std::size_t part_at(const std::vector<Interval>& parts, std::int64_t at) {
  const auto after =
      std::upper_bound(parts.begin(), parts.end(), at,
                       [](std::int64_t value, const Interval& part) { return value < part.begin; });
  return static_cast<std::size_t>(after - parts.begin()) - 1;
}

}  // namespace

ShardGrid::ShardGrid(const TransferProblem& problem, const Shape& shape,
                     const TensorLayout& layout, const std::vector<std::uint32_t>& places)
    : parts_(shape.size()) {
  std::vector<Box> boxes;
  for (std::size_t device = 0; device < places.size(); ++device)
    boxes.push_back(problem.box(shape, layout, device));
  std::size_t cells = 1;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    std::vector<Interval>& parts = parts_[dim];
    for (const Box& box : boxes) {
      if (box[dim].size() > 0) parts.push_back(box[dim]);
    }
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    cells *= parts.size();
  }
  holders_.resize(cells);
  for (std::size_t device = 0; device < places.size(); ++device) {
    if (num_elements(boxes[device]) == 0) continue;
    std::size_t cell = 0;
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
      cell = cell * parts_[dim].size() + part_at(parts_[dim], boxes[device][dim].begin);
    holders_[cell].push_back(places[device]);
  }
  for (std::vector<std::uint32_t>& holders : holders_)
    std::sort(holders.begin(), holders.end());
}

Box ShardGrid::box(std::size_t cell) const {
  Box box(parts_.size());
  for (std::size_t dim = parts_.size(); dim-- > 0;) {
    box[dim] = parts_[dim][cell % parts_[dim].size()];
    cell /= parts_[dim].size();
  }
  return box;
}

void ShardGrid::cells_overlapping(const Box& box, std::vector<std::uint32_t>& cells) const {
  cells.assign(1, 0);
  std::vector<std::uint32_t> finer;
  for (std::size_t dim = 0; dim < parts_.size(); ++dim) {
    const auto& parts = parts_[dim];
    const auto first = static_cast<std::uint32_t>(part_at(parts, box[dim].begin));
    const auto last = static_cast<std::uint32_t>(part_at(parts, box[dim].end - 1));
    finer.clear();
    for (const std::uint32_t cell : cells) {
      for (std::uint32_t part = first; part <= last; ++part)
        finer.push_back(cell * static_cast<std::uint32_t>(parts.size()) + part);
    }
    cells.swap(finer);
  }
}

}  // namespace shardwright::redistribution
