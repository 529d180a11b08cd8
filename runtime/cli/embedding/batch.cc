#include "runtime/cli/embedding/batch.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <string_view>
#include <utility>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/options/interrupt.h"
#include "runtime/io/file.h"
#include "runtime/io/json/json_writer.h"

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
BatchAnswer planned(const std::string& path, const commands::Answer& answer) {
  std::string plan;
  answer.write_json([&](std::string_view text) { plan += text; });
  plan.erase(std::remove(plan.begin(), plan.end(), '\n'), plan.end());
  return answer_of(path, exit_code_of(answer.outcome), "answer",
                   [&](JsonWriter& json) { json.raw(plan); });
}

// Plans one problem, whose text was read before.
BatchAnswer plan_one(commands::PlanRequest request, const std::stop_token& stop,
                     const std::string& path, const Result<std::string>& text) {
  if (!text.ok()) return refusal(path, text.error());
  if (stop.stop_requested())
    return refusal(path, {ErrorCode::kStopped, "stopped by a request before it began", path});
  request.problem.problem = commands::Input::file(path);
  commands::Watch watch;
  watch.read = [&](const std::string&) { return text; };
  watch.begin = [&] { return stop; };
  watch.note = [](const std::string& message) { note(message); };
  const Result<commands::Answer> found = answer(request, watch);
  return found.ok() ? planned(path, *found) : refusal(path, found.error());
}

}  // namespace

Status check_batch(const PlanArguments& arguments, const std::vector<std::string>& paths) {
  if (!arguments.problem.problem_path.empty())
    return invalid_input("--batch", "takes all problems; name none before it");
  if (!arguments.problem.search_space_path.empty() || !arguments.output.report_path.empty())
    return invalid_input("--batch", "goes with neither --search-space nor --report");
  if (std::find(paths.begin(), paths.end(), "-") != paths.end())
    return invalid_input("--batch", "needs the names of files");
  return {};
}

int plan_batch(const commands::PlanRequest& request, const OutputArguments& output,
               const std::vector<std::string>& paths, Crew& crew) {
  std::vector<Result<std::string>> texts;
  texts.reserve(paths.size());
  for (const std::string& path : paths)
    texts.push_back(crew.read(path));
  Result<OutputFile> opened =
      OutputFile::open(is_first_process() && !output.path.empty() ? output.path : "-");
  if (!opened.ok()) return fail(opened.error());
  OutputFile file = std::move(opened).value();
  const InterruptGuard interrupt;
  const std::stop_token stop = crew.heed(interrupt.token());
  int first_status = kDone;
  const auto work = [&](std::size_t i) {
    const BatchAnswer answer = plan_one(request, stop, paths[i], texts[i]);
    return static_cast<char>(answer.status) + answer.line;
  };
  const auto take = [&](std::size_t, const std::string& answer) {
    if (first_status == kDone) first_status = answer.front();
    file.write(std::string_view(answer).substr(1));
  };
  crew.deal(paths.size(), work, take);
  const Status written = file.commit();
  return written.ok() ? first_status : fail(written.error());
}

}  // namespace shardwright::cli
