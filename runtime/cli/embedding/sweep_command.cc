// shardwright sweep PROBLEM
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/embedding/plan_arguments.h"
#include "runtime/cli/options/count_list.h"

namespace shardwright::cli {
namespace {

using embedding::SweepGrid;

struct SweepArguments {
  PlanArguments plan;
  SweepGrid grid;
  std::vector<std::string> ranks, batch_sizes, hbm;
};

Result<commands::SweepRequest> request_of(const SweepArguments& arguments) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanOptions options, plan_options(arguments.plan));
  SHARDWRIGHT_ASSIGN_OR_RETURN(commands::ProblemRequest problem,
                               request_of(arguments.plan.problem));
  SweepGrid grid = arguments.grid;
  SHARDWRIGHT_ASSIGN_OR_RETURN(grid.ranks, count_list("--ranks", arguments.ranks));
  SHARDWRIGHT_ASSIGN_OR_RETURN(grid.batch_sizes, count_list("--batch-size", arguments.batch_sizes));
  for (const std::string& size : arguments.hbm) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const auto bytes, size_flag("--hbm", size));
    grid.hbm_bytes.push_back(*bytes);
  }
  return commands::SweepRequest{std::move(problem), std::move(options), std::move(grid)};
}

int run(const SweepArguments& arguments) {
  Result<Crew> joined = Crew::join();
  if (!joined.ok()) return fail(joined.error());
  Crew crew = std::move(joined).value();
  const Result<commands::SweepRequest> request = request_of(arguments);
  if (!request.ok()) return crew.finish(fail(request.error()));
  return crew.finish(respond_with(arguments.plan.output, &crew, [&](const commands::Watch& watch) {
    return answer(*request, watch);
  }));
}

void add_grid_arguments(CLI::App& command, SweepArguments& arguments) {
  const char* const group = "Machines, every combination of these lists";
  command.add_option("--ranks", arguments.ranks, "Ranks, such as 8,16,32 or 8..64:8 or 8..64:x2")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N[,N...]")
      ->group(group);
  command.add_option("--hbm", arguments.hbm, "HBM per rank, such as 40GiB,80GiB")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--batch-size", arguments.batch_sizes, "Samples per rank and step")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N[,N...]")
      ->group(group);
  command
      .add_option("--price", arguments.grid.rank_prices,
                  "Price of a rank for an hour: one, or one for every size of --hbm")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(decimal_number("", false))
      ->group(group);
  command
      .add_option("--ranks-per-host", arguments.grid.ranks_per_host,
                  "Ranks of one host, or all where there are fewer")
      ->transform(positive_number())
      ->group(group);
  command.add_option("--ddr", arguments.plan.problem.ddr, "DDR per rank, such as 128GiB")
      ->group(group);
  command.add_option("--ssd", arguments.plan.problem.ssd, "SSD per rank, such as 2TiB")
      ->group(group);
  command.add_option("--device", arguments.plan.problem.device, "Compute device of the ranks")
      ->type_name("cuda|cpu|mtia|tpu")
      ->group(group);
  add_layout_arguments(command, arguments.plan.problem, group);
  add_release_argument(command, arguments.plan.problem);
}

}  // namespace

void add_sweep_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App& command = *app.add_subcommand(
      "sweep", "Plans for many machines in one run: what fits, how fast, which is the smallest");
  command
      .add_option("PROBLEM", arguments->plan.problem.problem_path,
                  "Problem or workload file (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_grid_arguments(command, *arguments);
  add_search_arguments(command, arguments->plan);
  add_output_arguments(command, arguments->plan.output);
  add_report_argument(command, arguments->plan.output);
  command
      .add_option("--csv", arguments->plan.output.csv_path,
                  "Write the machines as comma-separated values to this file (- = stdout)")
      ->type_name(kFile);
  add_example(command,
              "shardwright sweep my_tables.json --ranks 8..32:x2 --ranks-per-host 8 "
              "--hbm 40GiB,80GiB --batch-size 512,1024 --price 1.80,2.90");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
