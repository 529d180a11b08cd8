#include "search/embedding/compat/cache_scaling/luus_jaakola_search.h"

namespace shardwright::embedding {

LuusJaakolaSearch::LuusJaakolaSearch(double left, double right, int max_iterations,
                                     std::optional<double> left_cost)
    : left_(left),
      right_(right),
      max_iterations_(max_iterations),
      left_known_(left_cost.has_value()),
      range_(right - left) {
  best_ = uniform(left_, right_);
}

// torch.rand keeps the low 24 bits of a 32-bit draw: the float lies in [0, 1).
double LuusJaakolaSearch::uniform(double a, double b) {
  constexpr std::uint32_t kMask = (1U << 24) - 1;
  const double u = static_cast<double>(generator_() & kMask) / (1U << 24);
  return a + (b - a) * u;
}

void LuusJaakolaSearch::shrink_right(double right) {
  right_ = right;
  right_known_ = true;
  range_ = right_ - left_;
  best_ = clamp(best_);
}

std::optional<double> LuusJaakolaSearch::next(double cost) {
  ++iteration_;
  if (iteration_ == 0) return best_;
  if (iteration_ == 1) {
    best_cost_ = cost;
  } else if (iteration_ == max_iterations_) {
    return std::nullopt;
  } else if (cost <= best_cost_) {
    best_ = probe_;
    best_cost_ = cost;
    range_ = 0.95 * range_;
  }
  if (probe_ == left_) {
    left_known_ = true;
  } else if (probe_ == right_) {
    right_known_ = true;
  }
  // Clamping can hit a boundary again and again. A boundary whose cost is known is drawn again. If
  // the range has collapsed, only boundaries are left, and the search ends.
  constexpr int kMaxDraws = 1'000'000;
  for (int draw = 0; draw < kMaxDraws; ++draw) {
    const double y = clamp(best_ + uniform(-range_, range_));
    if ((y == left_ && left_known_) || (y == right_ && right_known_)) continue;
    probe_ = y;
    return y;
  }
  return std::nullopt;
}

}  // namespace shardwright::embedding
