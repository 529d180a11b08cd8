#include "search/embedding/best/bound/pricing/multipliers.h"

#include <algorithm>
#include <utility>

namespace shardwright::embedding {
namespace {

// The relaxation's value as a function of one multiplier, near a point: it is convex, and nowhere
// below this line.
struct Tangent {
  double at = 0;
  double value = 0;
  Resources slope;  // by resource: what the chosen items leave, negative if they exceed it
};

// The search for the multipliers of one knapsack.
// Thread safety: one thread at a time.
class MultiplierSearch {
 public:
  MultiplierSearch(const Knapsack& knapsack, const KnapsackParameters& parameters,
                   std::uint64_t& steps)
      : knapsack_(knapsack), parameters_(parameters), steps_(steps) {}

  // Load almost always binds. Memory gets a multiplier only if the items chosen without one exceed
  // it.
  CapacityMultipliers run() {
    CapacityMultipliers best;
    minimise_over_load(best);
    if (relaxed(best).slope.ddr < 0) {
      best.ddr = minimise(&CapacityMultipliers::ddr, &Resources::ddr, best).at;
    }
    if (knapsack_.capacity().ssd > 0 && relaxed(best).slope.ssd < 0) {
      best.ssd = minimise(&CapacityMultipliers::ssd, &Resources::ssd, best).at;
    }
    if (relaxed(best).slope.hbm < 0) minimise_over_hbm(best);
    return best;
  }

 private:
  Tangent relaxed(const CapacityMultipliers& multipliers) {
    steps_ += knapsack_.items().size();
    const Resources& capacity = knapsack_.capacity();
    Tangent result{0, cost_at(multipliers, capacity), capacity};
    for (const ItemClass& own : knapsack_.classes()) {
      double best = 0;
      const Item* chosen = nullptr;
      for (const Item& item : knapsack_.items_of(own)) {
        const double reduced = reduced_value(item.value, item.use, multipliers);
        if (reduced > best) {
          best = reduced;
          chosen = &item;
        }
      }
      result.value += own.copies * best;
      if (chosen == nullptr) continue;
      result.slope.remove(own.copies, chosen->use);
    }
    return result;
  }

  // No item that takes any of the resource has a positive reduced value at this.
  double largest_useful(double Resources::*resource) const {
    double largest = 0;
    for (const Item& item : knapsack_.items()) {
      if (item.use.*resource > 0) largest = std::max(largest, item.value / (item.use.*resource));
    }
    return largest * (1 + kPricingTolerance);
  }

  // The least value of a convex function of the resource's multiplier, between 0 and where no item
  // takes any of it. The next point is where the tangents of both sides meet; if the function is no
  // higher there, that is the least. It is just above the kink, where the chosen items fit. Its
  // slope in other resources is what the items of both sides leave if they are mixed such that all
  // of this one is used. Source: Kelley, "The Cutting-Plane Method for Solving Convex Programs"
  // (1960).
  template <class Function>
  Tangent least(double Resources::*resource, const Function& function) {
    Tangent low = function(0.0);
    if (low.slope.*resource >= 0) return low;
    Tangent high = function(largest_useful(resource));
    const double precision = high.at * parameters_.multiplier_precision;
    for (std::uint32_t i = 0; i < parameters_.most_tangents && high.at - low.at > precision; ++i) {
      const double meets = meeting(low, high, resource);
      const Tangent middle = function(std::clamp(meets, low.at, high.at));
      const double line = low.value + (middle.at - low.at) * (low.slope.*resource);
      if (middle.value <= line * (1 + parameters_.multiplier_precision)) {
        return mixed(low, high, resource, std::min(middle.at + precision, high.at), middle.value);
      }
      (middle.slope.*resource < 0 ? low : high) = middle;
    }
    return mixed(low, high, resource, high.at, high.value);
  }

  static double meeting(const Tangent& low, const Tangent& high, double Resources::*resource) {
    const double rise = high.slope.*resource;
    const double fall = low.slope.*resource;
    return (high.value - low.value + fall * low.at - rise * high.at) / (fall - rise);
  }

  static Tangent mixed(const Tangent& low, const Tangent& high, double Resources::*resource,
                       double at, double value) {
    const double rise = high.slope.*resource;
    const double fall = low.slope.*resource;
    const double part = rise / (rise - fall);  // of the items of the low side
    Tangent result{at, value, {}};
    result.slope.remove(-part, low.slope);
    result.slope.remove(part - 1, high.slope);
    return result;
  }

  // The best multiplier of the resource, given the other ones.
  Tangent minimise(double CapacityMultipliers::*multiplier, double Resources::*resource,
                   CapacityMultipliers trial) {
    return least(resource, [&](double at) {
      trial.*multiplier = at;
      Tangent found = relaxed(trial);
      found.at = at;
      return found;
    });
  }

  // Sets the best multiplier of load, given the others.
  Tangent minimise_over_load(CapacityMultipliers& multipliers) {
    Tangent found = minimise(&CapacityMultipliers::load, &Resources::load, multipliers);
    multipliers.load = found.at;
    return found;
  }

  // The relaxation is convex in the multiplier of HBM if load always has its best one.
  void minimise_over_hbm(CapacityMultipliers& best) {
    const Tangent found = least(&Resources::hbm, [&](double hbm) {
      CapacityMultipliers trial = best;
      trial.hbm = hbm;
      Tangent own = minimise_over_load(trial);
      own.at = hbm;
      return own;
    });
    best.hbm = found.at;
    minimise_over_load(best);
  }

  const Knapsack& knapsack_;
  const KnapsackParameters& parameters_;
  std::uint64_t& steps_;
};

}  // namespace

CapacityMultipliers best_multipliers(const Knapsack& knapsack, const KnapsackParameters& parameters,
                                     std::uint64_t& steps) {
  return MultiplierSearch(knapsack, parameters, steps).run();
}

}  // namespace shardwright::embedding
