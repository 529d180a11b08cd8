// shardwright sweep PROBLEM
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/embedding/plan_arguments.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/options/interrupt.h"
#include "runtime/cli/processes/crew.h"
#include "runtime/embedding/sweep/sweep.h"
#include "runtime/io/embedding/answers/sweep_json.h"
#include "runtime/io/embedding/problem/problem_json.h"
#include "runtime/io/sizes.h"
#include "runtime/report/embedding/questions/sweep_text.h"

namespace shardwright::cli {
namespace {

using embedding::SweepGrid;

struct SweepArguments {
  PlanArguments plan;
  SweepGrid grid;
  std::vector<std::string> hbm;
};

// The problem for one number of ranks, with all flags applied that are not lists.
Result<embedding::ProblemSpec> read_for(const SweepArguments& arguments, const std::string& text,
                                        std::optional<std::int64_t> ranks) {
  ProblemArguments problem = arguments.plan.problem;
  problem.overrides.ranks = ranks;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const ProblemOverrides overrides, overrides_of(problem));
  Result<embedding::ProblemSpec> spec = read_problem(text, overrides);
  if (!spec.ok()) return in_file(spec.error(), problem.problem_path);
  return spec;
}

// The batch per rank depends on the number of ranks if the file gives the batch of all ranks.
Status read_batch_sizes(const SweepArguments& arguments, const std::string& text, SweepGrid& grid) {
  if (!grid.batch_sizes.empty()) return {};
  for (const std::int64_t ranks : grid.ranks) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const embedding::ProblemSpec spec,
                                 read_for(arguments, text, ranks));
    grid.batch_size_of_ranks.push_back(spec.batch_size);
  }
  return {};
}

int sweep(const SweepArguments& arguments, Crew& crew) {
  const Result<PlanOptions> asked = plan_options(arguments.plan);
  if (!asked.ok()) return fail(asked.error());
  SweepGrid grid = arguments.grid;
  for (const std::string& size : arguments.hbm) {
    const Result<std::int64_t> bytes = parse_bytes(size);
    if (!bytes.ok()) return fail(invalid_input("--hbm", bytes.error().message));
    grid.hbm_bytes.push_back(*bytes);
  }
  const std::string& path = arguments.plan.problem.problem_path;
  const Result<std::string> text = crew.read(path);
  if (!text.ok()) return fail(text.error());
  const Result<embedding::ProblemSpec> spec = read_for(
      arguments, *text, grid.ranks.empty() ? std::nullopt : std::optional(grid.ranks.front()));
  if (!spec.ok()) return fail(spec.error());
  if (const Status read = read_batch_sizes(arguments, *text, grid); !read.ok())
    return fail(read.error());
  const InterruptGuard interrupt;
  PlanOptions options = *asked;
  options.stop = interrupt.token();
  crew.heed(options.stop);
  const Result<Sweep> sweep =
      sweep_embedding(*spec, grid, options, crew.is_alone() ? nullptr : &crew);
  crew.tell_loss();
  if (!sweep.ok()) return fail(in_file(sweep.error(), path));
  if (!is_first_process()) return kDone;
  return emit(
      arguments.plan.output, sweep->any_fits() ? kDone : kNoPlan,
      [&](const TextSink& sink) { write_sweep(*spec, *sweep, sink); },
      [&](std::size_t width) { return sweep_report(*spec, *sweep, width); });
}

int run(const SweepArguments& arguments) {
  Result<Crew> joined = Crew::join();
  if (!joined.ok()) return fail(joined.error());
  Crew crew = std::move(joined).value();
  return crew.finish(sweep(arguments, crew));
}

void add_grid_arguments(CLI::App& command, SweepArguments& arguments) {
  const char* const group = "Machines, every combination of these lists";
  command.add_option("--ranks", arguments.grid.ranks, "Ranks, such as 8,16,32")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(positive_number())
      ->group(group);
  command.add_option("--hbm", arguments.hbm, "HBM per rank, such as 40GiB,80GiB")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--batch-size", arguments.grid.batch_sizes, "Samples per rank and step")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(positive_number())
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
  add_example(command,
              "shardwright sweep my_tables.json --ranks 8,16,32 --ranks-per-host 8 "
              "--hbm 40GiB,80GiB --batch-size 512,1024");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
