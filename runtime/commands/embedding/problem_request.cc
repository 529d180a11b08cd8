#include "runtime/commands/embedding/problem_request.h"

#include <string>
#include <utility>

#include "runtime/embedding/layouts/layout_problem.h"
#include "runtime/execution/stopwatch.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/embedding/search_space/search_space_json.h"

namespace shardwright::commands {

Result<LoadedProblem> load(const ProblemRequest& request, const Log& log) {
  const Stopwatch watch;
  LoadedProblem loaded;
  {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.problem.read());
    Result<embedding::ProblemSpec> spec = read_problem(text, request.overrides);
    if (!spec.ok()) return request.problem.locate(spec.error());
    Result<embedding::Problem> problem = embedding::Problem::make(std::move(spec).value());
    if (!problem.ok()) return request.problem.locate(problem.error());
    loaded.problem = std::make_shared<const embedding::Problem>(std::move(problem).value());
  }
  log.info("read " + std::to_string(loaded.problem->tables().size()) + " tables, " +
           std::to_string(loaded.problem->topology().world_size()) + " ranks");
  if (request.search_space.given()) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.search_space.read());
    auto space = read_search_space(text, loaded.problem);
    if (!space.ok()) return request.search_space.locate(space.error());
    loaded.search_space = std::move(space).value();
    log.info("read " + std::to_string(loaded.search_space->size()) + " sharding options");
  }
  loaded.read_s = watch.seconds();
  return loaded;
}

Result<LoadedProblem> load_for(const ProblemRequest& request, const PlanDocument& document,
                               const Log& log) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(LoadedProblem loaded, load(request, log));
  auto problem = problem_of_plan(loaded.problem, document);
  if (!problem.ok()) return request.problem.locate(problem.error());
  loaded.problem = std::move(problem).value();
  return loaded;
}

Result<PlanDocument> load_plan(const Input& input) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, input.read());
  Result<PlanDocument> document = read_plan(text);
  if (!document.ok()) return input.locate(document.error());
  return document;
}

}  // namespace shardwright::commands
