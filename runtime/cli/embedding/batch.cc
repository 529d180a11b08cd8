#include "runtime/cli/embedding/batch.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/options/interrupt.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/file.h"
#include "runtime/io/json/json_writer.h"
#include "search/message.h"

namespace shardwright::cli {
namespace {

// The line of one problem.
struct BatchAnswer {
  int status = kDone;
  std::string line;
};

// `write_value` writes the value of `key`.
BatchAnswer answer_of(const std::string& path, int status, std::string_view key,
                      const std::function<void(JsonWriter&)>& write_value) {
  BatchAnswer answer{status, ""};
  JsonWriter json([&](std::string_view text) { answer.line += text; });
  json.begin_object().member("file", path).member("exit", status).key(key);
  write_value(json);
  json.end_object().finish();
  return answer;
}

BatchAnswer refusal(const std::string& path, const Error& error) {
  return answer_of(path, exit_code(error.code), "error",
                   [&](JsonWriter& json) { json.value(error.to_string()); });
}

// A plan file in one line: its line breaks are between tokens only.
BatchAnswer planned(const PlanArguments& arguments, const std::string& path,
                    const LoadedProblem& loaded, const EmbeddingPlanResult& result) {
  std::string plan;
  write_plan(*result.problem, result,
             {arguments.emit_search_space, arguments.stats, arguments.options.trace, loaded.read_s},
             [&](std::string_view text) { plan += text; });
  plan.erase(std::remove(plan.begin(), plan.end(), '\n'), plan.end());
  return answer_of(path, status_of(result), "answer", [&](JsonWriter& json) { json.raw(plan); });
}

// Plans one problem, whose text was read before.
BatchAnswer plan_one(const PlanArguments& arguments, const PlanOptions& options,
                     const std::string& path, const Result<std::string>& text) {
  if (!text.ok()) return refusal(path, text.error());
  if (options.stop.stop_requested())
    return refusal(path, {ErrorCode::kStopped, "stopped by a request before it began", path});
  ProblemArguments problem = arguments.problem;
  problem.problem_path = path;
  const Result<LoadedProblem> loaded =
      load_problem(problem, Log(), [&](const std::string&) { return text; });
  if (!loaded.ok()) return refusal(path, loaded.error());
  const Result<EmbeddingPlanResult> result = plan_embedding(loaded->problem, options);
  if (!result.ok()) return refusal(path, in_file(result.error(), path));
  return planned(arguments, path, *loaded, *result);
}

}  // namespace

Status check_batch(const PlanArguments& arguments, const std::vector<std::string>& paths) {
  if (!arguments.problem.problem_path.empty())
    return invalid_input("--batch", "takes all problems; name none before it");
  if (!arguments.problem.search_space_path.empty() || !arguments.report_path.empty())
    return invalid_input("--batch", "goes with neither --search-space nor --report");
  if (std::find(paths.begin(), paths.end(), "-") != paths.end())
    return invalid_input("--batch", "needs the names of files");
  return {};
}

int plan_batch(const PlanArguments& arguments, const std::vector<std::string>& paths, Crew& crew) {
  const Result<PlanOptions> asked = plan_options(arguments);
  if (!asked.ok()) return fail(asked.error());
  std::vector<Result<std::string>> texts;
  for (const std::string& path : paths)
    texts.push_back(crew.read(path));
  Result<OutputFile> opened = OutputFile::open(
      is_first_process() && !arguments.output.path.empty() ? arguments.output.path : "-");
  if (!opened.ok()) return fail(opened.error());
  OutputFile output = std::move(opened).value();
  const InterruptGuard interrupt;
  PlanOptions options = *asked;
  options.stop = interrupt.token();
  crew.heed(options.stop);
  int first_status = kDone;
  const auto work = [&](std::size_t i) {
    const BatchAnswer answer = plan_one(arguments, options, paths[i], texts[i]);
    return static_cast<char>(answer.status) + answer.line;
  };
  const auto take = [&](std::size_t, const std::string& answer) {
    if (first_status == kDone) first_status = answer.front();
    output.write(std::string_view(answer).substr(1));
  };
  crew.deal(paths.size(), work, take);
  crew.tell_loss();
  const Status written = output.commit();
  return written.ok() ? first_status : fail(written.error());
}

}  // namespace shardwright::cli
