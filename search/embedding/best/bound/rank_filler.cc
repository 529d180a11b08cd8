#include "search/embedding/best/bound/rank_filler.h"

#include <algorithm>
#include <array>
#include <cmath>
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
                          const std::vector<Zone>& zones, std::span<const AlikeTables> groups,
                          double at_least, bool exact, Budget& budget) {
  target_ = rows_->limit(class_, target);
  const RankClass& own = rows_->classes()[class_];
  hbm_room_ = static_cast<double>(own.room.hbm.value());
  ddr_room_ = static_cast<double>(own.room.ddr.value());
  steps_ = 0;
  collect(worth, zones, groups);
  choose_prices();
  Found found = find(at_least, exact);
  if (found == Found::kTooMany) {
    coarsen();
    found = find(at_least, exact);
  }

  RankFill fill;
  fill.worth = best_.worth;
  fill.most = (found == Found::kBest ? threshold_ : relaxations_[0].whole) * (1 + kNoise);
  fill.pattern = pattern();
  fill.prices = prices_;
  budget.spend(steps_);
  return fill;
}

// A pattern worth more than `at_least`, if there is one: a good one, or the best.
RankFiller::Found RankFiller::find(double at_least, bool exact) {
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
  if (!(exact || easy_) || best_.worth > at_least * (1 + kEnough)) return Found::kGood;
  const std::uint64_t before = steps_;
  const bool complete = search_all();
  easy_ = complete && steps_ - before < kEasySteps;
  if (complete) return Found::kBest;
  return exact ? Found::kTooMany : Found::kGood;
}

// Rounds what tables take down to parts of the rank, so that fewer labels differ: nothing that fits
// is lost, and what is found may exceed the rank by a few ten-thousandths.
void RankFiller::coarsen() {
  const std::vector<Way> all = std::move(ways_);
  ways_.clear();
  const auto round_down = [](double size, double room) {
    const double unit = room / kParts;
    return room > 0 ? std::floor(size / unit) * unit : size;
  };
  for (Table& table : tables_) {
    const std::size_t first = ways_.size();
    for (std::uint32_t w = table.first; w < table.first + table.count; ++w) {
      Way way = all[w];
      way.load = round_down(way.load, target_);
      way.hbm = round_down(way.hbm, hbm_room_);
      way.ddr = round_down(way.ddr, ddr_room_);
      ways_.push_back(way);
    }
    drop_dominated_ways(first);
    table.first = static_cast<std::uint32_t>(first);
    table.count = static_cast<std::uint32_t>(ways_.size() - first);
    table.most = {};
  }
}

// Once there are many labels, the tables that are left are searched by themselves, and what both
// parts hold is joined. False where there are too many labels.
bool RankFiller::search_all() {
  std::vector<std::uint32_t> tables = all_tables();
  const std::size_t first = search(tables, kJoined, 0);
  if (first == tables.size()) return true;
  if (labels_.size() > kMostLabels) return false;
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
    if (labels_.size() > most || !extend(tables[i], beam)) return i;
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
    floor_.load -= table.times * table.most.load;
    floor_.hbm -= table.times * table.most.hbm;
    floor_.ddr -= table.times * table.most.ddr;
  }
}

// The table is no longer to come.
void RankFiller::raise_floor(const Table& table) {
  floor_.load += table.times * table.most.load;
  floor_.hbm += table.times * table.most.hbm;
  floor_.ddr += table.times * table.most.ddr;
}

// What one more table of the group may gain, in this way or one after it.
void RankFiller::look_ahead(const Table& table, std::uint32_t way) {
  for (Relaxation& relaxation : relaxations_) {
    relaxation.ahead = 0;
    for (std::uint32_t w = way; w < table.first + table.count; ++w)
      relaxation.ahead = std::max(relaxation.ahead, gain(ways_[w], relaxation.prices));
  }
}

RankFiller::Label RankFiller::leveled(const Label& label) const {
  return {std::max(label.load, floor_.load),
          std::max(label.hbm, floor_.hbm),
          std::max(label.ddr, floor_.ddr),
          label.worth,
          label.taken,
          label.used};
}

// `more`: how many tables of the group at hand may still be taken.
bool RankFiller::can_win(const Label& label, std::uint32_t more) const {
  const double least = threshold_ * (1 + kNoise);
  const Label own = leveled(label);
  return std::all_of(relaxations_.begin(), relaxations_.end(), [&](const Relaxation& relaxation) {
    return gain(own, relaxation.prices) + relaxation.rest + more * relaxation.ahead > least;
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
    for (std::uint32_t k = 0; k < table.times; ++k) {
      const Way* best = nullptr;
      for (std::uint32_t w = table.first; w < table.first + table.count; ++w) {
        const Way& way = ways_[w];
        if (!fits(best_.load + way.load, best_.hbm + way.hbm, best_.ddr + way.ddr)) continue;
        if (best == nullptr || gain(way, prices_) > gain(*best, prices_)) best = &way;
      }
      if (best == nullptr) break;
      taken_.push_back({best_.taken, static_cast<std::uint32_t>(best - ways_.data())});
      best_ = {best_.load + best->load,
               best_.hbm + best->hbm,
               best_.ddr + best->ddr,
               best_.worth + best->worth,
               static_cast<std::uint32_t>(taken_.size() - 1),
               0};
    }
  }
}

// Every label with as many tables of the group as fit, way after way, so that the same tables are
// not taken in two orders. False where that makes too many labels.
bool RankFiller::extend(std::uint32_t index, std::size_t beam) {
  const Table& table = tables_[index];
  for (Relaxation& relaxation : relaxations_)
    relaxation.rest -= relaxation.best_gain[index];
  const bool single = table.times == 1;
  const std::uint32_t few = single ? 0 : table.times - std::min(table.times, plenty(table));
  if (single) raise_floor(table);
  for (std::uint32_t w = table.first; w < table.first + table.count; ++w) {
    if (!single) look_ahead(table, w);
    add_way(w, table.times);
    if (!single) drop_dominated(few);
    if (!single && beam > 0) keep_beam(beam);
    if (labels_.size() > kMostLabels) return false;
  }
  if (!single) raise_floor(table);
  for (Label& label : labels_)
    label.used = 0;
  std::erase_if(labels_, [&](const Label& label) { return !can_win(label, 0); });
  drop_dominated(0);
  if (beam > 0) keep_beam(beam);
  return true;
}

// Labels that a table is added to are followed by those with one table more.
void RankFiller::add_way(std::uint32_t w, std::uint32_t times) {
  const Way& way = ways_[w];
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    ++steps_;
    if (labels_[i].used == times) continue;
    Label more = labels_[i];
    more.load += way.load;
    more.hbm += way.hbm;
    more.ddr += way.ddr;
    more.worth += way.worth;
    ++more.used;
    if (!fits(more.load, more.hbm, more.ddr) || !can_win(more, times - more.used)) continue;
    taken_.push_back({more.taken, w});
    more.taken = static_cast<std::uint32_t>(taken_.size() - 1);
    if (more.worth > threshold_ || (more.worth > best_.worth && best_.worth < threshold_)) {
      best_ = more;
      best_other_ = 0;
      threshold_ = std::max(threshold_, more.worth);
    }
    labels_.push_back(more);
  }
}

// More tables of the group than these do not fit a rank.
std::uint32_t RankFiller::plenty(const Table& table) const {
  double most = table.times;
  const auto limit = [&](double room, double Way::*size) {
    double least = room;
    for (std::uint32_t w = table.first; w < table.first + table.count; ++w)
      least = std::min(least, ways_[w].*size);
    if (least > 0) most = std::min(most, room / least);
  };
  limit(target_, &Way::load);
  limit(hbm_room_, &Way::hbm);
  limit(ddr_room_, &Way::ddr);
  return static_cast<std::uint32_t>(most) + 1;
}

// Whether one of less load is worth no less with no more HBM.
bool RankFiller::is_below_stairs(const Label& label) const {
  const auto next =
      std::upper_bound(best_by_memory_.begin(), best_by_memory_.end(), label.hbm,
                       [](double hbm, const auto& stair) { return hbm < stair.first; });
  return next != best_by_memory_.begin() && std::prev(next)->second >= label.worth;
}

void RankFiller::add_stair(const Label& label) {
  const auto begin =
      std::lower_bound(best_by_memory_.begin(), best_by_memory_.end(), label.hbm,
                       [](const auto& stair, double hbm) { return stair.first < hbm; });
  auto end = begin;
  while (end != best_by_memory_.end() && end->second <= label.worth)
    ++end;
  const auto at = best_by_memory_.erase(begin, end);
  best_by_memory_.insert(at, {label.hbm, label.worth});
}

// Labels that have used no more than `few` tables of the group count as equal in that.
void RankFiller::drop_dominated(std::uint32_t few) {
  constexpr std::size_t kCompared = 32;  // to how many kept ones before it
  steps_ += labels_.size();
  next_.clear();
  for (const Label& label : labels_) {
    next_.push_back(leveled(label));
    next_.back().used = std::max(label.used, few);
  }
  order_.resize(labels_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (next_[a].load != next_[b].load) return next_[a].load < next_[b].load;
    if (next_[a].worth != next_[b].worth) return next_[a].worth > next_[b].worth;
    return next_[a].taken < next_[b].taken;
  });
  kept_.clear();
  best_by_memory_.clear();
  for (const std::uint32_t i : order_) {
    const Label& own = next_[i];
    bool dominated = is_below_stairs(own);
    const std::size_t from = kept_.size() > kCompared ? kept_.size() - kCompared : 0;
    for (std::size_t k = kept_.size(); k-- > from && !dominated;) {
      const Label& other = next_[kept_[k]];
      dominated = other.worth >= own.worth && other.hbm <= own.hbm && other.ddr <= own.ddr &&
                  other.used <= own.used;
    }
    if (dominated) continue;
    kept_.push_back(i);
    if (own.used == few && own.ddr <= std::max(floor_.ddr, 0.0)) add_stair(own);
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
  std::size_t kept = 0;  // one entry per row
  for (const auto& [row, count] : pattern.shards) {
    pattern.load += count * rows_->rows()[row].load;
    if (kept > 0 && pattern.shards[kept - 1].first == row) {
      pattern.shards[kept - 1].second += count;
    } else {
      pattern.shards[kept++] = {row, count};
    }
  }
  pattern.shards.resize(kept);
  return pattern;
}

}  // namespace shardwright::embedding
