#include "search/embedding/best/bound/pricing/dominance.h"

#include <algorithm>
#include <iterator>

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

// The labels that were kept last are sorted by load, and so are those that an item added to them.
// These few runs are merged; labels of equal load are sorted afterwards.
void DominanceFilter::sort() {
  const auto by_load = [](const Key& a, const Key& b) { return a.load < b.load; };
  runs_.assign(1, 0);
  for (std::size_t i = 1; i < order_.size(); ++i) {
    if (by_load(order_[i], order_[i - 1])) runs_.push_back(i);
  }
  runs_.push_back(order_.size());
  const auto at = [&](std::size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
  while (runs_.size() > 2) {
    merged_.clear();
    std::size_t kept = 0;
    for (std::size_t run = 0; run + 1 < runs_.size(); run += 2) {
      const std::size_t middle = runs_[run + 1];
      const std::size_t end = run + 2 < runs_.size() ? runs_[run + 2] : middle;
      std::merge(at(runs_[run]), at(middle), at(middle), at(end), std::back_inserter(merged_),
                 by_load);
      runs_[++kept] = end;
    }
    runs_.resize(kept + 1);
    order_.swap(merged_);
  }
  for (auto first = order_.begin(); first != order_.end();) {
    const auto end = std::find_if(first + 1, order_.end(),
                                  [&](const Key& key) { return key.load != first->load; });
    if (end - first > 1) {
      std::sort(first, end, [](const Key& a, const Key& b) {
        return a.value != b.value ? a.value > b.value : a.last < b.last;
      });
    }
    first = end;
  }
}

bool DominanceFilter::is_dominated(const Label& own) const {
  if (front_.dominates(own.use.hbm, own.value)) return true;
  const std::size_t size = off_front_.size();
  const std::size_t end = size - std::min(size, max_comparisons_);
  for (std::size_t k = size; k-- > end;) {
    const Label& other = off_front_[k];
    if (other.value >= own.value && other.use.hbm <= own.use.hbm && other.use.ddr <= own.use.ddr &&
        other.use.ssd <= own.use.ssd && other.copies <= own.copies) {
      return true;
    }
  }
  return false;
}

void DominanceFilter::apply(const CompletionBound& completion, std::uint32_t equal_copies,
                            std::vector<Label>& labels) {
  order_.clear();
  for (const Label& label : labels) {
    order_.push_back({completion.counted_use(label.use).load, label.value, label.last,
                      static_cast<std::uint32_t>(order_.size())});
  }
  sort();
  kept_.clear();
  off_front_.clear();
  front_.clear();
  // The front ignores DDR, SSD and copies, so only labels with the least of each may stand on it.
  const double least_ddr = std::max(completion.free_use().ddr, 0.0);
  const double least_ssd = std::max(completion.free_use().ssd, 0.0);
  for (const Key& key : order_) {
    const Label& label = labels[key.index];
    const Label counted{completion.counted_use(label.use), label.value, label.last,
                        std::max(label.copies, equal_copies)};
    if (is_dominated(counted)) continue;
    kept_.push_back(label);
    if (counted.copies == equal_copies && counted.use.ddr <= least_ddr &&
        counted.use.ssd <= least_ssd) {
      front_.add(counted.use.hbm, counted.value);
    } else {
      off_front_.push_back(counted);
    }
  }
  labels.swap(kept_);
}

}  // namespace shardwright::embedding
