// shardwright plan PROBLEM
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "runtime/cli/embedding/batch.h"
#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/embedding/plan_arguments.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/processes/crew.h"
#include "runtime/embedding/checkpoint/resume.h"
#include "runtime/embedding/reuse.h"
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

// The plan of the --reuse file as an answer. Warns and returns nothing if it does not hold.
Result<std::optional<EmbeddingPlanResult>> reused(const PlanCommandArguments& arguments,
                                                  const LoadedProblem& loaded, PlanMode mode,
                                                  const FileReader& read) {
  const auto none = std::optional<EmbeddingPlanResult>();
  if (arguments.reuse_path.empty()) return none;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read(arguments.reuse_path));
  const Result<PlanDocument> document = read_plan(text);
  if (!document.ok()) return in_file(document.error(), arguments.reuse_path);
  SHARDWRIGHT_ASSIGN_OR_RETURN(Reuse reuse,
                               reuse_plan(loaded.problem, *document, mode, loaded.search_space));
  if (!reuse.result) warn(arguments.reuse_path + " is not reused: " + reuse.why_not);
  return std::move(reuse.result);
}

Status check_inputs(const PlanCommandArguments& arguments) {
  const ProblemArguments& problem = arguments.problem;
  if (!arguments.batch_paths.empty()) {
    const bool keeps = !arguments.reuse_path.empty() || !arguments.checkpoint_path.empty() ||
                       !arguments.resume_path.empty();
    if (keeps) return invalid_input("--batch", "goes with no plan file");
    return check_batch(arguments, arguments.batch_paths);
  }
  if (problem.problem_path.empty()) return invalid_input("PROBLEM", "or --batch is needed");
  const bool is_taken = problem.problem_path == "-" || problem.search_space_path == "-";
  if (arguments.reuse_path == "-" && is_taken)
    return invalid_input("--reuse", "only one input can come from standard input");
  if (arguments.resume_path == "-" && (is_taken || arguments.reuse_path == "-"))
    return invalid_input("--resume", "only one input can come from standard input");
  if (arguments.checkpoint_path == "-")
    return invalid_input("--checkpoint", "needs the name of a file");
  return {};
}

// Keeps the best plan so far in a file. What cannot be written is said once.
// Thread safety: one thread at a time. Refers to its arguments.
class CheckpointFile {
 public:
  CheckpointFile(const std::string& path, double read_s) : path_(path), read_s_(read_s) {}

  void keep(const EmbeddingPlanResult& result) {
    if (has_failed_) return;
    Result<OutputFile> file = OutputFile::open(path_);
    Status written = file.ok() ? Status() : Status(file.error());
    if (file.ok()) {
      OutputFile output = std::move(file).value();
      write_plan(*result.problem, result, {false, false, false, read_s_},
                 [&](std::string_view text) { output.write(text); });
      written = output.commit();
    }
    if (!written.ok()) warn(written.error().to_string());
    has_failed_ = !written.ok();
  }

 private:
  const std::string& path_;
  double read_s_;
  bool has_failed_ = false;
};

// The checkpoint to go on from, if there is one.
Result<std::optional<PlanDocument>> read_checkpoint(const std::string& path,
                                                    const FileReader& read) {
  if (path.empty()) return std::optional<PlanDocument>();
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read(path));
  Result<PlanDocument> document = read_plan(text);
  if (!document.ok()) return in_file(document.error(), path);
  return std::optional(std::move(document).value());
}

// One process chooses the layout of a machine; the others have nothing to do meanwhile.
bool is_shared(const Crew& crew, const LoadedProblem& loaded) {
  return !crew.is_alone() && loaded.problem->topology().layouts().empty();
}

int fail_of(const Error& error, const PlanCommandArguments& arguments) {
  if (error.where == "--resume") return fail(error);
  const bool in_checkpoint = !arguments.resume_path.empty() &&
                             (error.where.starts_with("/plan") || error.where == "/problem_hash");
  return fail(
      in_file(error, in_checkpoint ? arguments.resume_path : arguments.problem.problem_path));
}

int plan(const PlanCommandArguments& arguments, Crew& crew) {
  const Log log = arguments.output.log();
  const FileReader read = [&](const std::string& path) { return crew.read(path); };
  const Result<PlanOptions> options = plan_options(arguments);
  if (!options.ok()) return fail(options.error());
  if (const Status inputs = check_inputs(arguments); !inputs.ok()) return fail(inputs.error());
  if (!arguments.batch_paths.empty()) return plan_batch(arguments, arguments.batch_paths, crew);
  const Result<LoadedProblem> loaded = load_problem(arguments.problem, log, read);
  if (!loaded.ok()) return fail(loaded.error());
  const Result<std::optional<EmbeddingPlanResult>> old =
      reused(arguments, *loaded, options->mode, read);
  if (!old.ok()) return fail(old.error());
  if (*old) return emit_plan(arguments, *loaded, **old, log);
  const auto checkpoint = read_checkpoint(arguments.resume_path, read);
  if (!checkpoint.ok()) return fail(checkpoint.error());
  if (!is_first_process() && !is_shared(crew, *loaded)) return kDone;
  CheckpointFile kept(arguments.checkpoint_path, loaded->read_s);
  const Result<EmbeddingPlanResult> result =
      plan_interruptibly(*options, log, [&](PlanOptions watched) {
        crew.heed(watched.stop);
        if (is_shared(crew, *loaded)) watched.exchange = crew.exchange();
        if (!arguments.checkpoint_path.empty() && is_first_process())
          watched.on_checkpoint = [&](const EmbeddingPlanResult& at) { kept.keep(at); };
        if (!*checkpoint) return plan_embedding(loaded->problem, watched, loaded->search_space);
        return resume_embedding(loaded->problem, **checkpoint, watched, loaded->search_space);
      });
  crew.tell_loss();  // at once: a launcher may end this process soon
  if (!result.ok()) return fail_of(result.error(), arguments);
  return emit_plan(arguments, *loaded, *result, log);
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
                  "Go on from the plan of this checkpoint or answer of best mode")
      ->type_name(kFile);
  add_json_arguments(command, *arguments);
  add_output_arguments(command, arguments->output);
  add_example(command, "shardwright plan my_tables.json --ranks 16 --hbm 80GiB -o plan.json");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
