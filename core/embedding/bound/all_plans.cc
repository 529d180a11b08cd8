#include "core/embedding/bound/all_plans.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/embedding/evaluate.h"

namespace shardwright::embedding {
namespace {

constexpr Rank kMostRanks = 64;
constexpr std::size_t kMostGroups = 64;
constexpr std::size_t kMostBytes = std::size_t{1} << 25;
constexpr std::size_t kBytesPerState = 64;  // roughly, beside the state itself
constexpr double kSameLoad = 1e-14;

template <class Value>
void append(std::string& bytes, Value value) {
  const auto* const begin = reinterpret_cast<const char*>(&value);
  bytes.append(begin, sizeof value);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Returns the bytes of the table's smallest choice.
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

TriedStates::TriedStates(const RankContents& ranks, double target, StepLimit& limit)
    : ranks_(ranks), limit_(limit), unit_(target * kSameLoad) {
  if (ranks.size() <= kMostRanks && ranks.groups().size() <= kMostGroups)
    keys_.resize(ranks.size());
}

TriedStates::RankKey TriedStates::key_of(Rank rank, const RemainingTables& remaining_tables) const {
  RankKey key;
  while (!ranks_.are_in_one_orbit(rank, key.kind, remaining_tables.remaining))
    ++key.kind;
  const RankContent& content = ranks_[rank];
  key.load = std::nearbyint(content.load / unit_);
  key.bytes = content.bytes;
  for (std::size_t i = 0; i < ranks_.groups().size(); ++i) {
    const RankContents::Group& group = ranks_.groups()[i];
    if (group.held_here[rank / group.ranks_per_place] > 0 &&
        group.tables.intersects(remaining_tables.remaining))
      key.groups |= std::uint64_t{1} << i;
  }
  return key;
}

// Sorts the ranks within each host, then the few hosts by insertion. Ranks on no host stay last.
void TriedStates::sort_keys(const RemainingTables& remaining_tables) {
  const auto size = static_cast<std::ptrdiff_t>(
      remaining_tables.hosts_matter ? ranks_.ranks_per_host() : ranks_.size());
  auto host = keys_.begin();
  for (; keys_.end() - host >= size; host += size) {
    std::sort(host, host + size);
    for (auto at = host; at != keys_.begin(); at -= size) {
      if (!std::lexicographical_compare(at, at + size, at - size, at)) break;
      std::swap_ranges(at, at + size, at - size);
    }
  }
  std::sort(host, keys_.end());
}

TriedStates::State TriedStates::state(const TableSet& remaining,
                                      const RemainingTables& remaining_tables) {
  State state;
  if (keys_.empty()) return state;
  limit_.spend(keys_.size());
  for (Rank rank = 0; rank < ranks_.size(); ++rank)
    keys_[rank] = key_of(rank, remaining_tables);
  sort_keys(remaining_tables);
  for (const std::uint64_t word : remaining.words())
    append(state, word);
  append(state, std::nearbyint(ranks_.charged() / unit_));
  for (const RankKey& key : keys_) {
    append(state, key.kind);
    append(state, key.load);
    append(state, key.bytes);
    append(state, key.groups);
  }
  return state;
}

void TriedStates::insert(State state) {
  if (state.empty() || bytes_ > kMostBytes) return;
  bytes_ += state.size() + kBytesPerState;
  states_.insert(std::move(state));
}

bool TriedOrbits::is_new_host(std::uint32_t host) {
  limit_.spend(hosts_.size() * ranks_.ranks_per_host());
  const bool alike = std::any_of(hosts_.begin(), hosts_.end(), [&](std::uint32_t other) {
    return ranks_.are_hosts_interchangeable(other, host, outlook_);
  });
  if (!alike) hosts_.push_back(host);
  return !alike;
}

bool TriedOrbits::is_new(Rank rank) {
  if (outlook_.hosts_matter) {
    const std::uint32_t host = rank / ranks_.ranks_per_host();
    if (!seen_host_ || host != last_host_) {
      seen_host_ = true;
      last_host_ = host;
      last_is_new_ = is_new_host(host);
      kept_.clear();
    }
    if (!last_is_new_) return false;
  }
  limit_.spend(kept_.size());
  const bool alike = std::any_of(kept_.begin(), kept_.end(), [&](Rank other) {
    return ranks_.are_interchangeable(other, rank, outlook_);
  });
  if (!alike) kept_.push_back(rank);
  return !alike;
}

AllPlans::AllPlans(const SearchSpace& space, const Topology& available, const PlanGoal& goal,
                   std::vector<ChoicesOfTable> tables, std::vector<RankPriceSet> prices,
                   StepLimit& limit)
    : space_(space),
      available_(available),
      any_valid_(!goal.below),
      target_(goal.below.value_or(1)),  // without a target, all loads are 0
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

// Sorts the choices of every table by cost at the first prices, each shard at its cheapest place.
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
  for (ChoicesOfTable& table_choices : tables_) {
    std::vector<std::pair<double, TableChoice>> priced;
    for (TableChoice& choice : table_choices.choices)
      priced.emplace_back(cost(choice), std::move(choice));
    std::stable_sort(priced.begin(), priced.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::transform(priced.begin(), priced.end(), table_choices.choices.begin(),
                   [](auto& own_choice) { return std::move(own_choice.second); });
  }
}

// Sorts tables with rules first, then the largest, so that infeasible branches end early.
void AllPlans::sort_tables(const SearchSpace& space) {
  const PlacementRules& rules = space.problem().rules();
  std::vector<std::pair<bool, double>> keys;
  for (const ChoicesOfTable& table_choices : tables_)
    keys.emplace_back(!rules.constrains(table_choices.table), -least_bytes(table_choices));
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
}

// Precondition: all tables are placed. Stored states stay valid for lower targets.
void AllPlans::accept() {
  std::vector<const ShardingOption*> options;
  std::vector<Rank> ranks;
  for (const Placed& placed : placed_) {
    options.push_back(&space_.option(placed.choice->option));
    ranks.insert(ranks.end(), placed.ranks.begin(),
                 placed.ranks.begin() + options.back()->num_shards());
  }
  limit_.spend(ranks.size());
  Plan plan = Plan::make(nullptr, options, ranks);
  if (!any_valid_ || evaluate(space_.problem(), available_, plan).valid()) found_ = std::move(plan);
  if (improvement_ == 0) return;
  target_ = std::min(target_, (ranks_.max_load() + ranks_.charged()) * (1 - improvement_));
  prices_.lower_target(target_);
}

// Returns the table to place next, or nullopt if prices show that no plan with the remaining tables
// rates below the target. Before the first table is placed, measures the work of pricing: if prices
// for every table would exceed the work left, drops the prices and follows the fixed order.
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
    // If all counts are infinite, the first table comes next.
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

bool AllPlans::run(std::uint64_t pause_at) {
  if (!std::exchange(has_begun_, true) && !enter_level()) return true;
  while (!is_over()) {
    if (limit_.left() <= pause_at) return false;
    if (num_branches_ > level().first_branch) {
      if (!try_next_place()) --num_branches_;
    } else if (!try_next_choice()) {
      if (!is_over()) tried_.insert(std::move(level().state));
      if (num_placed_ == 0) return true;
      leave_level();
    }
  }
  return true;
}

// Selects the next table. Returns false if no table is left, or if this state needs no search.
bool AllPlans::enter_level() {
  limit_.hear_stop();
  if (is_over()) return false;
  if (num_placed_ == tables_.size()) {
    accept();
    return false;
  }
  Level& own = level();
  own.state.clear();
  if (prices_everywhere_) {
    ranks_.look_ahead(remaining_, 0, own.remaining_tables);
    own.state = tried_.state(remaining_, own.remaining_tables);
    if (tried_.contains(own.state)) return false;
  }
  const auto table = next_table(own);
  if (!table) {
    if (!is_over()) tried_.insert(std::move(own.state));
    return false;
  }
  ranks_.look_ahead(remaining_, *table, own.remaining_tables);
  own.table = *table;
  own.next_choice = 0;
  own.next_first = 0;
  own.first_branch = num_branches_;
  return true;
}

// Returns to the previous table.
void AllPlans::leave_level() {
  --num_placed_;
  remaining_.insert(level().table);
}

// Returns false if all choices of the table were tried.
bool AllPlans::try_next_choice() {
  Level& own = level();
  const std::vector<TableChoice>& choices = tables_[own.table].choices;
  while (own.next_choice < choices.size() && !is_over()) {
    const TableChoice& choice = choices[own.next_choice];
    if (own.next_first == 0) {
      placed_[own.table].choice = &choice;
      placed_[own.table].ranks.clear();
      own.tried_orbits.emplace(ranks_, own.remaining_tables, limit_);
    }
    if (try_next_first(choice)) return true;
    ++own.next_choice;
    own.next_first = 0;
  }
  return false;
}

bool AllPlans::try_next_first(const TableChoice& choice) {
  Level& own = level();
  const std::uint32_t local = ranks_.ranks_per_host();
  const std::uint32_t size = tables_[own.table].reach(choice, local);
  while (own.next_first + size <= ranks_.size() && !is_over()) {
    const Rank first = std::exchange(own.next_first, own.next_first + size);
    const bool is_new =
        size == ranks_.size() || (size == local ? own.tried_orbits->is_new_host(first / local)
                                                : own.tried_orbits->is_new(first));
    const Step step{own.table, &choice, choice.width(local), 0, 0, first, first + size, 0};
    if (!is_new || !price_rest(step, own)) continue;
    enter_shards(step);
    return true;
  }
  return false;
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

// Returns false if the remaining shards and tables cost more than the capacity left is worth.
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

// Opens a branch for the next shard or block. If all are placed, enters the next table.
void AllPlans::enter_shards(const Step& step) {
  if (step.group == step.choice->shards.size()) {
    remaining_.erase(step.table);
    ++num_placed_;
    if (!enter_level()) leave_level();
    return;
  }
  const auto [begin, end] = step.choice->shards[step.group].places(step.first, step.end);
  limit_.spend(1 + (end - begin) * step.width);
  if (num_branches_ == branches_.size()) branches_.emplace_back();
  Branch& branch = branches_[num_branches_++];
  branch.step = step;
  branch.next_place = begin;
  branch.end_place = end;
  branch.tried_orbits.emplace(ranks_, level().remaining_tables, limit_);
  branch.left = level().left;
  branch.is_placed = false;
}

// Returns false if all places were tried.
bool AllPlans::try_next_place() {
  Branch& branch = branches_[num_branches_ - 1];
  const Step& step = branch.step;
  if (branch.is_placed) take_back(branch);
  const Rank least = step.done > 0 ? step.least : step.first;
  while (branch.next_place < branch.end_place && !is_over()) {
    const std::size_t at = branch.next_place++;
    const Rank first = step.choice->shards[step.group].ranks[at];
    if (!may_all_be_on(step, at)) continue;
    const bool is_new = step.choice->form == Form::kWholeHosts
                            ? branch.tried_orbits->is_new_host(first / step.width)
                            : branch.tried_orbits->is_new(first);
    if (!is_new || first < least) continue;
    place(branch, at);
    return true;
  }
  return false;
}

// Places a shard, or a block on one host in rank order.
void AllPlans::place(Branch& branch, std::size_t place) {
  const Step& step = branch.step;
  PriceSums& left = level().left;
  const Rank first = step.choice->shards[step.group].ranks[place];
  for (std::uint32_t i = 0; i < step.width; ++i) {
    const EqualShards& shards = step.choice->shards[step.group + i];
    const std::size_t at = i == 0 ? place : shards.place_on(first + i);
    before_.push_back(ranks_.add(shards, at, step.table));
    placed_[step.table].ranks.push_back(first + i);
    for (std::size_t set = 0; set < left.size(); ++set)
      left[set] -= prices_.cost(set, shards, at);
  }
  branch.is_placed = true;
  Step next = step;
  next.least = first;
  if (++next.done == step.choice->shards[step.group].count) {
    next.done = 0;
    next.group += step.width;
  }
  // has_room() tested the shards of a block one by one, but their charges for moves add up.
  const bool is_below = ranks_.max_load() + ranks_.charged() < target_;
  if (is_below && can_pay(next, level())) enter_shards(next);
}

void AllPlans::take_back(Branch& branch) {
  std::vector<Rank>& placed = placed_[branch.step.table].ranks;
  for (std::uint32_t i = 0; i < branch.step.width; ++i) {
    ranks_.restore(placed.back(), before_.back(), branch.step.table);
    placed.pop_back();
    before_.pop_back();
  }
  level().left = branch.left;
  branch.is_placed = false;
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
