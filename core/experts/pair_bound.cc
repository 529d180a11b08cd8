#include "core/experts/pair_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace shardwright::experts {
namespace {

constexpr std::size_t kMoreReplicas = 6;  // beyond the fewest, considered one by one
constexpr std::size_t kStarts = 128;
constexpr int kBisections = 9;
constexpr double kMargin = 1e-7;    // above the rounding of a sum over experts
constexpr double kMostPrice = 4;    // of all values of t together
constexpr double kOvershoot = 0.5;  // how far beyond what is needed a step aims

class PairPrices {
 public:
  PairPrices(const Pool& pool, double time, const IsStopped& is_stopped)
      : slots_(static_cast<double>(pool.num_slots())), is_stopped_(is_stopped) {
    double needed = 0;
    std::vector<double> fewest;
    for (const double load : pool.loads) {
      fewest.push_back(std::max(1.0, std::ceil(load / time * (1 - kRounding))));
      needed += fewest.back();
      const double share = load / fewest.back();
      grid_.push_back(share > time / 2 ? share * (1 - kRounding) : time - share);
    }
    spare_ = slots_ - needed;
    std::sort(grid_.begin(), grid_.end());
    for (std::size_t expert = 0; expert < fewest.size(); ++expert) {
      first_.push_back(options_.size());
      for (std::size_t more = 0; more <= kMoreReplicas; ++more)
        options_.push_back(
            option(fewest[expert] + static_cast<double>(more), pool.loads[expert], time));
    }
    prices_.resize(grid_.size());
    sums_.resize(grid_.size() + 1);
    change_.resize(grid_.size() + 1);
  }

  bool refute(std::size_t iterations) {
    if (spare_ < 0) return true;
    std::fill(prices_.begin(), prices_.end(), 0.0);
    if (climb_to_refutation(iterations)) return true;
    return begin_with_one_price() || climb_to_refutation(iterations);
  }

 private:
  // A number of replicas of an expert. The share is above the first `above` values of t, or at most
  // T minus the first `below` values.
  struct Option {
    double replicas = 1;
    std::int32_t above = 0;
    std::int32_t below = 0;
  };

  Option option(double replicas, double load, double time) const {
    Option option{replicas, 0, 0};
    const double share = load / replicas;
    // The values of t, which ascend, below the share, or up to T - share.
    const auto below = [&](auto end) { return static_cast<std::int32_t>(end - grid_.begin()); };
    if (share > time / 2) {
      option.above = below(std::lower_bound(grid_.begin(), grid_.end(), share));
    } else {
      option.below = below(std::upper_bound(grid_.begin(), grid_.end(), time - share));
    }
    return option;
  }

  bool climb_to_refutation(std::size_t iterations) {
    for (std::size_t i = 0; i < iterations; ++i) {
      if (is_stopped_ && is_stopped_()) return false;
      const double cost = value();
      if (cost > slots_ * (1 + kMargin)) return true;
      climb(slots_ + kOvershoot - cost);
    }
    return false;
  }

  // Tries a single price at every step of the grid, and sets the best. Returns true if it refutes.
  bool begin_with_one_price() {
    double best = 0;
    std::size_t best_place = 0;
    double best_price = 0;
    for (std::size_t i = 0; i < kStarts; ++i) {
      if (is_stopped_ && is_stopped_()) return false;
      const std::size_t place = i * grid_.size() / kStarts;
      for (const double price : {1.0, 2.0 / 3, 0.5, 1.0 / 3}) {
        std::fill(prices_.begin(), prices_.end(), 0.0);
        prices_[place] = price;
        const double cost = value();
        if (cost > slots_ * (1 + kMargin)) return true;
        if (cost <= best) continue;
        best = cost;
        best_place = place;
        best_price = price;
      }
    }
    std::fill(prices_.begin(), prices_.end(), 0.0);
    prices_[best_place] = best_price;
    return false;
  }

  // Sets the cheapest options, and returns their cost.
  double value() {
    sums_[0] = 0;
    for (std::size_t j = 0; j < prices_.size(); ++j)
      sums_[j + 1] = sums_[j] + prices_[j];
    // A replica costs at least this.
    const double least = 1 - sums_.back();
    const auto options =
        static_cast<std::size_t>(std::min(spare_, static_cast<double>(kMoreReplicas)));
    double sum = 0;
    chosen_.resize(first_.size());
    for (std::size_t expert = 0; expert < first_.size(); ++expert) {
      double best = 0;
      for (std::size_t i = first_[expert]; i <= first_[expert] + options; ++i) {
        const Option& option = options_[i];
        const double cost = option.replicas * (1 + sums_[static_cast<std::size_t>(option.above)] -
                                               sums_[static_cast<std::size_t>(option.below)]);
        if (i != first_[expert] && cost >= best) continue;
        best = cost;
        chosen_[expert] = i;
      }
      // No expert can have more replicas than all spare slots give it.
      const double fewest = options_[first_[expert]].replicas;
      const double beyond = least > 0 ? fewest + kMoreReplicas + 1 : fewest + spare_;
      sum += spare_ > kMoreReplicas ? std::min(best, beyond * least) : best;
    }
    return sum;
  }

  // Moves the prices along the subgradient: replicas above t minus replicas of at most T - t.
  // `missing`: by how much the cost should rise.
  void climb(double missing) {
    std::vector<double>& change = change_;
    std::fill(change.begin(), change.end(), 0.0);
    for (const std::size_t i : chosen_) {
      const Option& option = options_[i];
      change[0] += option.above > 0 ? option.replicas : 0;
      change[static_cast<std::size_t>(option.above)] -= option.above > 0 ? option.replicas : 0;
      change[0] -= option.below > 0 ? option.replicas : 0;
      change[static_cast<std::size_t>(option.below)] += option.below > 0 ? option.replicas : 0;
    }
    double length = 0;
    for (std::size_t j = 0; j < prices_.size(); ++j) {
      if (j > 0) change[j] += change[j - 1];
      length += change[j] * change[j];
    }
    if (length == 0) return;
    double sum = 0;
    for (std::size_t j = 0; j < prices_.size(); ++j) {
      prices_[j] = std::max(0.0, prices_[j] + missing / length * change[j]);
      sum += prices_[j];
    }
    if (sum > kMostPrice) {
      for (double& price : prices_)
        price *= kMostPrice / sum;
    }
  }

  double slots_;
  const IsStopped& is_stopped_;
  double spare_ = 0;                // slots beyond the fewest replicas of all experts
  std::vector<Option> options_;     // kMoreReplicas + 1 per expert
  std::vector<std::size_t> first_;  // by expert
  std::vector<std::size_t> chosen_;
  std::vector<double> grid_;    // values of t, ascending
  std::vector<double> prices_;  // of the values of t
  std::vector<double> sums_;    // of the first prices
  std::vector<double> change_;
};

}  // namespace

bool pairs_refute(const Pool& pool, double time, std::size_t iterations,
                  const IsStopped& is_stopped) {
  return PairPrices(pool, time, is_stopped).refute(iterations);
}

namespace {

// Tries all ways to give spare slots to experts.
class CountTrial {
 public:
  CountTrial(const Pool& pool, double time, const IsStopped& is_stopped)
      : pool_(pool), time_(time), is_stopped_(is_stopped) {}

  bool refute(std::size_t most) {
    if (!choose_fewest()) return true;
    double ways = 1;  // of choosing `spare_` experts with repetition
    for (std::size_t i = 0; i < spare_; ++i)
      ways *= static_cast<double>(counts_.size() + i) / static_cast<double>(i + 1);
    if (ways > static_cast<double>(most)) return false;
    for (std::size_t expert = 0; expert < counts_.size(); ++expert)
      shares_.insert(shares_.end(), counts_[expert], share(expert));
    std::sort(shares_.begin(), shares_.end());
    return !fits(0, spare_, shares_);
  }

 private:
  double share(std::size_t expert) const {
    return pool_.loads[expert] / static_cast<double>(counts_[expert]);
  }

  // Sets the fewest replicas with which every share and the least other share stay within the time.
  bool choose_fewest() {
    double other = 0;
    for (;;) {
      const double room = time_ - other;
      std::size_t needed = 0;
      counts_.clear();
      for (const double load : pool_.loads) {
        if (load > room * static_cast<double>(pool_.num_slots())) return false;
        counts_.push_back(
            static_cast<std::size_t>(std::max(1.0, std::ceil(load / room * (1 - kRounding)))));
        needed += counts_.back();
      }
      if (needed > pool_.num_slots()) return false;
      spare_ = pool_.num_slots() - needed;
      double least = time_;
      for (std::size_t expert = 0; expert < counts_.size(); ++expert)
        least =
            std::min(least, pool_.loads[expert] / static_cast<double>(counts_[expert] + spare_));
      if (least <= other * (1 + kRounding)) return true;
      other = least;
      if (other >= time_) return false;
    }
  }

  // Gives `spare` slots to experts from `first` on. `shares`: of all replicas so far, ascending.
  // Returns true if all pairs fit, or if stopped.
  bool fits(std::size_t first, std::size_t spare, const std::vector<double>& shares) {
    if (is_stopped_ && is_stopped_()) return true;
    if (spare == 0) {
      for (std::size_t i = 0, j = shares.size() - 1; i < j; ++i, --j) {
        if (shares[i] + shares[j] > time_) return false;
      }
      return true;
    }
    std::vector<double> more;
    for (std::size_t expert = first; expert < counts_.size(); ++expert) {
      more = shares;
      const auto from = std::lower_bound(more.begin(), more.end(), share(expert));
      more.erase(from, from + static_cast<std::ptrdiff_t>(counts_[expert]));
      ++counts_[expert];
      const double next = share(expert);
      more.insert(std::lower_bound(more.begin(), more.end(), next), counts_[expert], next);
      const bool found = fits(expert, spare - 1, more);
      --counts_[expert];
      if (found) return true;
    }
    return false;
  }

  const Pool& pool_;
  double time_;
  const IsStopped& is_stopped_;
  std::vector<std::size_t> counts_;
  std::size_t spare_ = 0;
  std::vector<double> shares_;
};

}  // namespace

bool counts_refute(const Pool& pool, double time, std::size_t most, const IsStopped& is_stopped) {
  return CountTrial(pool, time, is_stopped).refute(most);
}

double pairs_bound(const Pool& pool, double low, double high, std::size_t iterations,
                   const IsStopped& is_stopped) {
  for (int i = 0; i < kBisections; ++i) {
    const double middle = low + (high - low) / 2;
    (pairs_refute(pool, middle, iterations, is_stopped) ? low : high) = middle;
  }
  return low;
}

}  // namespace shardwright::experts
