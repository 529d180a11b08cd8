// shardwright operators autoshard
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/commands/operators/operators_commands.h"
#include "runtime/io/operators/autoshard/autoshard_json.h"
#include "runtime/operators/autoshard.h"
#include "runtime/report/operators/autoshard_text.h"

namespace shardwright::commands {
namespace {

using operators::autoshard::CostModel;
using operators::autoshard::Request;

// The request overrides the file.
Result<Request> question_of(const AutoshardEntry& entry, const AutoshardRequest& request) {
  Request question;
  question.graph = entry.graph;
  const std::optional<std::int64_t> devices = request.devices ? request.devices : entry.devices;
  if (!devices) {
    return invalid_input(entry.place + "/p",
                         "the file does not say how many devices there are; give --devices");
  }
  question.devices = *devices;
  question.model = request.cost_model.value_or(entry.model.value_or(CostModel::kV2));
  return question;
}

// Errors have the place in the file, or the flag.
Result<std::vector<AutoshardAnswer>> answer_all(const AutoshardFile& file,
                                                const AutoshardRequest& request) {
  std::vector<Request> questions;
  for (const AutoshardEntry& entry : file.entries) {
    Result<Request> question = question_of(entry, request);
    if (!question.ok()) return request.graph.locate(question.error());
    questions.push_back(std::move(question).value());
  }
  std::vector<Result<AutoshardAnswer>> results = autoshard(questions, request.threads);
  std::vector<AutoshardAnswer> answers;
  answers.reserve(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].ok()) {
      Error error = results[i].error();
      const bool of_flag = error.where == "/p" && request.devices;
      error.where = of_flag ? "devices" : file.entries[i].place + error.where;
      return of_flag ? error : request.graph.locate(std::move(error));
    }
    answers.push_back(std::move(results[i]).value());
  }
  return answers;
}

}  // namespace

Result<Answer> answer(const AutoshardRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.graph.read(watch.read));
  const Result<AutoshardFile> file = read_autoshard(text);
  if (!file.ok()) return request.graph.locate(file.error());
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::vector<AutoshardAnswer> found, answer_all(*file, request));
  const auto answers = std::make_shared<const std::vector<AutoshardAnswer>>(std::move(found));
  Answer answer;
  answer.write_json = [answers, is_list = file->is_list](const TextSink& sink) {
    write_autoshard(*answers, is_list, sink);
  };
  answer.text = [answers, iterations = request.iterations](const TextForm& form) {
    std::string report;
    for (const AutoshardAnswer& one : *answers) {
      if (!report.empty()) report += "\n";
      report += text_report(one, iterations, form.width);
    }
    return report;
  };
  return answer;
}

}  // namespace shardwright::commands
