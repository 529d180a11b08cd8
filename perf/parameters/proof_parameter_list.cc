#include "perf/parameters/proof_parameter_list.h"

namespace shardwright::perf {
namespace {

using embedding::BoundParameters;

template <class Own>
using Group = ParameterGroup<BoundParameters, Own>;

void add_whole(std::vector<ProofParameter>& all) {
  using Own = embedding::BoundParameters;
  const Group<Own> group(all, "proof", [](BoundParameters& root) -> Own& { return root; });
  group.add("optimality_gap", &Own::optimality_gap);
  group.add("max_master_rows", &Own::max_master_rows);
  group.add("rating_fall", &Own::rating_fall);
}

void add_rank_classes(std::vector<ProofParameter>& all) {
  using Own = embedding::RankClassParameters;
  const Group<Own> group(all, "rank_classes",
                         [](BoundParameters& root) -> Own& { return root.classes; });
  group.add("max_kinds", &Own::max_kinds);
  group.add("max_classes", &Own::max_classes);
  group.add("max_hosts", &Own::max_hosts);
  group.add("max_apart", &Own::max_apart);
  group.add("load_difference", &Own::load_difference);
}

void add_aggregate(std::vector<ProofParameter>& all) {
  using Own = embedding::AggregateParameters;
  const Group<Own> group(all, "aggregate",
                         [](BoundParameters& root) -> Own& { return root.aggregate; });
  group.add("max_rounds", &Own::max_rounds);
  group.add("program_steps", &Own::program_steps);
  group.add("new_program_steps", &Own::new_program_steps);
  group.add("max_reductions", &Own::max_reductions);
  group.add("gap", &Own::gap);
  group.add("max_multiplier", &Own::max_multiplier);
}

void add_knapsack(std::vector<ProofParameter>& all) {
  using Own = embedding::KnapsackParameters;
  const Group<Own> group(all, "knapsack",
                         [](BoundParameters& root) -> Own& { return root.pricing; });
  group.add("beam_width", &Own::beam_width);
  group.add("max_labels_of_first_half", &Own::max_labels_of_first_half);
  group.add("max_labels", &Own::max_labels);
  group.add("rounding_units", &Own::rounding_units);
  group.add("good_enough", &Own::good_enough);
  group.add("max_easy_steps", &Own::max_easy_steps);
  group.add("max_comparisons", &Own::max_comparisons);
  group.add("multiplier_bisections", &Own::multiplier_bisections);
  group.add("hbm_sections", &Own::hbm_sections);
  group.add("pairs_per_step", &Own::pairs_per_step);
  group.add("label_work", &Own::label_work);
  group.add("other_relaxations", &Own::other_relaxations, Kind::kRatio);
}

void add_columns(std::vector<ProofParameter>& all) {
  using Own = embedding::ColumnGenerationParameters;
  const Group<Own> group(all, "columns",
                         [](BoundParameters& root) -> Own& { return root.columns; });
  group.add("margin", &Own::margin);
  group.add("feasible_excess", &Own::feasible_excess);
  group.add("min_relative_gain", &Own::min_relative_gain);
  group.add("min_gain", &Own::min_gain);
  group.add("center_share", &Own::center_share);
  group.add("pivot_steps", &Own::pivot_steps);
  group.add("max_pivot_size_steps", &Own::max_pivot_size_steps);
  group.add("factor_square_steps", &Own::factor_square_steps);
  group.add("factor_cube_steps", &Own::factor_cube_steps);
  group.add("max_factor_steps", &Own::max_factor_steps);
  group.add("max_known_patterns", &Own::max_known_patterns);
  group.add("min_share", &Own::min_share);
}

void add_branching(std::vector<ProofParameter>& all) {
  using Own = embedding::BranchingParameters;
  const Group<Own> group(all, "branching",
                         [](BoundParameters& root) -> Own& { return root.branching; });
  group.add("min_separation", &Own::min_separation);
  group.add("large_separation", &Own::large_separation);
  group.add("pinned_separation", &Own::pinned_separation);
  group.add("light_separation", &Own::light_separation);
  group.add("size_exponent", &Own::size_exponent);
  group.add("min_part", &Own::min_part);
  group.add("min_share", &Own::min_share);
  group.add("whole_width", &Own::whole_width);
}

void add_uniform(std::vector<ProofParameter>& all) {
  using Own = embedding::UniformTreeParameters;
  const Group<Own> group(all, "uniform",
                         [](BoundParameters& root) -> Own& { return root.uniform; });
  group.add("work", &Own::work);
  group.add("work_growth", &Own::work_growth);
  group.add("most_work", &Own::most_work);
  group.add("most_cut_short", &Own::most_cut_short);
  group.add("suggestions", &Own::suggestions);
  group.add("node_work", &Own::node_work);
  group.add("least_width", &Own::least_width);
  group.add("least_stuck_width", &Own::least_stuck_width);
  group.add("fullness", &Own::fullness);
}

void add_rounding(std::vector<ProofParameter>& all) {
  using Own = embedding::RoundingParameters;
  const Group<Own> group(all, "rounding",
                         [](BoundParameters& root) -> Own& { return root.rounding; });
  group.add("tries", &Own::tries);
  group.add("most_work", &Own::most_work);
  group.add("parts_of_work", &Own::parts_of_work);
  group.add("most_unplaced", &Own::most_unplaced);
  group.add("pricing_rounds", &Own::pricing_rounds);
  group.add("most_pricing_work", &Own::most_pricing_work);
  group.add("pivot_steps", &Own::pivot_steps);
  group.add("pivot_size_steps", &Own::pivot_size_steps);
  group.add("solve_steps", &Own::solve_steps);
}

void add_coarse(std::vector<ProofParameter>& all) {
  using Own = embedding::CoarseParameters;
  const Group<Own> group(all, "coarse", [](BoundParameters& root) -> Own& { return root.coarse; });
  group.add("most_step", &Own::most_step);
  group.add("least_step", &Own::least_step);
  group.add("most_kinds", &Own::most_kinds);
  group.add("least_tables_of_kind", &Own::least_tables_of_kind);
  group.add("least_kinds", &Own::least_kinds);
  group.add("work", &Own::work);
  group.add("most_failures", &Own::most_failures);
  group.add("near", &Own::near);
  group.add("most_gap", &Own::most_gap);
  group.add("rating_fall", &Own::rating_fall);
  group.add("choice_steps", &Own::choice_steps);
}

void add_ranks(std::vector<ProofParameter>& all) {
  using Own = embedding::RankTreeParameters;
  const Group<Own> group(all, "ranks", [](BoundParameters& root) -> Own& { return root.ranks; });
  group.add("most_cells", &Own::most_cells);
  group.add("least_extra", &Own::least_extra);
  group.add("max_nodes", &Own::max_nodes);
  group.add("most_check_steps", &Own::most_check_steps);
  group.add("most_goal_check_steps", &Own::most_goal_check_steps);
  group.add("lanes", &Own::lanes);
  group.add("dealt_nodes", &Own::dealt_nodes);
  group.add("max_reductions", &Own::max_reductions);
  group.add("most_tried", &Own::most_tried);
  group.add("look_ahead", &Own::look_ahead);
  group.add("reliable_tries", &Own::reliable_tries);
  group.add("first_gain", &Own::first_gain);
  group.add("least_gain", &Own::least_gain);
  group.add("size_weight", &Own::size_weight);
  group.add("replant_fall", &Own::replant_fall);
  group.add("trial_nodes", &Own::trial_nodes);
  group.add("least_part", &Own::least_part);
  group.add("least_step", &Own::least_step);
  group.add("nodes_per_plan", &Own::nodes_per_plan);
  group.add("plan_steps", &Own::plan_steps);
  group.add("leaf_search_steps", &Own::leaf_search_steps);
  group.add("first_searched_bits", &Own::first_searched_bits);
  group.add("first_bits_fall", &Own::first_bits_fall);
  group.add("search_step_work", &Own::search_step_work);
  group.add("pivot_steps", &Own::pivot_steps);
  group.add("pivot_size_steps", &Own::pivot_size_steps);
  group.add("solve_steps", &Own::solve_steps);
  group.add("solve_size_steps", &Own::solve_size_steps);
}

void add_pins(std::vector<ProofParameter>& all) {
  using Own = embedding::PinParameters;
  const Group<Own> group(all, "pins", [](BoundParameters& root) -> Own& { return root.pins; });
  group.add("most_pins", &Own::most_pins);
  group.add("least_gain", &Own::least_gain);
}

void add_node_search(std::vector<ProofParameter>& all) {
  using Own = embedding::NodeSearchParameters;
  const Group<Own> group(all, "node_search",
                         [](BoundParameters& root) -> Own& { return root.search; });
  group.add("early_root_steps", &Own::early_root_steps);
  group.add("root_steps", &Own::root_steps);
  group.add("first_root_steps", &Own::first_root_steps);
  group.add("root_steps_growth", &Own::root_steps_growth);
  group.add("root_target_step", &Own::root_target_step);
  group.add("most_root_cells", &Own::most_root_cells);
  group.add("leaf_steps", &Own::leaf_steps);
  group.add("least_leaf_steps", &Own::least_leaf_steps);
  group.add("node_steps", &Own::node_steps);
  group.add("most_node_steps", &Own::most_node_steps);
  group.add("least_node_steps", &Own::least_node_steps);
  group.add("proof_steps", &Own::proof_steps);
  group.add("step_work", &Own::step_work);
  group.add("steps_between_pauses", &Own::steps_between_pauses);
  group.add("most_cells", &Own::most_cells);
}

void add_bound_targets(std::vector<ProofParameter>& all) {
  using Own = embedding::BoundTargetParameters;
  const Group<Own> group(all, "bound_targets",
                         [](BoundParameters& root) -> Own& { return root.targets; });
  group.add("early_tree_work", &Own::early_tree_work);
  group.add("light_trees", &Own::light_trees);
  group.add("light_work", &Own::light_work);
  group.add("root_step", &Own::root_step);
  group.add("tree_step", &Own::tree_step);
  group.add("cut_tree_step", &Own::cut_tree_step);
  group.add("goal_in_gap", &Own::goal_in_gap);
  group.add("root_work", &Own::root_work);
  group.add("root_work_growth", &Own::root_work_growth, Kind::kRatio);
  group.add("max_root_work", &Own::max_root_work);
  group.add("node_work", &Own::node_work);
  group.add("tree_work", &Own::tree_work);
  group.add("tree_work_growth", &Own::tree_work_growth, Kind::kRatio);
  group.add("max_tree_work", &Own::max_tree_work);
  group.add("closed_part", &Own::closed_part);
  group.add("most_extension", &Own::most_extension);
  group.add("light_extension", &Own::light_extension);
  group.add("lower_tree_part", &Own::lower_tree_part);
  group.add("tree_lanes", &Own::tree_lanes);
  group.add("alone_work", &Own::alone_work);
  group.add("max_nodes", &Own::max_nodes);
}

}  // namespace

std::vector<ProofParameter> proof_parameters() {
  std::vector<ProofParameter> all;
  add_whole(all);
  add_rank_classes(all);
  add_aggregate(all);
  add_knapsack(all);
  add_columns(all);
  add_branching(all);
  add_pins(all);
  add_uniform(all);
  add_rounding(all);
  add_coarse(all);
  add_ranks(all);
  add_node_search(all);
  add_bound_targets(all);
  return all;
}

}  // namespace shardwright::perf
