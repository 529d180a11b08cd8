#include "search/embedding/bound/rank_filler.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace shardwright::embedding {
namespace {

// Relative difference below which two worths count as equal.
constexpr double kNoise = 1e-10;
// By how much a pattern must be worth more than asked for to do without the best.
constexpr double kEnough = 1e-3;
// Of a full search, beyond which it waits until nothing else helps.
constexpr std::uint64_t kEasySteps = 50'000;

}  // namespace

RankFill RankFiller::best(std::span<const double> worth, double target,
                          const std::vector<Zone>& zones, double at_least, bool exact,
                          Budget& budget) {
  target_ = rows_->limit(class_, target);
  const RankClass& own = rows_->classes()[class_];
  hbm_room_ = static_cast<double>(own.room.hbm.value());
  ddr_room_ = static_cast<double>(own.room.ddr.value());
  steps_ = 0;
  collect(worth, zones);
  choose_prices();
  order_tables();
  relaxations_.clear();
  add_relaxation(prices_);
  // A label that has taken much load and little memory, or the other way round, is bounded better
  // by other prices.
  for (const auto& [load, hbm] :
       {std::pair{0.5, 1.5}, std::pair{1.5, 0.5}, std::pair{2.0, 0.0}, std::pair{0.0, 2.0}}) {
    add_relaxation({prices_.load * load, prices_.hbm * hbm, prices_.ddr});
  }

  // A good pattern first: it ends most labels of the full search.
  fill_greedily();
  threshold_ = std::max(at_least, best_.worth);
  search(all_tables(), kBeam, kBeam);
  // One that is good enough needs no proof that it is the best.
  bool complete = false;
  if ((exact || easy_) && best_.worth <= at_least * (1 + kEnough)) {
    const std::uint64_t before = steps_;
    complete = search_all();
    easy_ = steps_ - before < kEasySteps;
  }

  RankFill fill;
  fill.worth = best_.worth;
  fill.most = (complete ? threshold_ : relaxations_[0].whole) * (1 + kNoise);
  fill.pattern = pattern();
  fill.prices = prices_;
  budget.spend(steps_);
  return fill;
}

// Once there are many labels, the tables that are left are searched by themselves, and what both
// parts hold is joined. False where there are too many labels.
bool RankFiller::search_all() {
  std::vector<std::uint32_t> tables = all_tables();
  const std::size_t first = search(tables, kJoined, 0);
  if (first == tables.size()) return true;
  std::vector<Label> others = labels_;
  tables.erase(tables.begin(), tables.begin() + static_cast<std::ptrdiff_t>(first));
  if (search(tables, kMostLabels, 0) < tables.size()) return false;
  join(others);
  return true;
}

std::vector<std::uint32_t> RankFiller::all_tables() const {
  std::vector<std::uint32_t> all(tables_.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

// Extends labels through the tables, until there are more than `most`; with a beam, of the most
// promising ones only. The number of tables that were passed.
std::size_t RankFiller::search(std::span<const std::uint32_t> tables, std::size_t most,
                               std::size_t beam) {
  begin_search();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (labels_.size() > most) return i;
    pass(tables[i]);
    extend(tables_[tables[i]]);
    drop_dominated();
    if (beam > 0) keep_beam(beam);
  }
  return tables.size();
}

void RankFiller::begin_search() {
  labels_.assign(1, Label{});
  for (Relaxation& relaxation : relaxations_)
    relaxation.rest = relaxation.whole;
  floor_.load = target_ * (1 - kNoise);  // so that rounding does not make a fit fail
  floor_.hbm = hbm_room_;
  floor_.ddr = ddr_room_;
  for (const Table& table : tables_) {
    floor_.load -= table.most.load;
    floor_.hbm -= table.most.hbm;
    floor_.ddr -= table.most.ddr;
  }
}

// The table is no longer to come.
void RankFiller::pass(std::uint32_t table) {
  for (Relaxation& relaxation : relaxations_)
    relaxation.rest -= relaxation.best_gain[table];
  floor_.load += tables_[table].most.load;
  floor_.hbm += tables_[table].most.hbm;
  floor_.ddr += tables_[table].most.ddr;
}

RankFiller::Label RankFiller::leveled(const Label& label) const {
  return {std::max(label.load, floor_.load), std::max(label.hbm, floor_.hbm),
          std::max(label.ddr, floor_.ddr), label.worth, label.taken};
}

bool RankFiller::can_win(const Label& label) const {
  const double least = threshold_ * (1 + kNoise);
  const Label own = leveled(label);
  return std::all_of(relaxations_.begin(), relaxations_.end(), [&](const Relaxation& relaxation) {
    return gain(own, relaxation.prices) + relaxation.rest > least;
  });
}

void RankFiller::keep_beam(std::size_t beam) {
  if (labels_.size() <= beam) return;
  const auto middle = labels_.begin() + static_cast<std::ptrdiff_t>(beam);
  std::nth_element(labels_.begin(), middle, labels_.end(), [&](const Label& a, const Label& b) {
    const double gain_a = gain(a, prices_);
    const double gain_b = gain(b, prices_);
    return gain_a != gain_b ? gain_a > gain_b : a.taken < b.taken;
  });
  labels_.resize(beam);
}

// The best that a label and one of the other half hold together.
void RankFiller::join(std::vector<Label>& others) {
  std::sort(others.begin(), others.end(), [](const Label& a, const Label& b) {
    return a.worth != b.worth ? a.worth > b.worth : a.taken < b.taken;
  });
  std::uint64_t pairs = 0;
  for (const Label& label : labels_) {
    for (const Label& other : others) {
      ++pairs;
      if (label.worth + other.worth <= threshold_) break;
      if (!fits(label.load + other.load, label.hbm + other.hbm, label.ddr + other.ddr)) continue;
      threshold_ = label.worth + other.worth;
      best_ = label;
      best_.worth = threshold_;
      best_other_ = other.taken;
      break;
    }
  }
  steps_ += pairs / 8;  // a pair costs far less than a label
}

void RankFiller::collect(std::span<const double> worth, const std::vector<Zone>& zones) {
  const ChoiceModel& model = rows_->model();
  ways_.clear();
  tables_.clear();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    const std::size_t first = ways_.size();
    for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
      const std::uint32_t choice = model.first_choice(table) + i;
      if ((zones[choice] >> class_ & 1) != 0) add_ways(choice, worth);
    }
    drop_dominated_ways(first);
    if (ways_.size() > first) {
      tables_.push_back({static_cast<std::uint32_t>(first),
                         static_cast<std::uint32_t>(ways_.size() - first),
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
    value += best;
    if (taken == nullptr) continue;
    slack->load -= taken->load;
    slack->hbm -= taken->hbm;
    slack->ddr -= taken->ddr;
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
    added.best_gain.push_back(best);
    added.whole += best;
  }
  steps_ += ways_.size();
}

// A first pattern: of every table the way of most gain that still fits.
void RankFiller::fill_greedily() {
  taken_.assign(1, Taken{});
  best_ = {};
  best_other_ = 0;
  for (const Table& table : tables_) {
    const Way* best = nullptr;
    for (std::uint32_t w = table.first; w < table.first + table.count; ++w) {
      const Way& way = ways_[w];
      if (!fits(best_.load + way.load, best_.hbm + way.hbm, best_.ddr + way.ddr)) continue;
      if (best == nullptr || gain(way, prices_) > gain(*best, prices_)) best = &way;
    }
    if (best == nullptr) continue;
    taken_.push_back({best_.taken, static_cast<std::uint32_t>(best - ways_.data())});
    best_ = {best_.load + best->load, best_.hbm + best->hbm, best_.ddr + best->ddr,
             best_.worth + best->worth, static_cast<std::uint32_t>(taken_.size() - 1)};
  }
}

void RankFiller::extend(const Table& table) {
  next_.clear();
  for (const Label& label : labels_) {
    steps_ += table.count + 1;
    if (can_win(label)) next_.push_back(label);
    for (std::uint32_t w = table.first; w < table.first + table.count; ++w) {
      const Way& way = ways_[w];
      Label more{label.load + way.load, label.hbm + way.hbm, label.ddr + way.ddr,
                 label.worth + way.worth, 0};
      if (!fits(more.load, more.hbm, more.ddr) || !can_win(more)) continue;
      taken_.push_back({label.taken, w});
      more.taken = static_cast<std::uint32_t>(taken_.size() - 1);
      if (more.worth > threshold_ || (more.worth > best_.worth && best_.worth < threshold_)) {
        best_ = more;
        best_other_ = 0;
        threshold_ = std::max(threshold_, more.worth);
      }
      next_.push_back(more);
    }
  }
  labels_.swap(next_);
}

void RankFiller::drop_dominated() {
  constexpr std::size_t kCompared = 32;  // to how many kept ones before it
  next_.clear();
  for (const Label& label : labels_)
    next_.push_back(leveled(label));
  order_.resize(labels_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (next_[a].load != next_[b].load) return next_[a].load < next_[b].load;
    if (next_[a].worth != next_[b].worth) return next_[a].worth > next_[b].worth;
    return next_[a].taken < next_[b].taken;
  });
  kept_.clear();
  for (const std::uint32_t i : order_) {
    const Label& own = next_[i];
    bool dominated = false;
    const std::size_t from = kept_.size() > kCompared ? kept_.size() - kCompared : 0;
    for (std::size_t k = kept_.size(); k-- > from && !dominated;) {
      const Label& other = next_[kept_[k]];
      dominated = other.worth >= own.worth && other.hbm <= own.hbm && other.ddr <= own.ddr;
    }
    if (!dominated) kept_.push_back(i);
  }
  next_.clear();
  for (const std::uint32_t i : kept_)
    next_.push_back(labels_[i]);
  labels_.swap(next_);
}

RankPattern RankFiller::pattern() const {
  RankPattern pattern;
  pattern.rank_class = class_;
  for (const std::uint32_t last : {best_.taken, best_other_}) {
    for (std::uint32_t at = last; at != 0; at = taken_[at].before) {
      const Way& way = ways_[taken_[at].way];
      if (way.count > 0) pattern.shards.emplace_back(way.row, way.count);
      if (way.other_count > 0) pattern.shards.emplace_back(way.other_row, way.other_count);
    }
  }
  std::sort(pattern.shards.begin(), pattern.shards.end());
  for (const auto& [row, count] : pattern.shards)
    pattern.load += count * rows_->rows()[row].load;
  return pattern;
}

}  // namespace shardwright::embedding
