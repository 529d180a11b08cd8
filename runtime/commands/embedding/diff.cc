// shardwright diff
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/commands/embedding/embedding_commands.h"
#include "runtime/commands/pages.h"
#include "runtime/io/embedding/answers/diff_json.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/report/embedding/changes/diff_text.h"

namespace shardwright::commands {
namespace {

struct Side {
  const Input* input;
  std::string text;
  bool is_problem = false;
};

// CSV is a problem. What is none is read as a plan.
Result<Side> read_side(const Input& input, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::string text, input.read(watch.read));
  if (is_problem_csv(text)) return Side{&input, std::move(text), true};
  const Result<JsonDocument> document = JsonDocument::parse(text);
  if (!document.ok()) return input.locate(document.error());
  const bool is_problem = kind_of(document->root()) == DocumentKind::kProblem;
  return Side{&input, std::move(text), is_problem};
}

std::string kind_of(const Side& side) { return side.is_problem ? "a problem" : "a plan"; }

Result<embedding::Problem> problem_of(const Side& side, const ProblemOverrides& overrides) {
  Result<embedding::ProblemSpec> spec = read_problem(side.text, overrides);
  if (!spec.ok()) return side.input->locate(spec.error());
  Result<embedding::Problem> problem = embedding::Problem::make(std::move(spec).value());
  return problem.ok()
             ? std::move(problem)
             : side.input->locate(locate_in_problem(side.text, overrides, problem.error()));
}

Result<PlanDocument> plan_of(const Side& side) {
  Result<PlanDocument> document = read_plan(side.text);
  return document.ok() ? std::move(document) : side.input->locate(document.error());
}

// The input in place of its name in diff_plans().
Error located(Error error, const DiffRequest& request) {
  for (const auto& [name, input] : {std::pair(std::string_view("PLAN_A: "), &request.from),
                                    std::pair(std::string_view("PLAN_B: "), &request.to)}) {
    if (!error.where.starts_with(name)) continue;
    error.where.erase(0, name.size());
    return input->locate(std::move(error));
  }
  return error;
}

template <class Diff>
Answer answer_of(std::shared_ptr<const Diff> diff, Page page) {
  Answer answer;
  answer.write_page = std::move(page);
  answer.write_json = [diff](const TextSink& sink) { write_diff(*diff, sink); };
  answer.text = [diff](const TextForm& form) {
    TextReportOptions options;
    options.width = form.width;
    return diff_report(*diff, options);
  };
  return answer;
}

}  // namespace

Result<Answer> answer(const DiffRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Side from, read_side(request.from, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Side to, read_side(request.to, watch));
  if (from.is_problem != to.is_problem) {
    return invalid_input(request.to.name(), "is " + kind_of(to) + ", and " + request.from.name() +
                                                " is " + kind_of(from) + "; compare two of a kind");
  }
  if (from.is_problem) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const embedding::Problem before,
                                 problem_of(from, request.overrides));
    SHARDWRIGHT_ASSIGN_OR_RETURN(const embedding::Problem after, problem_of(to, request.overrides));
    const auto diff = std::make_shared<const ProblemDiff>(diff_problems(before, after));
    return answer_of(diff, page_of(diff));
  }
  if (const std::string_view given = request.overrides.first_given(); !given.empty()) {
    return invalid_input(std::string(given),
                         "is for two problems; " + request.from.name() + " is a plan");
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanDocument before, plan_of(from));
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanDocument after, plan_of(to));
  Result<PlanDiff> diff = diff_plans(before, after);
  if (!diff.ok()) return located(diff.error(), request);
  return answer_of(std::make_shared<const PlanDiff>(std::move(diff).value()),
                   page_of(std::make_shared<const PlanDocument>(std::move(before)),
                           std::make_shared<const PlanDocument>(std::move(after))));
}

}  // namespace shardwright::commands
