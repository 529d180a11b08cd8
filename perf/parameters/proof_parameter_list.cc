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
}

void add_rank_classes(std::vector<ProofParameter>& all) {
  using Own = embedding::RankClassParameters;
  const Group<Own> group(all, "rank_classes",
                         [](BoundParameters& root) -> Own& { return root.classes; });
  group.add("max_hosts", &Own::max_hosts);
}

void add_aggregate(std::vector<ProofParameter>& all) {
  using Own = embedding::AggregateParameters;
  const Group<Own> group(all, "aggregate",
                         [](BoundParameters& root) -> Own& { return root.aggregate; });
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
  group.add("good_enough", &Own::good_enough);
  group.add("max_easy_steps", &Own::max_easy_steps);
  group.add("multiplier_bisections", &Own::multiplier_bisections);
  group.add("hbm_sections", &Own::hbm_sections);
  group.add("pairs_per_step", &Own::pairs_per_step);
  group.add("other_relaxations", &Own::other_relaxations, Kind::kRatio);
}

void add_columns(std::vector<ProofParameter>& all) {
  using Own = embedding::ColumnGenerationParameters;
  const Group<Own> group(all, "columns",
                         [](BoundParameters& root) -> Own& { return root.columns; });
  group.add("pivot_steps", &Own::pivot_steps);
  group.add("min_share", &Own::min_share);
}

void add_branching(std::vector<ProofParameter>& all) {
  using Own = embedding::BranchingParameters;
  const Group<Own> group(all, "branching",
                         [](BoundParameters& root) -> Own& { return root.branching; });
  group.add("min_share", &Own::min_share);
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
}

void add_rounding(std::vector<ProofParameter>& all) {
  using Own = embedding::RoundingParameters;
  const Group<Own> group(all, "rounding",
                         [](BoundParameters& root) -> Own& { return root.rounding; });
  group.add("most_work", &Own::most_work);
  group.add("pivot_steps", &Own::pivot_steps);
}

void add_node_search(std::vector<ProofParameter>& all) {
  using Own = embedding::NodeSearchParameters;
  const Group<Own> group(all, "node_search",
                         [](BoundParameters& root) -> Own& { return root.search; });
  group.add("first_root_steps", &Own::first_root_steps);
  group.add("root_steps_growth", &Own::root_steps_growth);
  group.add("most_tiny_cells", &Own::most_tiny_cells);
  group.add("most_root_cells", &Own::most_root_cells);
  group.add("proof_steps", &Own::proof_steps);
  group.add("step_work", &Own::step_work);
}

void add_bound_targets(std::vector<ProofParameter>& all) {
  using Own = embedding::BoundTargetParameters;
  const Group<Own> group(all, "bound_targets",
                         [](BoundParameters& root) -> Own& { return root.targets; });
  group.add("light_trees", &Own::light_trees);
  group.add("light_work", &Own::light_work);
  group.add("root_step", &Own::root_step);
  group.add("goal_in_gap", &Own::goal_in_gap);
  group.add("root_work", &Own::root_work);
  group.add("light_extension", &Own::light_extension);
  group.add("tree_lanes", &Own::tree_lanes);
  group.add("alone_work", &Own::alone_work);
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
  add_uniform(all);
  add_rounding(all);
  add_node_search(all);
  add_bound_targets(all);
  return all;
}

}  // namespace shardwright::perf
