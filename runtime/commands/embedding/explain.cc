// shardwright explain
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/commands/embedding/embedding_commands.h"
#include "runtime/commands/pages.h"
#include "runtime/embedding/explain/explain.h"
#include "runtime/embedding/identity/identity.h"
#include "runtime/embedding/identity/other_machine.h"
#include "runtime/io/embedding/answers/explain_json.h"
#include "runtime/report/embedding/questions/explain_text.h"

namespace shardwright::commands {
namespace {

// The plan that is to be explained; nothing if the request or its file has none.
Result<std::optional<PlanDocument>> document_of(const Input& plan, const Watch& watch) {
  if (!plan.given()) return std::optional<PlanDocument>();
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanDocument document, load_plan(plan, watch));
  if (!document.plan) return std::optional<PlanDocument>();
  return std::optional(std::move(document));
}

// Warns if the plan was made for another problem. It is explained as a plan of this one, and
// without a warning nobody would notice a forgotten flag.
void warn_of_other_problem(const PlanDocument& document, const LoadedProblem& loaded,
                           const std::string& name, Answer& answer) {
  if (!document.problem_hash) return;
  const ProblemIdentity identity = identify(*loaded.problem, loaded.search_space.get());
  if (*document.problem_hash == identity.hash) return;
  if (*document.problem_hash == identify(*loaded.problem).hash) return;
  const auto machine = other_machine(document, *loaded.problem);
  answer.warnings.push_back(name + " was made for another problem, which differs in " +
                            differing_parts(document.problem_parts, identity.parts) +
                            "; it is explained as a plan of this one" +
                            (machine ? ", although " + *machine : ". Are all flags the same?"));
}

Outcome outcome_of(const Explanation& explanation) {
  if (explanation.result.plan) return Outcome::kDone;
  return explanation.infeasibility ? Outcome::kNoPlan : Outcome::kStopped;
}

Error located(const Error& error, const ExplainRequest& request,
              const std::optional<PlanDocument>& document, const LoadedProblem& loaded) {
  const auto machine = document ? other_machine(*document, *loaded.problem) : std::nullopt;
  if (machine && error.where.starts_with("/plan"))
    return request.plan.locate(invalid_input("", *machine));
  const bool in_plan = error.where.starts_with("/plan");
  return (in_plan ? request.plan : request.problem.problem).locate(error);
}

}  // namespace

Result<Answer> answer(const ExplainRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::optional<PlanDocument> document,
                               document_of(request.plan, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      const LoadedProblem loaded,
      document ? load_for(request.problem, *document, watch) : load(request.problem, watch));
  ExplainOptions options{request.options, request.table};
  options.plan.stop = watch.begin();
  options.plan.on_progress = watch.on_plan;
  Result<Explanation> explained = explain_embedding(
      loaded.problem, document ? document->plan : std::nullopt, options, loaded.search_space);
  if (!explained.ok()) return located(explained.error(), request, document, loaded);
  const auto explanation = std::make_shared<const Explanation>(std::move(explained).value());
  Answer answer;
  answer.outcome = outcome_of(*explanation);
  if (explanation->tables_left_out > 0) {
    answer.warnings.push_back("stopped; " + std::to_string(explanation->tables_left_out) +
                              " tables are not explained");
  }
  if (document) warn_of_other_problem(*document, loaded, request.plan.name(), answer);
  for (const embedding::Violation& violation : explanation->result.evaluation.violations)
    answer.warnings.push_back(violation.message);
  answer.write_json = [explanation](const TextSink& sink) {
    write_explanation(*explanation, sink);
  };
  answer.text = [explanation](const TextForm& form) {
    return explain_report(*explanation, form.width);
  };
  answer.write_page = page_of(explanation);
  return answer;
}

}  // namespace shardwright::commands
