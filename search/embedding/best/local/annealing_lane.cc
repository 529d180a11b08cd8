#include "search/embedding/best/local/annealing_lane.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "search/embedding/best/local/choices_below.h"
#include "search/embedding/best/local/construct.h"
#include "search/embedding/best/local/tie_breaking.h"

namespace shardwright::embedding {
namespace {

constexpr std::uint64_t kBlock = 64;     // steps at one temperature
constexpr double kLeastProgress = 1e-9;  // relative
constexpr std::size_t kFewTables = 30;
constexpr double kFar = 1.25;  // from the bound

}  // namespace

bool is_better(const RatedAllocation& a, const RatedAllocation& b) {
  if (a.rating != b.rating) return a.rating < b.rating;
  return a.peak_hbm_bytes < b.peak_hbm_bytes;
}

AnnealingLane::AnnealingLane(const SearchContext& context, std::uint64_t seed, std::uint32_t stream)
    : context_(&context),
      stream_(stream),
      loads_(context),
      polished_(context),
      annealer_(loads_, seed * 0x9e3779b97f4a7c15ULL + stream * 0xd1342543de82ef95ULL) {}

void AnnealingLane::offer(const Allocation& start) {
  if (!reference_) reference_ = start;
  polished_.set_bar(std::numeric_limits<double>::infinity());
  polished_.assign(start);
  if (!polished_.all_good()) return;
  RatedAllocation rated{start, polished_.max_load(), polished_.peak_hbm()};
  if (best_ && !is_better(rated, *best_)) return;
  best_ = std::move(rated);
  settled_ = false;
  loads_.mark_all_changed();
  loads_.set_bar(best_->rating * (1 - kLeastProgress));
}

bool AnnealingLane::at_bound(double lower_bound) const {
  return best_ && best_->rating <= lower_bound * (1 + kLeastProgress);
}

// Copies what changed since the best was kept last.
void AnnealingLane::keep_best() {
  if (!best_) {
    best_.emplace();
    best_->allocation.choice.resize(context_->model().num_tables());
    best_->allocation.ranks.resize(context_->model().num_tables());
    loads_.mark_all_changed();
  }
  for (const std::uint32_t table : loads_.changed_tables())
    loads_.copy_table(table, best_->allocation);
  loads_.clear_changed();
  best_->rating = loads_.max_load();
  best_->peak_hbm_bytes = loads_.peak_hbm();
  settled_ = false;
  loads_.set_bar(best_->rating * (1 - kLeastProgress));
}

void AnnealingLane::choose_target(double lower_bound) {
  static constexpr double kShares[] = {1, 0.5, 0.2, 0.05};
  const double bound = std::max(lower_bound, context_->bound());
  // Without a plan, fitting comes first, more and more.
  const double tries = static_cast<double>(std::min<std::uint64_t>(rounds_, 12));
  const double best = best_ ? best_->rating : bound * (1.05 + 0.1 * tries);
  const double target = best - kShares[annealer_.draws().below(4)] * std::max(best - bound, 0.0);
  const bool squared = ((rounds_ + stream_) & 1) == 0;
  const double memory_weight = best_ ? 0.1 : std::pow(4.0, tries);
  double rule_weight = memory_weight;
  if (context_->model().rules().any())
    rule_weight = best_ ? std::pow(10.0, annealer_.draws().below(4)) / 10 : memory_weight + 10;
  loads_.set_goal({target, target, memory_weight, squared, rule_weight});
}

// The mean over tables of what their shards, each on a rank at the target, would add to the energy.
double AnnealingLane::typical_gain() const {
  const ChoiceModel& model = context_->model();
  Goal goal = loads_.goal();
  goal.target = std::max(goal.target, 1e-300);
  double sum = 0;
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    for (const ChoiceRun& run : model.runs(loads_.chosen(table)))
      sum += run.count * (goal.squared ? run.load * run.load / goal.target : run.load);
  }
  return std::max(sum / (goal.target * static_cast<double>(model.num_tables() + 1)), 1e-12);
}

// The best of several first allocations: the smaller the largest shard, the more even the ranks,
// but splitting has its price; so has memory that is left unused.
void AnnealingLane::construct_start(double bound) {
  static constexpr double kLimits[] = {1e9, 1.02, 0.7, 0.5, 0.35, 0.2, 0.1, 0.05};
  RandomGenerator& draws = annealer_.draws();
  const double price_factor = 1.0 + 0.25 * draws.below(rounds_ == 0 ? 2 : 5);
  // The first time, and until there is a plan, at the prices of all memory.
  const bool anew = best_ && rounds_ > 0;
  const std::span<const MemoryPrices> by_fill =
      context_->prices_by_fill().first(anew ? context_->prices_by_fill().size() : 1);
  const std::size_t first = by_fill.size() == 1 ? 0 : draws.below(by_fill.size());
  loads_.set_goal({0, bound, anew ? 10.0 : 1000.0, true, 1000});
  Allocation start;
  double least = std::numeric_limits<double>::infinity();
  double best_limit = kLimits[0];
  const auto attempt = [&](double limit, const MemoryPrices& prices, double factor) {
    Allocation made =
        construct(loads_, draws, choose_priced(*context_, bound * limit, prices, factor));
    double energy = 0;
    for (const RankLoad& at : loads_.ranks())
      energy = std::max(energy, at.energy);
    energy += 1000 * static_cast<double>(loads_.rules().broken());
    if (energy >= least) return;
    least = energy;
    best_limit = limit;
    start = std::move(made);
  };
  for (const double limit : kLimits)
    attempt(limit, by_fill[first], price_factor);
  for (std::size_t i = 1; i < by_fill.size(); ++i)
    attempt(best_limit, by_fill[(first + i) % by_fill.size()], 1);
  loads_.assign(start);
  if (loads_.all_good()) keep_best();
}

// Where memory is full, no step leads from choices that waste it to those that do not: a plan far
// from the bound is as good a start as none.
bool AnnealingLane::begins_anew(double bound) const {
  constexpr double kNear = 1.02;
  constexpr double kTooFar = 1.1;
  if (!best_ || context_->prices_by_fill().size() == 1 || (rounds_ & 3) != 2) return false;
  return best_->rating > kNear * bound && best_->rating < kTooFar * bound;
}

// Aims at a rating near the bound; returns the rating that choices are considered for.
double AnnealingLane::aim_anew(double bound) {
  static constexpr double kShares[] = {0.05, 0.1, 0.2, 0.4};
  const double above = kShares[annealer_.draws().below(4)] * (best_->rating - bound);
  const double target = bound + above;
  loads_.set_goal({target, target, 1, true, 1});
  return std::min(target + 2 * above, best_->rating);
}

// From nothing, for a target that steps from the best allocation may not get to: a table that goes
// on all ranks changes what fits on every one of them. The first time the least target that there
// are choices for, later a random one. Returns it; 0 where there was none.
double AnnealingLane::start_below(double bound) {
  constexpr std::uint64_t kWorkPerChoice = 10;
  RandomGenerator& draws = annealer_.draws();
  const bool first = unlikely_ == 0;
  double low = std::max({bound, unlikely_, best_->rating * 1e-3});
  double high = best_->rating;
  double target = 0;
  std::optional<std::vector<std::uint32_t>> choices;
  for (int tries = first ? 6 : 3; tries > 0 && (first || !choices); --tries) {
    const double tried = first ? std::sqrt(low * high) : high - draws.fraction() * (high - low);
    auto made = choices_below(*context_, tried, 1 + 0.5 * draws.fraction());
    annealer_.placer().spend(kWorkPerChoice * context_->model().choices().size());
    if (!made) {
      low = tried;
      continue;
    }
    high = target = tried;
    choices = std::move(made);
  }
  unlikely_ = low;
  if (!choices) return 0;
  loads_.set_goal({0, target, 1000, true, 1000});
  loads_.assign(construct(loads_, draws, *std::move(choices)));
  if (loads_.all_good()) keep_best();
  return target;
}

// How often a round begins that way: where the best allocation is far from the bound, every other
// time, and near it, where steps find what there is to find, never.
bool AnnealingLane::begins_below(double bound) {
  if (!best_) return false;
  const double above = best_->rating / std::max({bound, unlikely_, 1e-300});
  if (rounds_ == 0) return above > kFar && (stream_ & 1) != 0;
  return above > 1.05 && annealer_.draws().below(above > kFar ? 2 : 8) == 0;
}

// Divides the shards of the busiest rank and of another one anew, again and again: steps that
// change one shard at a time find the last ten-thousandth of an even division only by luck.
void AnnealingLane::even_out(std::uint64_t work) {
  const std::span<const RankLoad> ranks = loads_.ranks();
  const auto size = static_cast<std::uint32_t>(ranks.size());
  if (size < 2) return;
  const std::uint64_t begin = pair_balancer_.work();
  std::uint32_t in_vain = 0;
  while (pair_balancer_.work() - begin < work && in_vain < 4 * size) {
    Rank busiest = 0;
    for (Rank rank = 1; rank < size; ++rank) {
      if (ranks[rank].load > ranks[busiest].load) busiest = rank;
    }
    const Rank other = (busiest + 1 + annealer_.draws().below(size - 1)) % size;
    const bool better = pair_balancer_.improve(loads_, busiest, other, annealer_.draws());
    in_vain = better ? 0 : in_vain + 1;
    if (better && loads_.all_good()) keep_best();
  }
  annealer_.placer().spend(pair_balancer_.work() - begin + in_vain * size);
}

void AnnealingLane::begin_round(double lower_bound) {
  RandomGenerator& draws = annealer_.draws();
  const double bound = std::max(lower_bound, context_->bound());
  const ChoiceModel& model = context_->model();
  const bool anew = begins_anew(bound);
  const double target = !anew && begins_below(bound) ? start_below(bound) : 0;
  if (target > 0) {
    // As it was made.
  } else if (!best_ || rounds_ == 0 || anew) {
    construct_start(bound);
  } else if (draws.below(8) != 0) {
    loads_.assign(best_->allocation);
    loads_.clear_changed();
  } else {
    loads_.recompute();
  }
  if (anew) {
    annealer_.set_choices(aim_anew(bound));
  } else {
    choose_target(lower_bound);
    if (target > 0) loads_.set_goal({target, target, 10, loads_.goal().squared, 10});
    if (best_ && (rounds_ & 1) != 0) even_out(rounds_ * 50'000);
    annealer_.set_choices(best_ ? best_->rating : std::numeric_limits<double>::max());
  }
  // Longer rounds may begin hotter: what is undone can be done again.
  const double growth = std::pow(1.3, static_cast<double>(std::min<std::uint64_t>(rounds_, 20)));
  const double tables = static_cast<double>(model.num_tables());
  steps_left_ = static_cast<std::uint64_t>(growth * std::max(5000.0, 100.0 * tables));
  const double length = std::log10(static_cast<double>(steps_left_) / (20.0 * (tables + 1)));
  const bool squared = loads_.goal().squared;
  const double coolest = squared ? 5.5 : 4;
  // Where ranks differ, what is better may be far away: some rounds begin as hot as can be.
  const bool uneven = model.rules().any() || !model.time_scale().empty();
  const bool melts = uneven && (rounds_ % (model.num_tables() < kFewTables ? 2 : 4)) == 1;
  const double hottest = melts ? 0 : std::max(0.0, (squared ? 4.5 : 3) - 1.5 * length);
  const double range = melts ? 2 : coolest - hottest;
  temperature_ = typical_gain() * std::pow(10.0, -hottest - range * draws.fraction());
  const double blocks = static_cast<double>(steps_left_ / kBlock + 1);
  const double end = squared ? 1e-10 : 1e-6;
  cooling_ = std::exp(std::log(std::min(end / temperature_, 1.0)) / blocks);
  ++rounds_;
}

// Puts the best allocation in the best of its equals, and its exact sums in place of running ones.
void AnnealingLane::settle_best() {
  if (!best_ || settled_) return;
  settled_ = true;
  polished_.assign(best_->allocation);
  polished_.set_bar(std::numeric_limits<double>::infinity());
  polished_.clear_changed();
  break_ties(polished_, reference_ ? &*reference_ : nullptr);
  for (const std::uint32_t table : polished_.changed_tables()) {
    polished_.copy_table(table, best_->allocation);
    loads_.mark_changed(table);
  }
  polished_.recompute();
  best_->rating = polished_.max_load();
  best_->peak_hbm_bytes = polished_.peak_hbm();
}

void AnnealingLane::run(std::uint64_t work, double lower_bound, const Budget& budget) {
  const std::uint64_t end = annealer_.work() + work;
  while (annealer_.work() < end && !at_bound(lower_bound) && !budget.interrupted()) {
    if (steps_left_ == 0) begin_round(lower_bound);
    for (std::uint64_t i = 0; i < kBlock && steps_left_ > 0; ++i, --steps_left_) {
      annealer_.step(temperature_);
      if (loads_.all_good()) keep_best();
    }
    temperature_ *= cooling_;
    if (best_ && loads_.goal().target >= best_->rating) choose_target(lower_bound);
  }
  settle_best();
}

}  // namespace shardwright::embedding
