#include "perf/parameters/best_parameter_list.h"

namespace shardwright::perf {
namespace {

using embedding::BestParameters;

// The effect of a ratio depends on its distance to 1, so that is scaled.
template <class Own>
using Group = ParameterGroup<BestParameters, Own>;

void add_pricing(std::vector<BestParameter>& all) {
  using Own = embedding::PricingParameters;
  const Group<Own> group(all, "pricing", [](BestParameters& best) -> Own& { return best.pricing; });
  group.add("coarse_steps", &Own::coarse_steps);
  group.add("fine_steps", &Own::fine_steps);
  group.add("price_growth", &Own::price_growth, Kind::kRatio);
  group.add("most_price_growths", &Own::most_price_growths);
  group.add("turns", &Own::turns);
  group.add("bound_growth", &Own::bound_growth, Kind::kRatio);
  group.add("bound_width", &Own::bound_width, Kind::kRatio);
  group.add("bound_steps", &Own::bound_steps);
  group.add("fills", &Own::fills, Kind::kRatio);
}

void add_lanes(std::vector<BestParameter>& all) {
  using Own = embedding::LaneParameters;
  const Group<Own> group(all, "lanes", [](BestParameters& best) -> Own& { return best.lanes; });
  group.add("annealing_lanes", &Own::annealing_lanes);
  group.add("neighbourhood_lanes", &Own::neighbourhood_lanes);
  group.add("first_round_work", &Own::first_round_work);
  group.add("most_round_work", &Own::most_round_work);
  group.add("proof_share", &Own::proof_share);
  group.add("settled_proof_share", &Own::settled_proof_share);
  group.add("calm_proof_share", &Own::calm_proof_share);
  group.add("calm_work", &Own::calm_work);
  group.add("alone_proof_share", &Own::alone_proof_share);
  group.add("behind_part", &Own::behind_part);
  group.add("stuck_work", &Own::stuck_work);
  group.add("suggestion_tries", &Own::suggestion_tries);
  group.add("most_suggestions", &Own::most_suggestions);
  group.add("progress", &Own::progress);
  group.add("last_parts", &Own::last_parts);
  group.add("last_progress", &Own::last_progress);
  group.add("nothing_better", &Own::nothing_better);
  group.add("recent_parts", &Own::recent_parts);
}

void add_moves(std::vector<BestParameter>& all) {
  using Own = embedding::MoveParameters;
  const Group<Own> group(all, "moves",
                         [](BestParameters& best) -> Own& { return best.annealing.moves; });
  group.add("few_ranks", &Own::few_ranks);
  group.add("sampled_ranks", &Own::sampled_ranks);
  group.add("full_scan_one_in", &Own::full_scan_one_in);
  group.add("loaded_rank_tournament", &Own::loaded_rank_tournament);
  group.add("target_tournament", &Own::target_tournament);
  group.add("choice_sixteenths", &Own::choice_sixteenths);
  group.add("shift_sixteenths", &Own::shift_sixteenths);
  group.add("swap_sixteenths", &Own::swap_sixteenths);
  group.add("longest_chain", &Own::longest_chain);
  group.add("long_chain_one_in", &Own::long_chain_one_in);
  group.add("whole_place_one_in", &Own::whole_place_one_in);
  group.add("unit_tries", &Own::unit_tries);
}

void add_cooling(std::vector<BestParameter>& all) {
  using Own = embedding::CoolingParameters;
  const Group<Own> group(all, "cooling",
                         [](BestParameters& best) -> Own& { return best.annealing.cooling; });
  group.add("steps_per_temperature", &Own::steps_per_temperature);
  group.add("least_steps", &Own::least_steps);
  group.add("steps_per_table", &Own::steps_per_table);
  group.add("growth", &Own::growth, Kind::kRatio);
  group.add("growing_rounds", &Own::growing_rounds);
  group.add("squared_hottest", &Own::squared_hottest);
  group.add("squared_coolest", &Own::squared_coolest);
  group.add("squared_end", &Own::squared_end);
  group.add("linear_hottest", &Own::linear_hottest);
  group.add("linear_coolest", &Own::linear_coolest);
  group.add("linear_end", &Own::linear_end);
  group.add("heat_per_decade", &Own::heat_per_decade);
  group.add("free_steps_per_table", &Own::free_steps_per_table);
  group.add("few_tables", &Own::few_tables);
  group.add("few_tables_melt_every", &Own::few_tables_melt_every);
  group.add("melt_every", &Own::melt_every);
  group.add("melting_range", &Own::melting_range);
}

void add_targets(std::vector<BestParameter>& all) {
  using Own = embedding::TargetParameters;
  const Group<Own> group(all, "targets",
                         [](BestParameters& best) -> Own& { return best.annealing.targets; });
  group.add("target_shares", &Own::target_shares);
  group.add("memory_weight", &Own::memory_weight);
  group.add("rule_weights", &Own::rule_weights);
  group.add("fitting_target", &Own::fitting_target, Kind::kRatio);
  group.add("fitting_target_growth", &Own::fitting_target_growth);
  group.add("fitting_weight_growth", &Own::fitting_weight_growth, Kind::kRatio);
  group.add("fitting_rounds", &Own::fitting_rounds);
  group.add("fitting_rule_weight", &Own::fitting_rule_weight);
}

void add_restarts(std::vector<BestParameter>& all) {
  using Own = embedding::RestartParameters;
  const Group<Own> group(all, "restarts",
                         [](BestParameters& best) -> Own& { return best.annealing.restarts; });
  group.add("shard_limits", &Own::shard_limits);
  group.add("coarse_excess", &Own::coarse_excess, Kind::kRatio);
  group.add("most_single_factor", &Own::most_single_factor, Kind::kRatio);
  group.add("single_factor_steps", &Own::single_factor_steps);
  group.add("price_step", &Own::price_step);
  group.add("first_price_steps", &Own::first_price_steps);
  group.add("price_steps", &Own::price_steps);
  group.add("memory_weight", &Own::memory_weight);
  group.add("rule_weight", &Own::rule_weight);
  group.add("mendable_memory_weight", &Own::mendable_memory_weight);
  group.add("keep_current_one_in", &Own::keep_current_one_in);
  group.add("anew_least", &Own::anew_least, Kind::kRatio);
  group.add("anew_most", &Own::anew_most, Kind::kRatio);
  group.add("anew_every", &Own::anew_every);
  group.add("anew_shares", &Own::anew_shares);
  group.add("far", &Own::far, Kind::kRatio);
  group.add("near", &Own::near, Kind::kRatio);
  group.add("far_one_in", &Own::far_one_in);
  group.add("near_one_in", &Own::near_one_in);
  group.add("nearest", &Own::nearest, Kind::kRatio);
  group.add("drawn_one_in", &Own::drawn_one_in);
  group.add("drawn_excess", &Own::drawn_excess);
  group.add("drawn_steps", &Own::drawn_steps);
  group.add("annealed_least", &Own::annealed_least, Kind::kRatio);
  group.add("annealed_one_in", &Own::annealed_one_in);
  group.add("reach_spread", &Own::reach_spread);
  group.add("considered_parts", &Own::considered_parts);
  group.add("first_target_tries", &Own::first_target_tries);
  group.add("target_tries", &Own::target_tries);
  group.add("least_target", &Own::least_target);
  group.add("target_price_spread", &Own::target_price_spread);
  group.add("target_weight", &Own::target_weight);
  group.add("work_per_choice", &Own::work_per_choice);
}

void add_choices(std::vector<BestParameter>& all) {
  using Own = embedding::ChoiceAnnealingParameters;
  const Group<Own> group(all, "choices",
                         [](BestParameters& best) -> Own& { return best.annealing.choices; });
  group.add("moves_per_table", &Own::moves_per_table);
  group.add("least_moves_per_table", &Own::least_moves_per_table);
  group.add("most_work", &Own::most_work);
  group.add("hottest", &Own::hottest);
  group.add("coldest", &Own::coldest);
  group.add("memory_weight", &Own::memory_weight);
  group.add("pair_part", &Own::pair_part);
  group.add("moved_part", &Own::moved_part);
  group.add("best_part", &Own::best_part);
}

void add_balance(std::vector<BestParameter>& all) {
  using Own = embedding::BalanceParameters;
  const Group<Own> group(all, "balance",
                         [](BestParameters& best) -> Own& { return best.annealing.balance; });
  group.add("subsets", &Own::subsets);
  group.add("work_per_round", &Own::work_per_round);
  group.add("vain_tries_per_rank", &Own::vain_tries_per_rank);
}

void add_construct(std::vector<BestParameter>& all) {
  using Own = embedding::ConstructParameters;
  const Group<Own> group(all, "construct",
                         [](BestParameters& best) -> Own& { return best.annealing.construct; });
  group.add("scarce_fill", &Own::scarce_fill);
  group.add("ranks_per_block", &Own::ranks_per_block);
  group.add("most_agreement_rounds", &Own::most_agreement_rounds);
  group.add("price_steps", &Own::price_steps);
}

void add_neighbourhoods(std::vector<BestParameter>& all) {
  using Own = embedding::NeighbourhoodParameters;
  const Group<Own> group(all, "neighbourhoods",
                         [](BestParameters& best) -> Own& { return best.neighbourhoods; });
  group.add("most_whole_tables", &Own::most_whole_tables);
  group.add("first_whole_work", &Own::first_whole_work);
  group.add("last_whole_work", &Own::last_whole_work);
  group.add("whole_work_growth", &Own::whole_work_growth, Kind::kRatio);
  group.add("step_work", &Own::step_work);
  group.add("items_with_choices", &Own::items_with_choices);
  group.add("items_placed", &Own::items_placed);
  group.add("least_window", &Own::least_window);
  group.add("window_spread", &Own::window_spread);
  group.add("on_host_one_in", &Own::on_host_one_in);
  group.add("window_draws", &Own::window_draws);
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
  add_choices(all);
  add_balance(all);
  add_construct(all);
  add_neighbourhoods(all);
  return all;
}

}  // namespace shardwright::perf
