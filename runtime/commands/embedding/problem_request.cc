#include "runtime/commands/embedding/problem_request.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/embedding/layouts/layout_problem.h"
#include "runtime/execution/stopwatch.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/embedding/problem/doubts/problem_doubts.h"
#include "runtime/io/embedding/search_space/search_space_json.h"

namespace shardwright::commands {
namespace {

// Hosts matter for what collectives cost, and few have more than eight accelerators.
void note_guessed_hosts(const embedding::Topology& topology, const Watch& watch) {
  constexpr std::int64_t kUsualHost = 8;
  const std::int64_t ranks = topology.spec().world_size;
  if (ranks <= kUsualHost) return;
  watch.note("ranks_per_host: is not given, and the file does not say how many ranks a host has: all " +
             std::to_string(ranks) + " count as one host");
}

}  // namespace

Result<LoadedProblem> load(const ProblemRequest& request, const Watch& watch) {
  const Stopwatch clock;
  LoadedProblem loaded{request.read_problem, request.read_space, 0};
  if (loaded.problem) {
    if (const std::string_view given = request.overrides.first_given(); !given.empty())
      return invalid_input(std::string(given), "goes with a problem that is not read yet");
  } else {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.problem.read(watch.read));
    Result<embedding::ProblemSpec> spec = read_problem(text, request.overrides);
    if (!spec.ok()) return request.problem.locate(spec.error());
    const bool hosts_are_guessed = spec->topology.local_world_size == 0;
    Result<embedding::Problem> problem = embedding::Problem::make(std::move(spec).value());
    const auto located = [&](const Error& error) {
      return request.problem.locate(locate_in_problem(text, request.overrides, error));
    };
    if (!problem.ok()) return located(problem.error());
    loaded.problem = std::make_shared<const embedding::Problem>(std::move(problem).value());
    if (watch.note) {
      if (hosts_are_guessed) note_guessed_hosts(loaded.problem->topology(), watch);
      for (const Error& doubt : problem_doubts(*loaded.problem))
        watch.note(located(doubt).to_string());
    }
  }
  watch.log.info("read " + std::to_string(loaded.problem->tables().size()) + " tables, " +
                 std::to_string(loaded.problem->topology().world_size()) + " ranks");
  if (request.search_space.given()) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.search_space.read(watch.read));
    std::vector<Error> doubts;
    auto space = read_search_space(text, loaded.problem, &doubts);
    if (!space.ok()) return request.search_space.locate(space.error());
    for (const Error& doubt : doubts) {
      if (watch.note) watch.note(request.search_space.locate(doubt).to_string());
    }
    loaded.search_space = std::move(space).value();
    watch.log.info("read " + std::to_string(loaded.search_space->size()) + " sharding options");
  }
  loaded.read_s = clock.seconds();
  return loaded;
}

Result<LoadedProblem> load_for(const ProblemRequest& request, const PlanDocument& document,
                               const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(LoadedProblem loaded, load(request, watch));
  auto problem = problem_of_plan(loaded.problem, document);
  if (!problem.ok()) return request.problem.locate(problem.error());
  loaded.problem = std::move(problem).value();
  return loaded;
}

Result<PlanDocument> load_plan(const Input& input, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, input.read(watch.read));
  Result<PlanDocument> document = read_plan(text);
  if (!document.ok()) return input.locate(document.error());
  return document;
}

}  // namespace shardwright::commands
