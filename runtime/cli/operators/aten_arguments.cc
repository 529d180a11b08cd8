#include "runtime/cli/operators/aten_arguments.h"

namespace shardwright::cli {

void add_aten_arguments(CLI::App& command, AtenArguments& arguments) {
  command.add_option("GRAPH", arguments.graph_path, "Graph of shardwright.torch.trace (- = stdin)")
      ->type_name(kFile)
      ->required();
  command
      .add_option("--options", arguments.options_path,
                  "File with placements, the model of collectives and what flags say")
      ->type_name(kFile);
  command.add_option("--memory", arguments.memory, "Memory of a device, such as 80GiB");
  command
      .add_option("--optimizer-states", arguments.optimizer_states,
                  "Tensors that the optimizer keeps for each parameter (default: 2)")
      ->transform(whole_number(0, 100));
  command.add_option("--device", arguments.device, "GPU whose times are estimated (default: H100)");
  command
      .add_option("--redistribution", arguments.redistribution,
                  "Moves of tensors: the cheapest, or as AutoParallel estimates them")
      ->check(one_of({"shortest", "autoparallel"}))
      ->type_name("shortest|autoparallel");
  command.add_option("--blocks", arguments.blocks, "Whether repeated blocks must be sharded alike")
      ->check(one_of({"free", "equal"}))
      ->type_name("free|equal");
  command.add_option("--overlap", arguments.overlap,
                     "Share of moving parameters and gradients that operators hide (default: 0)");
  command
      .add_option("--time-limit", arguments.limits.time_limit_s,
                  "Stop after this many seconds; the result then depends on the machine")
      ->check(seconds(true));
  command
      .add_option("--work-limit", arguments.limits.work_limit,
                  "Stop after this many strategy evaluations")
      ->transform(whole_number(0));
  command.add_option("--seed", arguments.limits.seed, "Seed of everything random")
      ->transform(whole_number(0));
  add_output_arguments(command, arguments.output);
}

Result<commands::AtenOverrides> aten_overrides(const AtenArguments& arguments) {
  commands::AtenOverrides overrides;
  SHARDWRIGHT_ASSIGN_OR_RETURN(overrides.memory, size_flag("--memory", arguments.memory));
  overrides.optimizer_states = arguments.optimizer_states;
  overrides.device = arguments.device;
  overrides.overlap = arguments.overlap;
  if (arguments.redistribution) {
    overrides.redistribution = *arguments.redistribution == "shortest"
                                   ? operators::RedistributionChoice::kShortest
                                   : operators::RedistributionChoice::kAutoParallel;
  }
  if (arguments.blocks) {
    overrides.blocks = *arguments.blocks == "free" ? operators::BlockSharing::kFree
                                                   : operators::BlockSharing::kEqual;
  }
  overrides.limits = arguments.limits;
  overrides.limits.threads = arguments.output.threads;
  return overrides;
}

}  // namespace shardwright::cli
