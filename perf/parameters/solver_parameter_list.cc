#include "perf/parameters/solver_parameter_list.h"

namespace shardwright::perf {
namespace {

using operators::SolverParameters;

template <class Own>
using Group = ParameterGroup<SolverParameters, Own>;

void add_stages(std::vector<SolverParameter>& all) {
  using Own = operators::StageParameters;
  const Group<Own> group(all, "stages",
                         [](SolverParameters& solver) -> Own& { return solver.stages; });
  group.add("most_table_entries", &Own::most_table_entries);
  group.add("most_labels", &Own::most_labels);
  group.add("most_branched_strategies", &Own::most_branched_strategies);
  group.add("descent_passes", &Own::descent_passes);
  group.add("most_rounds", &Own::most_rounds);
  group.add("sweeps", &Own::sweeps);
  group.add("stretch", &Own::stretch);
  group.add("progress", &Own::progress);
  group.add("most_relaxation_work", &Own::most_relaxation_work);
  group.add("least_rounds", &Own::least_rounds);
  group.add("ascent_share", &Own::ascent_share);
  group.add("last_stretch", &Own::last_stretch);
  group.add("last_progress", &Own::last_progress);
  group.add("suggested_progress", &Own::suggested_progress);
  group.add("blind_target", &Own::blind_target);
  group.add("patience", &Own::patience);
}

void add_reduce(std::vector<SolverParameter>& all) {
  using Own = operators::ReduceParameters;
  const Group<Own> group(all, "reduce",
                         [](SolverParameters& solver) -> Own& { return solver.reduce; });
  group.add("most_merged_entries", &Own::most_merged_entries);
  group.add("most_fill", &Own::most_fill);
  group.add("fill_growth", &Own::fill_growth);
}

void add_order(std::vector<SolverParameter>& all) {
  using Own = operators::TableOrderParameters;
  const Group<Own> group(all, "order",
                         [](SolverParameters& solver) -> Own& { return solver.order; });
  group.add("fill_weight", &Own::fill_weight);
  group.add("most_work", &Own::most_work);
  group.add("work_per_node", &Own::work_per_node);
}

void add_memory_prices(std::vector<SolverParameter>& all) {
  using Own = operators::MemoryPriceParameters;
  const Group<Own> group(all, "memory_prices", [](SolverParameters& solver) -> Own& {
    return solver.exact.memory_prices;
  });
  group.add("most_single_steps", &Own::most_single_steps);
  group.add("first_price", &Own::first_price);
  group.add("price_growth", &Own::price_growth, Kind::kRatio);
  group.add("known_price_step", &Own::known_price_step, Kind::kRatio);
  group.add("most_steps", &Own::most_steps);
  group.add("stretch", &Own::stretch);
  group.add("progress", &Own::progress);
  group.add("blind_target", &Own::blind_target);
}

void add_counts(std::vector<SolverParameter>& all) {
  using Own = operators::CountParameters;
  const Group<Own> group(all, "counts",
                         [](SolverParameters& solver) -> Own& { return solver.exact.counts; });
  group.add("most_parts", &Own::most_parts);
  group.add("first_labels", &Own::first_labels);
  group.add("least_gain", &Own::least_gain);
  group.add("labels_growth", &Own::labels_growth);
  group.add("first_step", &Own::first_step);
}

void add_labels(std::vector<SolverParameter>& all) {
  using Own = operators::LabelParameters;
  const Group<Own> group(all, "labels",
                         [](SolverParameters& solver) -> Own& { return solver.exact.labels; });
  group.add("comparisons_per_combination", &Own::comparisons_per_combination);
  group.add("combinations_per_label", &Own::combinations_per_label);
  group.add("first_step_parts", &Own::first_step_parts);
  group.add("step_growth", &Own::step_growth, Kind::kRatio);
}

void add_dual(std::vector<SolverParameter>& all) {
  using Own = operators::DualAscentParameters;
  const Group<Own> group(all, "dual", [](SolverParameters& solver) -> Own& { return solver.dual; });
  group.add("first_sweeps", &Own::first_sweeps);
  group.add("spoiled", &Own::spoiled);
}

void add_price_bundle(std::vector<SolverParameter>& all) {
  using Own = operators::PriceBundleParameters;
  const Group<Own> group(all, "price_bundle",
                         [](SolverParameters& solver) -> Own& { return solver.dual.bundle; });
  group.add("most_lines", &Own::most_lines);
  group.add("first_step", &Own::first_step);
  group.add("step_growth", &Own::step_growth, Kind::kRatio);
  group.add("enough_gain", &Own::enough_gain);
  group.add("large_step_decay", &Own::large_step_decay, Kind::kRatio);
  group.add("step_decay", &Own::step_decay, Kind::kRatio);
  group.add("patience", &Own::patience);
  group.add("least_gain", &Own::least_gain);
  group.add("stretches", &Own::stretches);
  group.add("forget_after", &Own::forget_after);
  group.add("most_exchanges", &Own::most_exchanges);
}

void add_branch(std::vector<SolverParameter>& all) {
  using Own = operators::BranchParameters;
  const Group<Own> group(all, "branch",
                         [](SolverParameters& solver) -> Own& { return solver.branch; });
  group.add("batch", &Own::batch);
  group.add("most_table_entries", &Own::most_table_entries);
  group.add("most_labels", &Own::most_labels);
  group.add("most_rounds", &Own::most_rounds);
  group.add("sweeps", &Own::sweeps);
  group.add("stretch", &Own::stretch);
  group.add("progress", &Own::progress);
  group.add("blind_target", &Own::blind_target);
  group.add("reduce_again_one_in", &Own::reduce_again_one_in);
  group.add("near_share", &Own::near_share);
}

void add_feasible(std::vector<SolverParameter>& all) {
  using Own = operators::FeasibleParameters;
  const Group<Own> group(all, "feasible",
                         [](SolverParameters& solver) -> Own& { return solver.feasible; });
  group.add("most_rounds", &Own::most_rounds);
  group.add("most_restarts", &Own::most_restarts);
  group.add("steered_restarts", &Own::steered_restarts);
  group.add("most_trials", &Own::most_trials);
  group.add("fill_power", &Own::fill_power);
  group.add("least_fill", &Own::least_fill);
  group.add("least_weight", &Own::least_weight);
}

void add_local(std::vector<SolverParameter>& all) {
  using Own = operators::LocalSearchParameters;
  const Group<Own> group(all, "local",
                         [](SolverParameters& solver) -> Own& { return solver.local; });
  group.add("blocks_per_batch", &Own::blocks_per_batch);
  group.add("strict_passes", &Own::strict_passes);
  group.add("progress", &Own::progress);
}

void add_arms(std::vector<SolverParameter>& all) {
  using Own = operators::ArmParameters;
  const Group<Own> group(all, "arms",
                         [](SolverParameters& solver) -> Own& { return solver.local.arms; });
  group.add("sizes", &Own::sizes);
  group.add("largest_ball", &Own::largest_ball);
  group.add("follow_size", &Own::follow_size);
  group.add("stiff_sizes", &Own::stiff_sizes);
  group.add("table", &Own::table);
  group.add("large_table", &Own::large_table);
  group.add("fade", &Own::fade, Kind::kRatio);
  group.add("least_share", &Own::least_share);
  group.add("forgotten", &Own::forgotten);
}

void add_relaxation(std::vector<SolverParameter>& all) {
  using Own = operators::RelaxationParameters;
  const Group<Own> group(all, "relaxation",
                         [](SolverParameters& solver) -> Own& { return solver.local.relaxation; });
  group.add("first_steps", &Own::first_steps);
  group.add("first_sizes", &Own::first_sizes);
  group.add("later_steps", &Own::later_steps);
  group.add("later_sizes", &Own::later_sizes);
  group.add("decay", &Own::decay, Kind::kRatio);
  group.add("suggested_steps", &Own::suggested_steps);
  group.add("suggested_size", &Own::suggested_size);
  group.add("give_up", &Own::give_up, Kind::kRatio);
}

void add_prices(std::vector<SolverParameter>& all) {
  using Own = operators::PriceParameters;
  const Group<Own> group(all, "prices",
                         [](SolverParameters& solver) -> Own& { return solver.local.prices; });
  group.add("raise_of_own", &Own::raise_of_own);
  group.add("raise_of_largest", &Own::raise_of_largest);
  group.add("blocked_step", &Own::blocked_step);
  group.add("room", &Own::room);
  group.add("decay", &Own::decay, Kind::kRatio);
}

void add_blocks(std::vector<SolverParameter>& all) {
  using Own = operators::BlockSolverParameters;
  const Group<Own> group(
      all, "blocks", [](SolverParameters& solver) -> Own& { return solver.local.blocks.solver; });
  group.add("most_attempts", &Own::most_attempts);
  group.add("overshoot", &Own::overshoot, Kind::kRatio);
  group.add("draws", &Own::draws);
}

void add_picker(std::vector<SolverParameter>& all) {
  using Own = operators::BlockPickerParameters;
  const Group<Own> group(
      all, "picker", [](SolverParameters& solver) -> Own& { return solver.local.blocks.picker; });
  group.add("frontier_width", &Own::frontier_width);
  group.add("fill_reach", &Own::fill_reach);
  group.add("holder_balls", &Own::holder_balls);
  group.add("least_holder_ball", &Own::least_holder_ball);
  group.add("holder_tries_per_node", &Own::holder_tries_per_node);
  group.add("start_draw_powers", &Own::start_draw_powers);
  group.add("most_followers", &Own::most_followers);
}

}  // namespace

std::vector<SolverParameter> solver_parameters() {
  std::vector<SolverParameter> all;
  add_stages(all);
  add_reduce(all);
  add_order(all);
  add_memory_prices(all);
  add_counts(all);
  add_labels(all);
  add_dual(all);
  add_price_bundle(all);
  add_branch(all);
  add_feasible(all);
  add_local(all);
  add_arms(all);
  add_relaxation(all);
  add_prices(all);
  add_blocks(all);
  add_picker(all);
  return all;
}

}  // namespace shardwright::perf
