#include "search/embedding/best/bound/pricing/dominance.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace shardwright::embedding {

bool ParetoFront::dominates(double hbm, double value) const {
  const auto next =
      std::upper_bound(points_.begin(), points_.end(), hbm,
                       [](double own, const auto& point) { return own < point.first; });
  return next != points_.begin() && std::prev(next)->second >= value;
}

void ParetoFront::add(double hbm, double value) {
  const auto begin =
      std::lower_bound(points_.begin(), points_.end(), hbm,
                       [](const auto& point, double own) { return point.first < own; });
  auto end = begin;
  while (end != points_.end() && end->second <= value)
    ++end;
  points_.insert(points_.erase(begin, end), {hbm, value});
}

bool DominanceFilter::is_dominated(const Label& own) const {
  if (front_.dominates(own.use.hbm, own.value)) return true;
  const std::size_t end = kept_.size() > max_comparisons_ ? kept_.size() - max_comparisons_ : 0;
  for (std::size_t k = kept_.size(); k-- > end;) {
    const Label& other = counted_[kept_[k]];
    if (other.value >= own.value && other.use.hbm <= own.use.hbm && other.use.ddr <= own.use.ddr &&
        other.copies <= own.copies) {
      return true;
    }
  }
  return false;
}

void DominanceFilter::apply(const CompletionBound& completion, std::uint32_t equal_copies,
                            std::vector<Label>& labels) {
  counted_.clear();
  for (const Label& label : labels) {
    counted_.push_back({completion.counted_use(label.use), label.value, label.last,
                        std::max(label.copies, equal_copies)});
  }
  order_.resize(labels.size());
  std::iota(order_.begin(), order_.end(), 0U);
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (counted_[a].use.load != counted_[b].use.load)
      return counted_[a].use.load < counted_[b].use.load;
    if (counted_[a].value != counted_[b].value) return counted_[a].value > counted_[b].value;
    return counted_[a].last < counted_[b].last;
  });
  kept_.clear();
  front_.clear();
  // The front ignores DDR and copies, so only labels with the least of both may stand on it.
  const double least_ddr = std::max(completion.free_use().ddr, 0.0);
  for (const std::uint32_t i : order_) {
    const Label& own = counted_[i];
    if (is_dominated(own)) continue;
    kept_.push_back(i);
    if (own.copies == equal_copies && own.use.ddr <= least_ddr) front_.add(own.use.hbm, own.value);
  }
  kept_labels_.clear();
  for (const std::uint32_t i : kept_)
    kept_labels_.push_back(labels[i]);
  labels.swap(kept_labels_);
}

}  // namespace shardwright::embedding
