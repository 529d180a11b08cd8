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
