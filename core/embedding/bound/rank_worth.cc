#include "core/embedding/bound/rank_worth.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {
namespace {

constexpr std::size_t kMostWays = 4096;  // of one table on one rank

bool dominates(const Holding& a, const Holding& b) {
  return a.worth >= b.worth && a.load <= b.load && a.hbm_bytes <= b.hbm_bytes &&
         a.ddr_bytes <= b.ddr_bytes;
}

Holding together(const Holding& a, const Holding& b) {
  return {add_up(a.worth, b.worth), add_down(a.load, b.load), a.hbm_bytes + b.hbm_bytes,
          a.ddr_bytes + b.ddr_bytes};
}

}  // namespace

Holding lesser(const Holding& a, const Holding& b) {
  return {a.worth, std::min(a.load, b.load), std::min(a.hbm_bytes, b.hbm_bytes),
          std::min(a.ddr_bytes, b.ddr_bytes)};
}

bool RankWorth::fits(const Holding& held) const {
  return held.load <= target_ && held.hbm_bytes <= room_.hbm.value() &&
         held.ddr_bytes <= room_.ddr.value();
}

double RankWorth::gain(const Holding& held) const {
  double taken = multiply_down(prices_.load, held.load);
  taken = add_down(taken, multiply_down(prices_.hbm, rounded_down(held.hbm_bytes)));
  taken = add_down(taken, multiply_down(prices_.ddr, rounded_down(held.ddr_bytes)));
  return add_up(held.worth, -taken);
}

bool RankWorth::add(const std::vector<Holding>& runs, const std::vector<std::uint32_t>& counts) {
  std::vector<Holding> ways{Holding{}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].worth <= 0) continue;  // nothing is gained by holding them
    const std::size_t before = ways.size();
    for (std::size_t w = 0; w < before; ++w) {
      Holding more = ways[w];
      for (std::uint32_t k = 0; k < counts[i]; ++k) {
        more = together(more, runs[i]);
        if (!fits(more)) break;
        ways.push_back(more);
        if (ways.size() > kMostWays) return false;
      }
    }
  }
  Table& table = tables_.back();
  for (std::size_t w = 1; w < ways.size(); ++w) {
    table.ways.push_back({ways[w], gain(ways[w])});
    table.best_gain = std::max(table.best_gain, table.ways.back().gain);
    table.most.load = std::max(table.most.load, ways[w].load);
    table.most.hbm_bytes = std::max(table.most.hbm_bytes, ways[w].hbm_bytes);
    table.most.ddr_bytes = std::max(table.most.ddr_bytes, ways[w].ddr_bytes);
  }
  return true;
}

// Tables whose ways are equal become one of so many times.
void RankWorth::merge_alike() {
  const auto key = [](const Label& way) {
    return std::tuple(way.held.worth, way.held.load, way.held.hbm_bytes, way.held.ddr_bytes);
  };
  const auto before = [&](const Label& a, const Label& b) { return key(a) < key(b); };
  for (Table& table : tables_)
    std::sort(table.ways.begin(), table.ways.end(), before);
  std::sort(tables_.begin(), tables_.end(), [&](const Table& a, const Table& b) {
    return std::lexicographical_compare(a.ways.begin(), a.ways.end(), b.ways.begin(), b.ways.end(),
                                        before);
  });
  std::vector<Table> merged;
  for (Table& table : tables_) {
    if (table.ways.empty()) continue;
    const bool alike = !merged.empty() &&
                       std::equal(table.ways.begin(), table.ways.end(), merged.back().ways.begin(),
                                  merged.back().ways.end(),
                                  [&](const Label& a, const Label& b) { return key(a) == key(b); });
    if (alike) {
      ++merged.back().times;
    } else {
      merged.push_back(std::move(table));
    }
  }
  tables_ = std::move(merged);
  for (Table& table : tables_)
    table.plenty = find_plenty(table);
}

std::uint32_t RankWorth::find_plenty(const Table& table) const {
  Holding least = table.ways.front().held;
  for (const Label& way : table.ways)
    least = lesser(least, way.held);
  double most = table.times;
  const auto limit = [&](double room, double size) {
    if (size > 0) most = std::min(most, room / size * (1 + 1e-9));
  };
  limit(target_, least.load);
  limit(rounded_up(room_.hbm.value()), rounded_down(least.hbm_bytes));
  limit(rounded_up(room_.ddr.value()), rounded_down(least.ddr_bytes));
  return static_cast<std::uint32_t>(std::max(0.0, most)) + 1;
}

RankWorth::Answer RankWorth::check(double most, std::uint64_t& work_left) {
  constexpr std::size_t kMany = 1000;
  merge_alike();
  // What promises most comes first, so that what is left bounds the labels closely early on.
  std::stable_sort(tables_.begin(), tables_.end(),
                   [](const Table& a, const Table& b) { return a.best_gain > b.best_gain; });
  const std::size_t passed = pass(0, kMany, most, work_left);
  std::vector<Label> others{Label{}};
  if (passed < tables_.size()) {
    others = labels_;
    pass(passed, std::numeric_limits<std::size_t>::max(), most, work_left);
  }
  const bool exceeded = exceeds(others, most, work_left);
  if (work_left == 0) return Answer::kGivenUp;
  return exceeded ? Answer::kExceeded : Answer::kHolds;
}

// With the tables [first, end) passed.
RankWorth::Ahead RankWorth::ahead(std::size_t first, std::size_t end) const {
  Ahead ahead;
  const auto room = [](Bytes bytes) {
    return rounded_up(std::max<std::int64_t>(0, bytes.value()));
  };
  ahead.gain = multiply_up(prices_.load, target_);
  ahead.gain = add_up(ahead.gain, multiply_up(prices_.hbm, room(room_.hbm)));
  ahead.gain = add_up(ahead.gain, multiply_up(prices_.ddr, room(room_.ddr)));
  ahead.taken = {0, target_, room_.hbm.value(), room_.ddr.value()};
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    if (t >= first && t < end) continue;
    const Table& table = tables_[t];
    const std::uint32_t times = std::min(table.times, table.plenty);
    ahead.gain = add_up(ahead.gain, multiply_up(times, table.best_gain));
    ahead.taken.load = add_down(ahead.taken.load, -multiply_up(times, table.most.load));
    ahead.taken.hbm_bytes -= times * table.most.hbm_bytes;
    ahead.taken.ddr_bytes -= times * table.most.ddr_bytes;
  }
  // Sums of loads are rounded down step by step; a little less keeps them on the safe side.
  ahead.taken.load -= 1e-9 * target_;
  return ahead;
}

// Labels of the tables from `first` on, all others being still to come, until there are more than
// `most_labels`. The first table that was not passed.
std::size_t RankWorth::pass(std::size_t first, std::size_t most_labels, double most,
                            std::uint64_t& work_left) {
  labels_.assign(1, Label{});
  std::size_t t = first;
  while (t < tables_.size() && labels_.size() <= most_labels && work_left > 0) {
    extend(tables_[t], ahead(first, t), ahead(first, t + 1), most, work_left);
    ++t;
  }
  return t;
}

// Every label with as many of the alike tables as fit, way after way, so that the same ones are not
// taken in two orders. What is still to come: `before` with them, `after` without.
void RankWorth::extend(const Table& table, const Ahead& before, const Ahead& after, double most,
                       std::uint64_t& work_left) {
  const std::uint32_t few = table.times - std::min(table.times, table.plenty);
  double best_gain = 0;  // of one more, in this way or one after it
  std::vector<double> gain_ahead(table.ways.size());
  for (std::size_t w = table.ways.size(); w-- > 0;)
    gain_ahead[w] = best_gain = std::max(best_gain, table.ways[w].gain);
  for (std::size_t w = 0; w < table.ways.size(); ++w) {
    const Label& way = table.ways[w];
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      if (work_left == 0) return;
      --work_left;
      if (labels_[i].used == table.times) continue;
      const Label more{together(labels_[i].held, way.held), add_up(labels_[i].gain, way.gain),
                       labels_[i].used + 1};
      const double rest = add_up(after.gain, multiply_up(table.times - more.used, gain_ahead[w]));
      if (fits(more.held) && add_up(more.gain, rest) > most) labels_.push_back(more);
    }
    if (table.times > 1) drop_dominated(before.taken, few);
  }
  for (Label& label : labels_)
    label.used = 0;
  std::erase_if(labels_,
                [&](const Label& label) { return !(add_up(label.gain, after.gain) > most); });
  drop_dominated(after.taken, 0);
}

// Below `free`, what was taken does not matter: all that is to come fits anyway. Labels that have
// used no more than `few` of the tables at hand count as equal in that.
void RankWorth::drop_dominated(const Holding& free, std::uint32_t few) {
  constexpr std::size_t kCompared = 64;  // to how many kept ones before it
  const auto seen = [&](const Label& label) {
    return Holding{label.held.worth, std::max(label.held.load, free.load),
                   std::max(label.held.hbm_bytes, free.hbm_bytes),
                   std::max(label.held.ddr_bytes, free.ddr_bytes)};
  };
  std::sort(labels_.begin(), labels_.end(), [&](const Label& a, const Label& b) {
    const double load_a = std::max(a.held.load, free.load);
    const double load_b = std::max(b.held.load, free.load);
    return load_a != load_b ? load_a < load_b : a.held.worth > b.held.worth;
  });
  next_.clear();
  for (const Label& label : labels_) {
    const Holding own = seen(label);
    const std::size_t from = next_.size() > kCompared ? next_.size() - kCompared : 0;
    const bool dominated = std::any_of(
        next_.begin() + static_cast<std::ptrdiff_t>(from), next_.end(), [&](const Label& other) {
          return std::max(other.used, few) <= std::max(label.used, few) &&
                 dominates(seen(other), own);
        });
    if (!dominated) next_.push_back(label);
  }
  labels_.swap(next_);
}

// Whether a label and one of `others` fit together and are worth more than `most`.
bool RankWorth::exceeds(std::vector<Label> others, double most, std::uint64_t& work_left) const {
  std::sort(others.begin(), others.end(),
            [](const Label& a, const Label& b) { return a.held.worth > b.held.worth; });
  for (const Label& label : labels_) {
    for (const Label& other : others) {
      if (work_left == 0) return false;
      --work_left;
      const Holding both = together(label.held, other.held);
      if (both.worth <= most) break;
      if (fits(both)) return true;
    }
  }
  return false;
}

}  // namespace shardwright::embedding
