// What a rank may hold of every table, and the prices that bound it.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "search/embedding/best/bound/rank_filler.h"

namespace shardwright::embedding {

void RankFiller::collect(std::span<const double> worth, const std::vector<Zone>& zones,
                         std::span<const AlikeTables> groups) {
  const ChoiceModel& model = rows_->model();
  ways_.clear();
  tables_.clear();
  for (const AlikeTables& group : groups) {
    const std::uint32_t table = group.first();
    const std::size_t first = ways_.size();
    for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
      const std::uint32_t choice = model.first_choice(table) + i;
      if ((zones[choice] >> class_ & 1) != 0) add_ways(choice, worth);
    }
    drop_dominated_ways(first);
    if (ways_.size() > first) {
      tables_.push_back({static_cast<std::uint32_t>(first),
                         static_cast<std::uint32_t>(ways_.size() - first),
                         group.size(),
                         0,
                         {}});
    }
  }
}

// Choices with more than two rows are bounded by their first two: the worth of others is not
// counted here, so it must be zero.
void RankFiller::add_ways(std::uint32_t choice, std::span<const double> worth) {
  std::array<std::uint32_t, 2> usable{};
  std::size_t count = 0;
  const std::uint32_t first = rows_->first_row(choice);
  for (std::uint32_t r = 0; r < rows_->rows_of(choice).size() && count < 2; ++r) {
    const BoundRow& row = rows_->rows()[first + r];
    if (worth[first + r] > 0 && rows_->fits(row, class_)) usable[count++] = first + r;
  }
  const auto add = [&](std::uint32_t row, std::uint32_t k, std::uint32_t other, std::uint32_t l) {
    const BoundRow& a = rows_->rows()[row];
    const BoundRow& b = rows_->rows()[other];
    Way way;
    way.worth = k * worth[row] + l * worth[other];
    way.load = k * a.load + l * b.load;
    way.hbm = k * static_cast<double>(a.hbm_bytes) + l * static_cast<double>(b.hbm_bytes);
    way.ddr = k * static_cast<double>(a.ddr_bytes) + l * static_cast<double>(b.ddr_bytes);
    way.row = row;
    way.count = k;
    way.other_row = other;
    way.other_count = l;
    if (!fits(way.load, way.hbm, way.ddr)) return false;
    ways_.push_back(way);
    return true;
  };
  if (count == 0) return;
  const std::uint32_t most = rows_->rows()[usable[0]].most_per_rank;
  const std::uint32_t other_most = count == 2 ? rows_->rows()[usable[1]].most_per_rank : 0;
  const std::uint32_t other = count == 2 ? usable[1] : usable[0];
  for (std::uint32_t k = 0; k <= most; ++k) {
    if (k > 0 && !add(usable[0], k, other, 0)) break;
    for (std::uint32_t l = 1; l <= other_most; ++l) {
      if (!add(usable[0], k, other, l)) break;
    }
  }
}

void RankFiller::drop_dominated_ways(std::size_t first) {
  std::size_t kept = first;
  for (std::size_t i = first; i < ways_.size(); ++i) {
    const Way way = ways_[i];
    bool dominated = false;
    for (std::size_t j = first; j < ways_.size() && !dominated; ++j) {
      const Way& other = ways_[j];
      const bool no_worse = other.worth >= way.worth && other.load <= way.load &&
                            other.hbm <= way.hbm && other.ddr <= way.ddr;
      const bool equal = other.worth == way.worth && other.load == way.load &&
                         other.hbm == way.hbm && other.ddr == way.ddr;
      // Entries before `kept` survived; those from i on were not looked at yet.
      dominated = j != i && (j < kept || j > i) && no_worse && (!equal || j < kept);
    }
    if (!dominated) ways_[kept++] = way;
  }
  ways_.resize(kept);
}

// The relaxation's value; in `slack` what is left of the rank by the ways that it takes.
double RankFiller::relaxed(const RankPrices& prices, Way* slack) const {
  double value = prices.load * target_ + prices.hbm * hbm_room_ + prices.ddr * ddr_room_;
  slack->load = target_;
  slack->hbm = hbm_room_;
  slack->ddr = ddr_room_;
  for (const Table& table : tables_) {
    double best = 0;
    const Way* taken = nullptr;
    for (std::uint32_t w = table.first; w < table.first + table.count; ++w) {
      const Way& way = ways_[w];
      const double own = gain(way, prices);
      if (own > best) {
        best = own;
        taken = &way;
      }
    }
    value += table.times * best;
    if (taken == nullptr) continue;
    slack->load -= table.times * taken->load;
    slack->hbm -= table.times * taken->hbm;
    slack->ddr -= table.times * taken->ddr;
  }
  return value;
}

// Where the ways taken at a price leave room, a lower price is better. The relaxation is convex in
// the price of memory when the others are the best for it.
void RankFiller::choose_prices() {
  prices_ = {};
  best_load_price(prices_);
  Way slack;
  relaxed(prices_, &slack);
  if (slack.ddr < 0) prices_.ddr = best_price(&RankPrices::ddr, &Way::ddr, prices_);
  relaxed(prices_, &slack);
  if (slack.hbm >= 0) return;
  double low = 0;
  double high = 0;
  for (const Way& way : ways_) {
    if (way.hbm > 0) high = std::max(high, way.worth / way.hbm);
  }
  const auto at = [&](double hbm) {
    RankPrices trial = prices_;
    trial.hbm = hbm;
    return best_load_price(trial);
  };
  constexpr int kSections = 40;
  constexpr double kGolden = 0.6180339887498949;
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  double at_left = at(left);
  double at_right = at(right);
  for (int i = 0; i < kSections; ++i) {
    if (at_left <= at_right) {
      high = right;
      right = left;
      at_right = at_left;
      at_left = at(left = high - kGolden * (high - low));
    } else {
      low = left;
      left = right;
      at_left = at_right;
      at_right = at(right = low + kGolden * (high - low));
    }
  }
  prices_.hbm = at_left <= at_right ? left : right;
  best_load_price(prices_);
}

// The best price of load beside the others; the relaxation's value there.
double RankFiller::best_load_price(RankPrices& prices) {
  prices.load = best_price(&RankPrices::load, &Way::load, prices);
  Way slack;
  return relaxed(prices, &slack);
}

double RankFiller::best_price(double RankPrices::*price, double Way::*size, RankPrices prices) {
  constexpr int kHalvings = 30;
  Way slack;
  prices.*price = 0;
  relaxed(prices, &slack);
  steps_ += ways_.size();
  if (slack.*size >= 0) return 0;
  double low = 0;
  double high = 0;
  for (const Way& way : ways_) {
    if (way.*size > 0) high = std::max(high, way.worth / way.*size);
  }
  for (int i = 0; i < kHalvings; ++i) {
    prices.*price = (low + high) / 2;
    relaxed(prices, &slack);
    (slack.*size < 0 ? low : high) = prices.*price;
  }
  steps_ += kHalvings * ways_.size();
  return high;
}

// What promises most comes first.
void RankFiller::order_tables() {
  for (Table& table : tables_) {
    table.best_gain = 0;
    for (std::uint32_t w = table.first; w < table.first + table.count; ++w) {
      const Way& way = ways_[w];
      table.best_gain = std::max(table.best_gain, gain(way, prices_));
      table.most.load = std::max(table.most.load, way.load);
      table.most.hbm = std::max(table.most.hbm, way.hbm);
      table.most.ddr = std::max(table.most.ddr, way.ddr);
    }
  }
  std::stable_sort(tables_.begin(), tables_.end(),
                   [](const Table& a, const Table& b) { return a.best_gain > b.best_gain; });
}

void RankFiller::add_relaxation(const RankPrices& prices) {
  Relaxation& added = relaxations_.emplace_back();
  added.prices = prices;
  added.whole = prices.load * target_ + prices.hbm * hbm_room_ + prices.ddr * ddr_room_;
  for (const Table& table : tables_) {
    double best = 0;
    for (std::uint32_t w = table.first; w < table.first + table.count; ++w)
      best = std::max(best, gain(ways_[w], prices));
    added.best_gain.push_back(table.times * best);
    added.whole += added.best_gain.back();
  }
  steps_ += ways_.size();
}
}  // namespace shardwright::embedding
