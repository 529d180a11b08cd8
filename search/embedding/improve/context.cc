#include "search/embedding/improve/context.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {
namespace {

// The bound as a function of the two prices, and what its cheapest choices take of the memory.
class PricedBound {
 public:
  explicit PricedBound(const ChoiceModel& model) : model_(model) {
    for (const Storage& room : model.room()) {
      total_hbm_ += static_cast<double>(std::max<std::int64_t>(room.hbm.value(), 0));
      total_ddr_ += static_cast<double>(std::max<std::int64_t>(room.ddr.value(), 0));
    }
  }

  struct At {
    double bound = 0;
    double spare_hbm = 0;  // negative: the cheapest choices take more than there is
    double spare_ddr = 0;
  };

  At at(double hbm_price, double ddr_price) const {
    double sum = 0;
    double hbm = 0;
    double ddr = 0;
    for (std::size_t table = 0; table < model_.num_tables(); ++table) {
      double least = std::numeric_limits<double>::infinity();
      const Choice* cheapest = nullptr;
      for (const Choice& choice : model_.choices(table)) {
        const double cost = choice.load + hbm_price * static_cast<double>(choice.hbm_bytes) +
                            ddr_price * static_cast<double>(choice.ddr_bytes);
        if (cost < least) {
          least = cost;
          cheapest = &choice;
        }
      }
      if (cheapest == nullptr) continue;
      sum += least;
      hbm += static_cast<double>(cheapest->hbm_bytes);
      ddr += static_cast<double>(cheapest->ddr_bytes);
    }
    return {(sum - hbm_price * total_hbm_ - ddr_price * total_ddr_) / model_.world_size(),
            total_hbm_ - hbm, total_ddr_ - ddr};
  }

  // The price of one memory, the other one's given, at which the cheapest choices just fit.
  template <class Spare>
  double fitting_price(const Spare& spare, double first_guess) const {
    if (spare(0) >= 0) return 0;
    double high = first_guess;
    for (int i = 0; i < 60 && spare(high) < 0; ++i)
      high *= 4;
    double low = 0;
    for (int i = 0; i < 36; ++i) {
      const double middle = (low + high) / 2;
      (spare(middle) < 0 ? low : high) = middle;
    }
    return high;
  }

  double total_hbm() const { return total_hbm_; }
  double total_ddr() const { return total_ddr_; }

 private:
  const ChoiceModel& model_;
  double total_hbm_ = 0;
  double total_ddr_ = 0;
};

}  // namespace

ImproveContext::ImproveContext(const ChoiceModel& model) : model_(&model) {
  expand_shards();
  find_prices();
}

void ImproveContext::expand_shards() {
  first_slot_.push_back(0);
  for (std::size_t table = 0; table < model_->num_tables(); ++table) {
    std::uint32_t slots = 0;
    for (const Choice& choice : model_->choices(table)) {
      first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
      if (choice.reach == Reach::kAllRanks) continue;
      slots = std::max(slots, choice.num_shards);
      for (const ChoiceRun& run : model_->runs(choice))
        uses_.insert(uses_.end(), run.count, ShardUse{run.load, run.hbm_bytes, run.ddr_bytes});
    }
    first_slot_.push_back(first_slot_.back() + slots);
  }
}

// One price at a time: exact where only one memory is scarce, near the best where both are.
void ImproveContext::find_prices() {
  const PricedBound bound(*model_);
  const double load = std::max(bound.at(0, 0).bound * model_->world_size(), 1e-30);
  for (int round = 0; round < 3; ++round) {
    const MemoryPrices before = prices_;
    prices_.hbm =
        bound.fitting_price([&](double price) { return bound.at(price, prices_.ddr).spare_hbm; },
                            load / std::max(bound.total_hbm(), 1.0));
    prices_.ddr =
        bound.fitting_price([&](double price) { return bound.at(prices_.hbm, price).spare_ddr; },
                            load / std::max(bound.total_ddr(), 1.0));
    if (before.hbm == prices_.hbm && before.ddr == prices_.ddr) break;
  }
  prices_.bound = std::max(bound.at(prices_.hbm, prices_.ddr).bound, bound.at(0, 0).bound);
  for (std::size_t table = 0; table < model_->num_tables(); ++table) {
    double least = std::numeric_limits<double>::infinity();
    double largest = std::numeric_limits<double>::infinity();
    for (const Choice& choice : model_->choices(table)) {
      least = std::min(least, priced(choice));
      largest = std::min(largest, choice.max_load);
    }
    least_priced_.push_back(least);
    if (!model_->choices(table).empty()) prices_.bound = std::max(prices_.bound, largest);
  }
}

}  // namespace shardwright::embedding
