#include "core/embedding/bound/search/tree/all_plans.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/embedding/bound/search/tree/twins.h"
#include "core/embedding/evaluation/evaluate.h"

namespace shardwright::embedding {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The bytes of the table's smallest choice.
double least_bytes(const ChoicesOfTable& table) {
  double least = kInfinity;
  for (const TableChoice& choice : table.choices) {
    double bytes = 0;
    for (const EqualShards& shards : choice.shards)
      bytes += shards.count * shards.bytes.sum();
    least = std::min(least, bytes);
  }
  return least;
}

}  // namespace

AllPlans::AllPlans(const SearchSpace& space, const Topology& available, const PlanGoal& goal,
                   std::vector<ChoicesOfTable> tables, std::vector<RankPriceSet> prices,
                   StepLimit& limit)
    : space_(space),
      available_(available),
      any_valid_(!goal.below),
      target_(goal.below.value_or(1)),  // all loads are 0 without a target
      improvement_(any_valid_ ? 0 : goal.improvement),
      limit_(limit),
      tables_(std::move(tables)),
      ranks_(space, available, tables_),
      prices_(ranks_, target_, std::move(prices), goal.held != nullptr, limit),
      tried_(ranks_, target_, limit),
      levels_(tables_.size() + 1),
      order_(tables_.size()),
      placed_(tables_.size()),
      remaining_(tables_.size()) {
  for (std::size_t table = 0; table < tables_.size(); ++table)
    remaining_.insert(table);
  if (!any_valid_) sort_choices();
  sort_tables(space);
}

// By what they cost alone, at the first prices.
void AllPlans::sort_choices() {
  const auto cost = [&](const TableChoice& choice) {
    double sum = 0;
    for (const EqualShards& shards : choice.shards) {
      double least = kInfinity;
      for (std::size_t place = 0; place < shards.ranks.size(); ++place)
        least = std::min(least, prices_.cost(0, shards, place));
      sum += shards.count * least;
    }
    return sum;
  };
  for (ChoicesOfTable& own : tables_) {
    std::vector<std::pair<double, TableChoice>> priced;
    for (TableChoice& choice : own.choices)
      priced.emplace_back(cost(choice), std::move(choice));
    std::stable_sort(priced.begin(), priced.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::transform(priced.begin(), priced.end(), own.choices.begin(),
                   [](auto& own_choice) { return std::move(own_choice.second); });
  }
}

// Tables with rules come first, then the largest, so that dead ends come early.
void AllPlans::sort_tables(const SearchSpace& space) {
  const PlacementRules& rules = space.problem().rules();
  std::vector<std::pair<bool, double>> keys;
  for (const ChoicesOfTable& own : tables_)
    keys.emplace_back(!rules.constrains(own.table), -least_bytes(own));
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
}

// All tables are placed. What was tried holds for lower targets, too.
void AllPlans::accept() {
  std::vector<const ShardingOption*> options;
  std::vector<Rank> ranks;
  for (const Placed& own : placed_) {
    options.push_back(&space_.option(own.choice->option));
    // What follows is what some shards take beyond the least one.
    ranks.insert(ranks.end(), own.ranks.begin(), own.ranks.begin() + options.back()->num_shards());
  }
  limit_.spend(ranks.size());
  Plan plan = Plan::make(nullptr, options, ranks);
  if (!any_valid_ || evaluate(space_.problem(), available_, plan).valid()) found_ = std::move(plan);
  if (improvement_ == 0) return;
  target_ = std::min(target_, (ranks_.max_load() + ranks_.charged()) * (1 - improvement_));
  prices_.lower_target(target_);
}

// Returns nothing if the remaining tables have no place below the target.
std::optional<std::size_t> AllPlans::next_table(Level& level) {
  if (!prices_everywhere_) return order_[num_placed_];
  const std::uint64_t before = limit_.left();
  const auto next = cheapest_next(level);
  if (num_placed_ > 0 || !next) return next;
  prices_everywhere_ = (before - limit_.left()) * tables_.size() <= limit_.left();
  if (prices_everywhere_) return next;
  prices_.drop();
  level.later.clear();
  level.left.clear();
  return order_.front();
}

std::optional<std::size_t> AllPlans::cheapest_next(Level& level) {
  prices_.begin();
  PriceSums needed(prices_.size(), 0);
  PriceSums of_next;
  std::size_t next = 0;
  double fewest = kInfinity;
  for (std::size_t table = 0; table < tables_.size(); ++table) {
    if (!remaining_.contains(table)) continue;
    PriceSums least(prices_.size(), kInfinity);
    const double ways = prices_.price_table(tables_[table], table, least);
    if (ways == 0) return std::nullopt;
    for (std::size_t set = 0; set < needed.size(); ++set)
      needed[set] += least[set];
    // A table with more ways than a double can count may be next if all have.
    if (ways >= fewest && !of_next.empty()) continue;
    fewest = ways;
    next = table;
    of_next = std::move(least);
  }
  level.left = prices_.worth_of_useful();
  level.later = needed;
  if (prices_.is_too_much(needed, level.left) || !prices_.can_be_apart()) return std::nullopt;
  for (std::size_t set = 0; set < needed.size(); ++set)
    level.later[set] -= of_next[set];
  return next;
}

void AllPlans::place_tables() {
  limit_.hear_stop();
  if (is_over()) return;
  if (num_placed_ == tables_.size()) return accept();
  if (!prices_everywhere_) return place_next();
  ranks_.look(remaining_, 0, level().outlook);
  TriedStates::State state = tried_.state(remaining_, level().outlook);
  if (tried_.contains(state)) return;
  place_next();
  if (!is_over()) tried_.insert(std::move(state));
}

void AllPlans::place_next() {
  const auto table = next_table(level());
  if (!table) return;
  ranks_.look(remaining_, *table, level().outlook);
  const std::vector<TableChoice>& choices = tables_[*table].choices;
  for (std::size_t i = 0; i < choices.size() && !is_over(); ++i) {
    placed_[*table].choice = &choices[i];
    placed_[*table].ranks.clear();
    place_choice(*table, choices[i]);
  }
}

void AllPlans::place_choice(std::size_t table, const TableChoice& choice) {
  const std::uint32_t local = ranks_.ranks_per_host();
  const std::uint32_t size = tables_[table].reach(choice, local);
  Twins twins(ranks_, level().outlook, limit_);
  for (Rank first = 0; first + size <= ranks_.size() && !is_over(); first += size) {
    const Step step{table, &choice, choice.width(local), 0, 0, first, first + size, 0};
    const bool is_new = size == ranks_.size() ||
                        (size == local ? twins.is_new_host(first / local) : twins.is_new(first));
    if (is_new && price_rest(step, level())) place_shards(step);
  }
}

// Returns false if some shards of the choice have no place.
bool AllPlans::price_rest(const Step& step, Level& level) {
  const std::vector<EqualShards>& shards = step.choice->shards;
  prices_.find_joins(step.table);
  level.rest.assign(shards.size() + 1, PriceSums(prices_.size(), 0));
  for (std::size_t i = shards.size(); i > 0; i -= step.width) {
    level.rest[i - step.width] = level.rest[i];
    if (prices_.price_shards(tables_[step.table], *step.choice, i - step.width, step.first,
                             step.end, level.rest[i - step.width]) == 0)
      return false;
  }
  return true;
}

// Returns true if what is left may pay for the shards that are yet to be placed.
bool AllPlans::can_pay(const Step& step, const Level& level) const {
  const bool inside = step.group < step.choice->shards.size();
  const double part =
      inside ? 1 - static_cast<double>(step.done) / step.choice->shards[step.group].count : 0;
  PriceSums needed = level.rest[inside ? step.group + step.width : step.group];
  for (std::size_t set = 0; set < needed.size(); ++set) {
    const double after = needed[set];
    needed[set] += level.later[set];
    if (inside) needed[set] += part * (level.rest[step.group][set] - after);
  }
  return !prices_.is_too_much(needed, level.left);
}

void AllPlans::place_shards(const Step& step) {
  if (step.group == step.choice->shards.size()) {
    remaining_.erase(step.table);
    ++num_placed_;
    place_tables();
    --num_placed_;
    return remaining_.insert(step.table);
  }
  const EqualShards& shards = step.choice->shards[step.group];
  const auto [begin, end] = shards.places(step.first, step.end);
  limit_.spend(1 + (end - begin) * step.width);
  const Rank least = step.done > 0 ? step.least : step.first;
  const PriceSums left = level().left;
  Twins twins(ranks_, level().outlook, limit_);
  for (std::size_t i = begin; i < end && !is_over(); ++i) {
    const Rank first = shards.ranks[i];
    if (!may_all_be_on(step, i)) continue;
    const bool is_new = step.choice->form == Form::kWholeHosts
                            ? twins.is_new_host(first / step.width)
                            : twins.is_new(first);
    if (is_new && first >= least) place(step, i, left);
  }
}

// A block lies on one host, in rank order.
void AllPlans::place(const Step& step, std::size_t place, const PriceSums& left) {
  std::vector<Rank>& placed = placed_[step.table].ranks;
  const Rank first = step.choice->shards[step.group].ranks[place];
  for (std::uint32_t i = 0; i < step.width; ++i) {
    const EqualShards& shards = step.choice->shards[step.group + i];
    const std::size_t at = i == 0 ? place : shards.place_on(first + i);
    before_.push_back(ranks_.add(shards, at, step.table));
    placed.push_back(first + i);
    for (std::size_t set = 0; set < left.size(); ++set)
      level().left[set] -= prices_.cost(set, shards, at);
  }
  Step next = step;
  next.least = first;
  if (++next.done == step.choice->shards[step.group].count) {
    next.done = 0;
    next.group += step.width;
  }
  // The shards of a block were looked at one by one, and what moving them costs adds up.
  const bool is_below = ranks_.max_load() + ranks_.charged() < target_;
  if (is_below && can_pay(next, level())) place_shards(next);
  level().left = left;
  for (std::uint32_t i = step.width; i > 0; --i) {
    placed.pop_back();
    ranks_.restore(first + i - 1, before_.back(), step.table);
    before_.pop_back();
  }
}

bool AllPlans::may_all_be_on(const Step& step, std::size_t place) const {
  const Rank first = step.choice->shards[step.group].ranks[place];
  for (std::uint32_t i = 0; i < step.width; ++i) {
    const EqualShards& shards = step.choice->shards[step.group + i];
    const std::size_t at = i == 0 ? place : shards.place_on(first + i);
    if (at == shards.ranks.size() || !ranks_.has_room(shards, at, target_) ||
        !ranks_.may_join(first + i, step.table))
      return false;
  }
  return true;
}

}  // namespace shardwright::embedding
