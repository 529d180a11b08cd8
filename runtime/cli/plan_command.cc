// Parts of `shardwright plan` that only the command line has: a batch of problems, and checkpoints.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/cli/answering.h"
#include "runtime/cli/interrupt.h"
#include "runtime/cli/invocation.h"
#include "runtime/cli/request_flags.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/file.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/surface/embedding_requests.h"
#include "runtime/surface/outcome.h"

namespace shardwright::cli {
namespace {

using commands::PlanRequest;

struct PlanFlags {
  std::vector<std::string> batch;
  std::string checkpoint;
};

const PlanRequest& request_of(const Invocation& invocation) {
  return static_cast<const commands::RequestOf<PlanRequest>&>(*invocation.request).request;
}

Status check_batch(const Invocation& invocation, const std::vector<std::string>& paths) {
  const PlanRequest& request = request_of(invocation);
  if (paths.size() == 1 && paths[0].find_first_not_of("0123456789") == std::string::npos)
    return invalid_input("--batch",
                         "takes problem files; the samples per rank are --batch-size " + paths[0]);
  if (request.problem.problem.given())
    return invalid_input("--batch", "takes all problems; name none before it");
  if (request.problem.search_space.given() || !invocation.output.report_path.empty())
    return invalid_input("--batch", "goes with neither --search-space nor --report");
  if (std::find(paths.begin(), paths.end(), "-") != paths.end())
    return invalid_input("--batch", "needs the names of files");
  return {};
}

Status check(const Invocation& invocation, const PlanFlags& flags) {
  const PlanRequest& request = request_of(invocation);
  if (!flags.batch.empty()) {
    if (request.reuse.given() || request.resume.given() || !flags.checkpoint.empty())
      return invalid_input("--batch", "goes with no plan file");
    return check_batch(invocation, flags.batch);
  }
  if (!request.problem.problem.given()) return invalid_input("PROBLEM", "or --batch is needed");
  if (flags.checkpoint == "-") return invalid_input("--checkpoint", "needs the name of a file");
  return {};
}

// The exit status and the JSON line of one problem of the batch.
struct BatchAnswer {
  int status = kDone;
  std::string line;
};

// Makes a line; `write_value` writes the value of `key`.
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
  return answer_of(path, outcome_of(error.code), "error",
                   [&](JsonWriter& json) { json.value(error.to_string()); });
}

// Makes a line with the plan file, whose line breaks are only between tokens and can be removed.
BatchAnswer planned(const std::string& path, const commands::Answer& answer) {
  std::string plan;
  answer.write_json([&](std::string_view text) { plan += text; });
  plan.erase(std::remove(plan.begin(), plan.end(), '\n'), plan.end());
  return answer_of(path, answer.outcome, "answer", [&](JsonWriter& json) { json.raw(plan); });
}

// Plans one problem from its text, or reports the error of reading it.
BatchAnswer plan_one(PlanRequest request, const commands::Fields& fields,
                     const std::stop_token& stop, const std::string& path,
                     const Result<std::string>& text) {
  if (!text.ok()) return refusal(path, text.error());
  if (stop.stop_requested())
    return refusal(path, {ErrorCode::kStopped, "stopped by a request before it began", path});
  request.problem.problem = commands::Input::file(path);
  commands::Watch watch;
  watch.read = [&](const std::string&) { return text; };
  watch.begin = [&] { return stop; };
  watch.note = [&](const std::string& message) { note(in_flags(message, fields)); };
  const Result<commands::Answer> found = answer(request, watch);
  return found.ok() ? planned(path, *found) : refusal(path, in_flags(found.error(), fields));
}

int plan_batch(const Invocation& invocation, const std::vector<std::string>& paths,
               ProcessGroup& group) {
  const PlanRequest& request = request_of(invocation);
  const OutputArguments& output = invocation.output;
  std::vector<Result<std::string>> texts;
  texts.reserve(paths.size());
  for (const std::string& path : paths)
    texts.push_back(group.read(path));
  Result<OutputFile> opened =
      OutputFile::open(is_first_process() && !output.path.empty() ? output.path : "-");
  if (!opened.ok()) return fail(opened.error());
  OutputFile file = std::move(opened).value();
  const InterruptGuard interrupt;
  const std::stop_token stop = group.heed(interrupt.token());
  int first_status = kDone;
  const auto work = [&](std::size_t i) {
    const BatchAnswer answer =
        plan_one(request, invocation.request->fields, stop, paths[i], texts[i]);
    return static_cast<char>(answer.status) + answer.line;
  };
  const auto take = [&](std::size_t, const std::string& answer) {
    if (first_status == kDone) first_status = answer.front();
    file.write(std::string_view(answer).substr(1));
  };
  group.deal(paths.size(), work, take);
  const Status written = file.commit();
  return written.ok() ? first_status : fail(written.error());
}

// Keeps the best plan so far in a file. Stops writing after the first failed write, with a warning.
// Thread safety: one thread at a time. Keeps a reference to `path`.
class CheckpointFile {
 public:
  CheckpointFile(const std::string& path, const ProblemOverrides& overrides)
      : path_(path), overrides_(overrides) {}

  void keep(const EmbeddingPlanResult& result, double read_s) {
    if (has_failed_) return;
    Result<OutputFile> file = OutputFile::open(path_);
    Status written = file.ok() ? Status() : Status(file.error());
    if (file.ok()) {
      OutputFile output = std::move(file).value();
      write_plan(*result.problem, result, {false, false, false, read_s, overrides_},
                 [&](std::string_view text) { output.write(text); });
      written = output.commit();
    }
    if (!written.ok()) warn(written.error().to_string());
    has_failed_ = !written.ok();
  }

 private:
  const std::string& path_;
  const ProblemOverrides& overrides_;
  bool has_failed_ = false;
};

int run(const Invocation& invocation, const PlanFlags& flags, ProcessGroup& group) {
  if (const Status checked = check(invocation, flags); !checked.ok()) return fail(checked.error());
  if (!flags.batch.empty()) return plan_batch(invocation, flags.batch, group);
  CheckpointFile kept(flags.checkpoint, request_of(invocation).problem.overrides);
  return respond(invocation, &group, [&](commands::Watch& watch) {
    if (flags.checkpoint.empty() || !is_first_process()) return;
    watch.on_checkpoint = [&](const EmbeddingPlanResult& at, double read_s) {
      kept.keep(at, read_s);
    };
  });
}

}  // namespace

void extend_plan(Invocation& invocation) {
  const auto flags = std::make_shared<PlanFlags>();
  commands::Fields& fields = invocation.request->fields;
  fields.all().front().required = false;  // PROBLEM, which --batch replaces
  commands::Field& batch =
      fields.add("batch", kFile, "Problem files; writes one line of JSON for each, in their order");
  batch.is_rest = true;
  batch.take_words = [flags](const std::vector<std::string>& paths) -> Status {
    flags->batch = paths;
    return {};
  };
  fields.text("checkpoint", flags->checkpoint, kFile,
              "Keep the best plan so far in this file while best mode searches");
  // The invocation owns this function, so the function must not own the invocation.
  invocation.run = [&invocation, flags](ProcessGroup& group) {
    return run(invocation, *flags, group);
  };
}

}  // namespace shardwright::cli
