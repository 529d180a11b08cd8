#include "search/embedding/questions/replan/moves/move_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "search/embedding/questions/replan/costs/rank_labels.h"

namespace shardwright::embedding {
namespace {

constexpr double kRounding = 1e-12;  // relative, of sums over all tables
constexpr double kNone = std::numeric_limits<double>::infinity();

std::uint64_t key_of(std::uint64_t seed) {
  constexpr std::uint64_t kSeedFactor = 0x9e3779b97f4a7c15ULL;
  constexpr std::uint64_t kOffset = 0x6a09e667f3bcc909ULL;
  return seed * kSeedFactor + kOffset;
}

// Any ranks that the choice may be on; rules and memory are left to the search. A choice of whole
// hosts may have more blocks than there are hosts.
std::vector<Rank> some_ranks(const Choice& choice, std::size_t world_size) {
  std::vector<Rank> ranks;
  if (choice.reach == Reach::kAllRanks) return ranks;
  ranks.assign(choice.num_shards, 0);
  if (choice.reach != Reach::kWholeHosts) return ranks;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    ranks[i] = static_cast<Rank>(i % world_size);
  return ranks;
}

}  // namespace

MoveSearch::MoveSearch(const ChoiceModel& model, const OldPlan& old, double weight,
                       const Plan& home, std::uint64_t seed, const ReplanMoveParameters& parameters)
    : parameters_(parameters),
      context_(model),
      costs_(model, old, weight),
      home_(home_of(home)),
      annealer_(context_, costs_, home_, key_of(seed), parameters_),
      price_bound_(context_, costs_),
      state_(context_),
      tree_(state_, costs_, price_bound_),
      prices_(model.world_size()),
      random_(key_of(seed) + 1),
      all_tables_(model.num_tables()),
      tree_work_(model.num_tables() <= parameters.most_tree_tables ? parameters.first_tree_work
                                                                   : 0) {
  std::iota(all_tables_.begin(), all_tables_.end(), 0U);
  starts_.push_back(home_);
  annealer_.offer(home_);
}

// A table whose option the model lacks begins with the choice of the least load.
Allocation MoveSearch::home_of(const Plan& plan) const {
  const ChoiceModel& model = context_.model();
  if (const std::optional<Allocation> whole = to_allocation(model, plan)) return *whole;
  Allocation home(model.num_tables());
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    const std::span<const Choice> choices = model.choices(table);
    const auto least =
        std::min_element(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
          return a.load < b.load;
        });
    home.choice[table] =
        model.first_choice(table) + static_cast<std::uint32_t>(least - choices.begin());
    home.ranks[table] = some_ranks(*least, model.world_size());
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::optional<OptionId> id = model.pool().id_of(plan[i].option);
    if (!id || !model.choice_of(*id)) continue;
    const std::uint32_t choice = *model.choice_of(*id);
    const std::size_t table = model.table_of(choice);
    home.choice[table] = choice;
    home.ranks[table].clear();
    if (model.choices()[choice].reach == Reach::kAllRanks) continue;
    for (std::uint32_t shard = 0; shard < plan[i].option->num_shards(); ++shard)
      home.ranks[table].push_back(plan[i].rank(shard));
  }
  return home;
}

void MoveSearch::offer(const Plan& plan) {
  std::optional<Allocation> allocation = to_allocation(context_.model(), plan);
  if (!allocation) return;
  annealer_.offer(*allocation);
  starts_.push_back(*std::move(allocation));
}

std::uint64_t MoveSearch::work() const {
  return annealer_.work() + label_work_ +
         parameters_.work_per_update * (tree_.work() + price_bound_.work());
}

void MoveSearch::spend(Budget& budget) {
  budget.spend(work() - spent_);
  spent_ = work();
}

// The loads of the search are rounded in another order than the verifier's.
double MoveSearch::bound() const {
  const double proved = std::max(bound_, given_bound_);
  return solved_ && best() ? std::max(proved, best()->cost * (1 - kLeastGain)) : proved;
}

bool MoveSearch::is_proved() const {
  const double cost = best() ? best()->cost : kNone;
  return solved_ || std::max(bound_, given_bound_) >= cost * (1 - kLeastGain);
}

void MoveSearch::raise_bound(const Budget& budget) {
  const double target = best() ? best()->cost : kNone;
  const UseOfRanks none(context_.model().world_size());
  prices_ = tree_.prices();
  const std::uint64_t step_work = parameters_.work_per_update * price_bound_.step_work();
  auto steps = static_cast<std::uint64_t>(parameters_.root_price_steps);
  const auto fits = [&] {
    return budget.work_left(parameters_.bound_part * step_work * steps);
  };
  while (steps > 0 && (!fits() || steps * step_work > parameters_.most_bound_work))
    steps /= 2;
  if (steps < parameters_.least_price_steps) return;
  const double bound =
      price_bound_.raise(all_tables_, none, 0, target, static_cast<int>(steps), prices_, budget);
  bound_ = std::max(bound * (1 - kRounding), 0.0);
}

bool MoveSearch::solve(std::span<const std::uint32_t> tables, std::uint64_t work, int price_steps,
                       const Budget& budget) {
  const Allocation& now = best() ? best()->allocation : home_;
  double fixed = 0;
  state_.assign(now);
  std::vector<std::uint8_t> free(now.choice.size(), 0);
  for (const std::uint32_t table : tables)
    free[table] = 1;
  for (std::size_t table = 0; table < free.size(); ++table) {
    if (free[table] == 0) fixed += costs_.cost(now.choice[table], now.ranks[table]);
  }
  const double below = best() ? best()->cost * (1 - kLeastGain) - fixed : kNone;
  const TreeAnswer answer = tree_.solve({tables, below, work, price_steps}, budget);
  if (answer.better) {
    Allocation found = now;
    for (const MoveTree::Placed& placed : tree_.placed()) {
      found.choice[placed.table] = placed.choice;
      found.ranks[placed.table] = placed.ranks;
    }
    annealer_.offer(found);
  }
  return answer.complete;
}

void MoveSearch::search_whole(const Budget& budget) {
  if (tree_work_ == 0 || context_.model().world_size() > parameters_.most_tree_ranks) return;
  tree_.prices() = prices_;
  solved_ = solve(all_tables_, tree_work_, parameters_.neighbourhood_price_steps, budget);
  tree_work_ =
      tree_work_ < parameters_.most_tree_work ? parameters_.tree_growth * tree_work_ : 0;
}

// Tables of the busiest rank and any others, with the tables that they are kept together with.
void MoveSearch::choose_tables() {
  tables_.clear();
  const std::span<const RankLoad> ranks = state_.ranks();
  const auto busiest = std::max_element(
      ranks.begin(), ranks.end(),
      [](const RankLoad& a, const RankLoad& b) { return a.load < b.load; });
  const std::span<const std::uint32_t> shards =
      state_.shards_on(static_cast<Rank>(busiest - ranks.begin()));
  const std::size_t wanted = parameters_.least_tables + random_.below(parameters_.table_spread);
  const auto add = [&](std::uint32_t table) {
    if (std::find(tables_.begin(), tables_.end(), table) == tables_.end()) tables_.push_back(table);
  };
  if (!shards.empty() && !random_.one_in(4))
    add(state_.slot(shards[random_.below(shards.size())]).table);
  for (std::size_t draws = 0; draws < 4 * wanted && tables_.size() < wanted; ++draws) {
    const std::uint32_t table = random_.below(all_tables_.size());
    const std::uint32_t unit = context_.units().unit_of(table);
    add(table);
    if (unit == TableUnits::kNone) continue;
    for (const std::uint32_t member : context_.units().units()[unit].tables)
      add(member);
  }
}

void MoveSearch::search_neighbourhoods(const Budget& budget) {
  if (!best() || context_.model().world_size() > parameters_.most_tree_ranks) return;
  state_.assign(best()->allocation);
  for (int i = 0; i < parameters_.neighbourhoods && !budget.interrupted(); ++i) {
    choose_tables();
    if (tables_.size() >= all_tables_.size() && tree_work_ == 0) return;
    tree_.prices() = prices_;
    solve(tables_, parameters_.neighbourhood_work, parameters_.neighbourhood_price_steps, budget);
  }
}

// Without a feasible allocation, broken rules weigh more and more against moves.
double MoveSearch::scale() const {
  if (best()) return best()->cost;
  return (state_.max_load() + rating_bound_) * std::pow(parameters_.scale_growth, rounds_);
}

void MoveSearch::cool(const Budget& budget) {
  const std::size_t round = rounds_++;
  const bool from_best = best() && round % parameters_.starts_one_in != 0;
  const Allocation start =
      from_best ? best()->allocation
                : starts_[round / parameters_.starts_one_in % starts_.size()];
  state_.assign(start);
  MoveAnnealer::Cooling cooling;
  cooling.scale = scale();
  const double top = best() ? std::min(state_.max_load(), best()->cost) : state_.max_load();
  const double part = parameters_.targets[round % parameters_.targets.size()];
  cooling.target = rating_bound_ + part * std::max(top - rating_bound_, 0.0);
  cooling.hot = parameters_.hot[round % parameters_.hot.size()] * cooling.scale;
  cooling.cold = parameters_.cold * cooling.scale;
  const std::size_t size = all_tables_.size() + context_.model().world_size();
  const double steps = static_cast<double>(parameters_.first_steps * size) *
                       std::pow(parameters_.step_growth, static_cast<double>(round));
  cooling.steps = static_cast<std::uint64_t>(
      std::min(steps, static_cast<double>(parameters_.most_steps)));
  annealer_.cool(start, cooling, budget);
}

// Nothing if that would take too long: nothing in it hears a stop.
std::optional<Allocation> MoveSearch::relabelled(const Allocation& allocation,
                                                 const Budget& budget) {
  const std::uint64_t work = label_work(context_.model(), allocation);
  if (work > parameters_.most_label_work || !budget.work_left(work)) return std::nullopt;
  label_work_ += work;
  return relabel_ranks(context_.model(), costs_, allocation);
}

// A plan that was found without regard to the old one has its loads on any of the equal ranks.
void MoveSearch::relabel_starts(Budget& budget) {
  for (std::size_t i = 1; i < starts_.size() && !budget.interrupted(); ++i) {
    std::optional<Allocation> labelled = relabelled(starts_[i], budget);
    if (!labelled) continue;
    annealer_.offer(*labelled);
    state_.assign(*labelled);
    if (state_.all_good()) starts_[i] = *std::move(labelled);
    spend(budget);
  }
}

void MoveSearch::relabel_best(const Budget& budget) {
  if (!best() || (labelled_cost_ && best()->cost >= *labelled_cost_)) return;
  const std::optional<Allocation> labelled = relabelled(best()->allocation, budget);
  if (labelled) annealer_.offer(*labelled);
  labelled_cost_ = best()->cost;
}

void MoveSearch::run(double rating_bound, Budget& budget) {
  given_bound_ = std::isinf(rating_bound) ? 0 : rating_bound;
  rating_bound_ = std::max(given_bound_, context_.bound());
  relabel_starts(budget);
  raise_bound(budget);
  spend(budget);
  while (!is_proved() && budget.work_left() && !budget.interrupted()) {
    search_whole(budget);
    spend(budget);
    if (is_proved() || !budget.work_left() || budget.interrupted()) break;
    search_neighbourhoods(budget);
    spend(budget);
    cool(budget);
    relabel_best(budget);
    spend(budget);
  }
}

}  // namespace shardwright::embedding
