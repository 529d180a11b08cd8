#include "search/embedding/best/annealing_lane.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace shardwright::embedding {
namespace {

constexpr double kDecade = 10.0;

constexpr double kTinyTarget = 1e-300;  // keeps quotients finite
constexpr double kTinyGain = 1e-12;     // a temperature must not be zero

// The key of a lane's random sequence. Odd factors of random bits make the keys of neighbouring
// seeds and lanes differ.
std::uint64_t key_of(std::uint64_t seed, std::uint32_t lane) {
  constexpr std::uint64_t kSeedFactor = 0x9e3779b97f4a7c15ULL;
  constexpr std::uint64_t kLaneFactor = 0xd1342543de82ef95ULL;
  return seed * kSeedFactor + lane * kLaneFactor;
}

}  // namespace

double CoolingSchedule::start_of(const RoundShape& shape, RandomGenerator& random) const {
  const CoolingParameters& cooling = *parameters_;
  const double tables = static_cast<double>(shape.num_tables);
  const double decades =
      std::log10(static_cast<double>(steps_left_) / (cooling.free_steps_per_table * (tables + 1)));
  const double coolest = shape.squared ? cooling.squared_coolest : cooling.linear_coolest;
  const std::uint64_t melt_every = shape.num_tables < CoolingParameters::kFewTables
                                       ? CoolingParameters::kFewTablesMeltEvery
                                       : CoolingParameters::kMeltEvery;
  const bool melts = shape.uneven && shape.round % melt_every == 1 % melt_every;
  const double slow_hottest = shape.squared ? cooling.squared_hottest : cooling.linear_hottest;
  const double hottest =
      melts ? 0 : std::max(0.0, slow_hottest - cooling.heat_per_decade * decades);
  const double range = melts ? CoolingParameters::kMeltingRange : coolest - hottest;
  return shape.typical_gain * std::pow(kDecade, -hottest - range * random.fraction());
}

void CoolingSchedule::begin(const RoundShape& shape, RandomGenerator& random) {
  const CoolingParameters& cooling = *parameters_;
  const double growth =
      std::pow(cooling.growth,
               static_cast<double>(std::min(shape.round, CoolingParameters::kGrowingRounds)));
  const double tables = static_cast<double>(shape.num_tables);
  steps_left_ = static_cast<std::uint64_t>(
      growth * std::max(cooling.least_steps, cooling.steps_per_table * tables));
  temperature_ = start_of(shape, random);
  const std::uint64_t full_levels = steps_left_ / cooling.steps_per_temperature;
  const double levels = static_cast<double>(full_levels + 1);
  const double end = shape.squared ? cooling.squared_end : cooling.linear_end;
  factor_ = std::exp(std::log(std::min(end / temperature_, 1.0)) / levels);
}

AnnealingLane::AnnealingLane(const SearchContext& context, std::uint64_t seed, std::uint32_t lane,
                             const AnnealingParameters& parameters)
    : parameters_(parameters),
      context_(&context),
      lane_(lane),
      state_(context),
      incumbent_(context),
      annealer_(state_, key_of(seed, lane), parameters_.moves),
      restarts_(state_, annealer_, incumbent_, parameters_),
      cooling_(parameters_.cooling) {}

void AnnealingLane::offer(const RatedPlan& found) {
  if (incumbent_.offer(found, state_)) state_.set_bar(incumbent_.bar());
}

void AnnealingLane::keep() {
  constexpr std::uint64_t kPasses = 3;  // to compute the rating, the peak and the bar
  incumbent_.keep(state_);
  state_.set_bar(incumbent_.bar());
  annealer_.placer().spend(kPasses * state_.pass_work());
}

void AnnealingLane::settle(std::uint64_t most_work, const Budget& budget) {
  // The best allocation now differs from the state in these tables.
  for (const std::uint32_t table :
       incumbent_.settle(parameters_.methods.tie_breaking ? most_work : 0, budget))
    state_.mark_changed(table);
  annealer_.placer().spend(incumbent_.take_settling_work());
}

void AnnealingLane::choose_target(double lower_bound) {
  const TargetParameters& targets = parameters_.targets;
  RandomGenerator& random = annealer_.random();
  const double bound = std::max(lower_bound, context_->bound());
  const bool fitting = !incumbent_.exists();
  const double tries = static_cast<double>(std::min(rounds_, TargetParameters::kFittingRounds));
  const double best = fitting ? bound * (TargetParameters::kFittingTarget +
                                         TargetParameters::kFittingTargetGrowth * tries)
                              : incumbent_.rating();
  const double share = targets.target_shares[random.below(targets.target_shares.size())];
  const double target = best - share * std::max(best - bound, 0.0);
  const bool squared = (rounds_ + lane_) % 2 == 0;
  const double memory_weight =
      fitting ? std::pow(TargetParameters::kFittingWeightGrowth, tries) : targets.memory_weight;
  double rule_weight = memory_weight;
  if (context_->model().rules().any()) {
    const auto& weights = TargetParameters::kRuleWeights;
    rule_weight = fitting ? memory_weight + TargetParameters::kFittingRuleWeight
                          : weights[random.below(weights.size())];
  }
  state_.set_goal({target, target, memory_weight, squared, rule_weight});
}

// The mean energy that the shards of a table would add, each on a rank at the target.
double AnnealingLane::typical_gain() const {
  const ChoiceModel& model = context_->model();
  const bool squared = state_.goal().squared;
  const double target = std::max(state_.goal().target, kTinyTarget);
  double sum = 0;
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    for (const ChoiceRun& run : model.runs(state_.chosen(table)))
      sum += run.count * (squared ? run.load * run.load / target : run.load);
  }
  return std::max(sum / (target * static_cast<double>(model.num_tables() + 1)), kTinyGain);
}

Rank AnnealingLane::busiest_rank() const {
  const std::span<const RankLoad> ranks = state_.ranks();
  Rank busiest = 0;
  for (Rank rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank].load > ranks[busiest].load) busiest = rank;
  }
  return busiest;
}

// Repeatedly balances the busiest rank with another rank, because moves of single shards seldom
// find the last ten-thousandth of an even division.
void AnnealingLane::even_out(std::uint64_t work, const Budget& budget) {
  const auto size = static_cast<std::uint32_t>(state_.ranks().size());
  if (size < 2) return;
  StopCheck stopped(budget);
  const std::uint64_t begin = pair_balancer_.work();
  const std::uint64_t most_in_vain = std::uint64_t{parameters_.balance.vain_tries_per_rank} * size;
  Rank busiest = busiest_rank();
  std::uint64_t own_work = state_.pass_work();
  std::uint64_t in_vain = 0;
  const auto done = [&] { return pair_balancer_.work() - begin + own_work; };
  while (done() < work && in_vain < most_in_vain && !stopped(done())) {
    const Rank other = (busiest + 1 + annealer_.random().below(size - 1)) % size;
    ++own_work;
    ++in_vain;
    if (!pair_balancer_.improve(state_, busiest, other, annealer_.random())) continue;
    in_vain = 0;
    keep_if_good();
    busiest = busiest_rank();
    own_work += 2 * state_.pass_work();
  }
  annealer_.placer().spend(done());
}

// Leaves the first allocation of the round in the state. Sets `target` if it was made for a target.
// Returns false if the budget was interrupted before there was an allocation.
bool AnnealingLane::begin_allocation(double bound, double& target, const Budget& budget) {
  if (restarts_.begins_below(bound, lane_, rounds_))
    target = restarts_.construct_below(bound, budget);
  if (target > 0) {
    keep_if_good();
  } else if (!incumbent_.exists() || rounds_ == 0) {
    if (!restarts_.construct_first(bound, rounds_, budget)) return false;
    keep_if_good();
  } else if (annealer_.random().below(parameters_.restarts.keep_current_one_in) != 0) {
    state_.assign(incumbent_.best()->allocation);
    state_.clear_changed();
  } else {
    state_.recompute();
  }
  return true;
}

// With scarce memory, better allocations have choices slightly dearer than the cheapest choices.
// Without a limit, far dearer choices would get most draws.
void AnnealingLane::consider_choices() {
  if (!incumbent_.exists()) return annealer_.set_choices(std::numeric_limits<double>::max());
  const auto& parts = RestartParameters::kConsideredParts;
  const bool is_scarce = !(context_->prices() == MemoryPrices());
  const double part = is_scarce ? parts[annealer_.random().below(parts.size())] : 1;
  annealer_.set_choices(incumbent_.rating(), part);
}

bool AnnealingLane::begin_round(double lower_bound, const Budget& budget) {
  const double bound = std::max(lower_bound, context_->bound());
  const ChoiceModel& model = context_->model();
  double target = 0;
  if (!begin_allocation(bound, target, budget)) return false;
  choose_target(lower_bound);
  const double weight = RestartParameters::kTargetWeight;
  if (target > 0) state_.set_goal({target, target, weight, state_.goal().squared, weight});
  if (parameters_.methods.pair_balancing && incumbent_.exists() && rounds_ % 2 != 0)
    even_out(rounds_ * parameters_.balance.work_per_round, budget);
  consider_choices();
  const bool uneven = model.rules().any() || !model.time_scale().empty();
  cooling_.begin({rounds_, model.num_tables(), state_.goal().squared, uneven, typical_gain()},
                 annealer_.random());
  ++rounds_;
  // Passes over all ranks, and 1 / kPasses over all choices.
  constexpr std::uint64_t kPasses = 4;
  annealer_.placer().spend(kPasses * state_.pass_work() + model.choices().size() / kPasses);
  return true;
}

void AnnealingLane::run(std::uint64_t work, double lower_bound, const Budget& budget) {
  const std::uint64_t begin = annealer_.work();
  const std::uint64_t end = begin + work;
  StopCheck stopped(budget);
  while (annealer_.work() < end && !incumbent_.at_bound(lower_bound) && !stopped()) {
    const bool suggested = restarts_.has_suggestion() && incumbent_.exists();
    if ((cooling_.is_over() || suggested) && !begin_round(lower_bound, budget)) break;
    cooling_.run_level([&](double temperature) {
      annealer_.step(temperature);
      keep_if_good();
      return !stopped(annealer_.work());
    });
    if (incumbent_.exists() && state_.goal().target >= incumbent_.rating()) {
      choose_target(lower_bound);
      annealer_.placer().spend(state_.pass_work());
    }
  }
  settle(annealer_.work() - begin, budget);
}

}  // namespace shardwright::embedding
