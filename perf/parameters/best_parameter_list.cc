#include "perf/parameters/best_parameter_list.h"

namespace shardwright::perf {
namespace {

using embedding::BestParameters;

// Members of kind kRatio are scaled by their distance to 1, because their effect depends on it.
template <class Own>
using Group = ParameterGroup<BestParameters, Own>;

void add_pricing(std::vector<BestParameter>& all) {
  using Own = embedding::PricingParameters;
  const Group<Own> group(all, "pricing", [](BestParameters& best) -> Own& { return best.pricing; });
  group.add("price_growth", &Own::price_growth, Kind::kRatio);
  group.add("bound_width", &Own::bound_width, Kind::kRatio);
  group.add("bound_steps", &Own::bound_steps);
}

void add_lanes(std::vector<BestParameter>& all) {
  using Own = embedding::LaneParameters;
  const Group<Own> group(all, "lanes", [](BestParameters& best) -> Own& { return best.lanes; });
  group.add("annealing_lanes", &Own::annealing_lanes);
  group.add("calm_work", &Own::calm_work);
  group.add("stuck_work", &Own::stuck_work);
  group.add("suggestion_tries", &Own::suggestion_tries);
  group.add("most_suggestions", &Own::most_suggestions);
  group.add("last_progress", &Own::last_progress);
  group.add("recent_parts", &Own::recent_parts);
}

void add_moves(std::vector<BestParameter>& all) {
  using Own = embedding::MoveParameters;
  const Group<Own> group(all, "moves",
                         [](BestParameters& best) -> Own& { return best.annealing.moves; });
  group.add("loaded_rank_tournament", &Own::loaded_rank_tournament);
  group.add("target_tournament", &Own::target_tournament);
  group.add("choice_sixteenths", &Own::choice_sixteenths);
  group.add("shift_sixteenths", &Own::shift_sixteenths);
  group.add("swap_sixteenths", &Own::swap_sixteenths);
  group.add("longest_chain", &Own::longest_chain);
  group.add("long_chain_one_in", &Own::long_chain_one_in);
}

void add_cooling(std::vector<BestParameter>& all) {
  using Own = embedding::CoolingParameters;
  const Group<Own> group(all, "cooling",
                         [](BestParameters& best) -> Own& { return best.annealing.cooling; });
  group.add("steps_per_temperature", &Own::steps_per_temperature);
  group.add("least_steps", &Own::least_steps);
  group.add("steps_per_table", &Own::steps_per_table);
  group.add("growth", &Own::growth, Kind::kRatio);
  group.add("squared_hottest", &Own::squared_hottest);
  group.add("squared_coolest", &Own::squared_coolest);
  group.add("squared_end", &Own::squared_end);
  group.add("linear_hottest", &Own::linear_hottest);
  group.add("linear_coolest", &Own::linear_coolest);
  group.add("linear_end", &Own::linear_end);
  group.add("heat_per_decade", &Own::heat_per_decade);
  group.add("free_steps_per_table", &Own::free_steps_per_table);
}

void add_targets(std::vector<BestParameter>& all) {
  using Own = embedding::TargetParameters;
  const Group<Own> group(all, "targets",
                         [](BestParameters& best) -> Own& { return best.annealing.targets; });
  group.add("target_shares", &Own::target_shares);
  group.add("memory_weight", &Own::memory_weight);
}

void add_restarts(std::vector<BestParameter>& all) {
  using Own = embedding::RestartParameters;
  const Group<Own> group(all, "restarts",
                         [](BestParameters& best) -> Own& { return best.annealing.restarts; });
  group.add("shard_limits", &Own::shard_limits);
  group.add("price_step", &Own::price_step);
  group.add("first_price_steps", &Own::first_price_steps);
  group.add("memory_weight", &Own::memory_weight);
  group.add("keep_current_one_in", &Own::keep_current_one_in);
  group.add("near", &Own::near, Kind::kRatio);
}

void add_balance(std::vector<BestParameter>& all) {
  using Own = embedding::BalanceParameters;
  const Group<Own> group(all, "balance",
                         [](BestParameters& best) -> Own& { return best.annealing.balance; });
  group.add("work_per_round", &Own::work_per_round);
  group.add("vain_tries_per_rank", &Own::vain_tries_per_rank);
}

void add_construct(std::vector<BestParameter>& all) {
  using Own = embedding::ConstructParameters;
  const Group<Own> group(all, "construct",
                         [](BestParameters& best) -> Own& { return best.annealing.construct; });
  group.add("scarce_fill", &Own::scarce_fill);
}

}  // namespace

std::vector<BestParameter> best_parameters() {
  std::vector<BestParameter> all;
  add_pricing(all);
  add_lanes(all);
  add_moves(all);
  add_cooling(all);
  add_targets(all);
  add_restarts(all);
  add_balance(all);
  add_construct(all);
  return all;
}

}  // namespace shardwright::perf
