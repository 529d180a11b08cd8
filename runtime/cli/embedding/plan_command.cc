// shardwright plan PROBLEM
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/embedding/batch.h"
#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/embedding/plan_arguments.h"
#include "runtime/cli/processes/crew.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/file.h"

namespace shardwright::cli {
namespace {

// Paths are empty if there is none.
struct PlanCommandArguments : PlanArguments {
  std::vector<std::string> batch_paths;
  std::string reuse_path;
  std::string checkpoint_path;
  std::string resume_path;
};

Status check_inputs(const PlanCommandArguments& arguments) {
  const ProblemArguments& problem = arguments.problem;
  if (!arguments.batch_paths.empty()) {
    const bool keeps = !arguments.reuse_path.empty() || !arguments.checkpoint_path.empty() ||
                       !arguments.resume_path.empty();
    if (keeps) return invalid_input("--batch", "goes with no plan file");
    return check_batch(arguments, arguments.batch_paths);
  }
  if (problem.problem_path.empty()) return invalid_input("PROBLEM", "or --batch is needed");
  if (arguments.checkpoint_path == "-")
    return invalid_input("--checkpoint", "needs the name of a file");
  return {};
}

// Keeps the best plan so far in a file. What cannot be written is said once.
// Thread safety: one thread at a time. Refers to its arguments.
class CheckpointFile {
 public:
  explicit CheckpointFile(const std::string& path) : path_(path) {}

  void keep(const EmbeddingPlanResult& result, double read_s) {
    if (has_failed_) return;
    Result<OutputFile> file = OutputFile::open(path_);
    Status written = file.ok() ? Status() : Status(file.error());
    if (file.ok()) {
      OutputFile output = std::move(file).value();
      write_plan(*result.problem, result, {false, false, false, read_s},
                 [&](std::string_view text) { output.write(text); });
      written = output.commit();
    }
    if (!written.ok()) warn(written.error().to_string());
    has_failed_ = !written.ok();
  }

 private:
  const std::string& path_;
  bool has_failed_ = false;
};

Result<commands::PlanRequest> request_of(const PlanCommandArguments& arguments) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanOptions options, plan_options(arguments));
  SHARDWRIGHT_RETURN_IF_ERROR(check_inputs(arguments));
  SHARDWRIGHT_ASSIGN_OR_RETURN(commands::ProblemRequest problem, request_of(arguments.problem));
  return commands::PlanRequest{std::move(problem), std::move(options), arguments.contents,
                               commands::Input::file(arguments.reuse_path),
                               commands::Input::file(arguments.resume_path)};
}

int plan(const PlanCommandArguments& arguments, Crew& crew) {
  const Result<commands::PlanRequest> request = request_of(arguments);
  if (!request.ok()) return fail(request.error());
  if (!arguments.batch_paths.empty())
    return plan_batch(*request, arguments.output, arguments.batch_paths, crew);
  CheckpointFile kept(arguments.checkpoint_path);
  return respond_with(arguments.output, &crew, [&](commands::Watch watch) {
    if (!arguments.checkpoint_path.empty() && is_first_process()) {
      watch.on_checkpoint = [&](const EmbeddingPlanResult& at, double read_s) {
        kept.keep(at, read_s);
      };
    }
    return answer(*request, watch);
  });
}

int run(const PlanCommandArguments& arguments) {
  Result<Crew> joined = Crew::join();
  if (!joined.ok()) return fail(joined.error());
  Crew crew = std::move(joined).value();
  return crew.finish(plan(arguments, crew));
}

}  // namespace

void add_plan_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<PlanCommandArguments>();
  arguments->output.progress_line = true;
  CLI::App& command =
      *app.add_subcommand("plan", "Chooses sharding, kernel and ranks of every table");
  add_problem_arguments(command, arguments->problem);
  command.get_option("PROBLEM")->required(false);
  command
      .add_option("--batch", arguments->batch_paths,
                  "Problem files; writes one line of JSON for each, in their order")
      ->type_name(kFile)
      ->expected(1, CLI::detail::expected_max_vector_size);
  add_search_space_argument(command, arguments->problem);
  add_search_arguments(command, *arguments);
  command
      .add_option("--reuse", arguments->reuse_path,
                  "Plan file to answer with where it still holds for this problem and mode")
      ->type_name(kFile);
  command
      .add_option("--checkpoint", arguments->checkpoint_path,
                  "Keep the best plan so far in this file while best mode searches")
      ->type_name(kFile);
  command
      .add_option("--resume", arguments->resume_path,
                  "Go on from plan and bound of this checkpoint or answer of best mode")
      ->type_name(kFile);
  add_json_arguments(command, *arguments);
  add_output_arguments(command, arguments->output);
  add_example(command, "shardwright plan my_tables.json --ranks 16 --hbm 80GiB -o plan.json");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
