// shardwright operators
#include "runtime/cli/operators/operators_commands.h"

namespace shardwright::cli {

void add_operators_command(CLI::App& app, Action& chosen) {
  CLI::App& operators =
      *app.add_subcommand("operators", "Plans the sharding of every tensor of an operator graph");
  operators.require_subcommand(1);
  add_operators_solve_command(operators, chosen);
  add_operators_autoshard_command(operators, chosen);
  add_operators_paths_command(operators, chosen);
  add_operators_strategies_command(operators, chosen);
  add_operators_build_command(operators, chosen);
  add_operators_plan_command(operators, chosen);
  add_operators_sweep_command(operators, chosen);
  add_example(
      operators,
      "shardwright operators plan samples/data/traced_mlp.json --mesh 4x2 --memory 16GiB\n"
      "  shardwright operators build samples/data/mlp_graph.json --mesh 2x2 -o instance.json\n"
      "  shardwright operators solve instance.json --budget 400MB");
}

}  // namespace shardwright::cli
