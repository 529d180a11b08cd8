#include "runtime/cli/embedding/plan_arguments.h"

#include <string>

#include "core/nearest_name.h"
#include "runtime/cli/answering/answering.h"

namespace shardwright::cli {
namespace {

Result<PlanMode> mode_of(const std::string& name) {
  for (const PlanMode mode : {PlanMode::kBest, PlanMode::kCompat}) {
    if (name == name_of(mode)) return mode;
  }
  if (name == "exact") {
    return invalid_input("--mode", "exact mode is called compat mode now: use `--mode compat`");
  }
  return invalid_input("--mode",
                       "unknown mode \"" + name + "\"" + suggestion(name, kPlanModeNames));
}

}  // namespace

void add_search_arguments(CLI::App& command, PlanArguments& arguments) {
  command
      .add_option(
          "--mode", arguments.mode,
          "best: the best plan that the search finds, with a bound; compat: TorchRec's decisions")
      ->type_name("best|compat")
      ->capture_default_str();
  command
      .add_option("--time-limit", arguments.options.time_limit_s,
                  "Stop after this many seconds; the result then depends on the machine")
      ->check(seconds(true));
  command
      .add_option("--work-limit", arguments.options.work_limit,
                  "Stop after this many steps of work; the result is the same on any machine")
      ->transform(whole_number(0));
  command.add_option("--seed", arguments.options.seed, "Seed of everything random")
      ->transform(whole_number(0));
  command
      .add_option("--lanes", arguments.options.lanes,
                  "Searches of best mode that run side by side, on any number of threads and "
                  "processes; they decide the result")
      ->transform(whole_number(embedding::kLeastLanes, embedding::kMostLanes))
      ->capture_default_str();
}

void add_json_arguments(CLI::App& command, PlanArguments& arguments) {
  command.add_flag("--trace", arguments.options.trace, "Keep every proposal in the JSON");
  command.add_flag("--emit-search-space", arguments.contents.search_space,
                   "Keep every sharding option in the JSON");
  add_report_argument(command, arguments.output);
  add_stats_argument(command, arguments.contents.stats);
}

Result<PlanOptions> plan_options(const PlanArguments& arguments) {
  PlanOptions options = arguments.options;
  SHARDWRIGHT_ASSIGN_OR_RETURN(options.mode, mode_of(arguments.mode));
  options.threads = arguments.output.threads;
  return options;
}

}  // namespace shardwright::cli
