// perf_ablation: measures best mode, or the operators' solver, with chosen methods switched off.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "perf/ablation/solver_methods.h"
#include "perf/support/solver_cases.h"
#include "perf/support/workloads.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/file.h"

namespace {

using namespace shardwright;
using namespace shardwright::perf;
using nlohmann::ordered_json;

struct Request {
  bool only_list = false;
  bool operators = false;
  std::vector<std::string> without;
  std::optional<std::uint64_t> work;
  int threads = 1;
};

// This work takes 10 to 20 seconds on one thread.
constexpr std::uint64_t kSolverWork = 3'000'000'000;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::optional<std::int64_t> number_of(const ordered_json& given, const char* key) {
  if (!given.contains(key)) return std::nullopt;
  return given.at(key).get<std::int64_t>();
}

std::shared_ptr<const embedding::Problem> read_case(const ordered_json& given) {
  ProblemOverrides overrides;
  overrides.ranks = number_of(given, "ranks");
  overrides.ranks_per_host = number_of(given, "ranks_per_host");
  overrides.hbm_bytes = number_of(given, "hbm_bytes");
  overrides.batch_size = number_of(given, "batch_size");
  if (given.contains("torchrec")) overrides.torchrec = embedding::TorchRecRelease::kA48cef79;
  const std::string text = require(read_file(given.at("problem").get<std::string>()));
  return std::make_shared<const embedding::Problem>(
      require(embedding::Problem::make(require(read_problem(text, overrides)))));
}

// Plans the case, or replans it if it names an old plan. Errors: as of plan_embedding().
Result<EmbeddingPlanResult> plan(const ordered_json& given, const PlanOptions& options) {
  auto problem = read_case(given);
  if (!given.contains("old_plan")) return plan_embedding(std::move(problem), options);
  const std::string text = require(read_file(given.at("old_plan").get<std::string>()));
  const ReplanOptions replan{options, given.at("weight").get<double>(), std::nullopt};
  const auto old = require(read_plan(text));
  return replan_embedding(std::move(problem), *old.plan, replan);
}

// Reads one case from JSON and returns one line of results.
ordered_json measure(const ordered_json& given, const PlanOptions& options) {
  const double before = cpu_seconds();
  const Result<EmbeddingPlanResult> planned = plan(given, options);
  if (!planned.ok())
    return {{"case", given.at("case")},
            {"rating", nullptr},
            {"bound", nullptr},
            {"steps", 0},
            {"cpu", 0}};
  const EmbeddingPlanResult& result = *planned;
  ordered_json found{{"case", given.at("case")},
                     {"rating", result.best_rating ? ordered_json(*result.best_rating) : nullptr},
                     {"bound", result.lower_bound ? ordered_json(*result.lower_bound) : nullptr},
                     {"steps", result.work.work_steps},
                     {"cpu", cpu_seconds() - before}};
  if (!result.bound_refusal.empty()) found["refusal"] = result.bound_refusal;
  if (result.migration) {
    found["rating"] =
        result.migration->objective ? ordered_json(*result.migration->objective) : nullptr;
    found["bound"] = result.migration->lower_bound.value_or(0);
  }
  return found;
}

ordered_json solve(const ordered_json& given, std::uint64_t work,
                   const operators::SolverParameters& parameters) {
  const double before = cpu_seconds();
  const SolverOutcome found =
      solve_case(given.at("instance").get<std::string>(), 0, work, parameters);
  return {{"case", given.at("case")},
          {"rating", found.found ? ordered_json(found.cost) : nullptr},
          {"bound", found.lower_bound},
          {"steps", found.work},
          {"cpu", cpu_seconds() - before}};
}

// Returns false if there is no method of this name.
bool leave_out(operators::SolverParameters& parameters, const std::string& name) {
  for (const SolverMethod& method : kSolverMethods) {
    if (method.name == name) return method.leave_out(parameters), true;
  }
  return false;
}

template <class Methods>
int list(const Methods& methods) {
  for (const auto& method : methods)
    std::printf("%.*s\n", static_cast<int>(method.name.size()), method.name.data());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Plans the cases that standard input names, a line of JSON each, with methods switched off");
  Request request;
  app.add_flag("--operators", request.operators, "The operators' solver instead of best mode");
  app.add_flag("--list", request.only_list, "Print the methods");
  app.add_option("--without", request.without, "Methods to switch off")->delimiter(',');
  app.add_option("--work", request.work, "Work limit of each search, instead of the default");
  app.add_option("--threads", request.threads, "Threads; answers do not depend on them");
  CLI11_PARSE(app, argc, argv);
  if (request.only_list) {
    if (request.operators) return list(kSolverMethods);
    list(embedding::kBoundMethods);
    return list(embedding::kPlanMethods);
  }
  PlanOptions options;
  options.threads = request.threads;
  options.work_limit = request.work.value_or(kDefaultBestWork);
  operators::SolverParameters solver;
  for (const std::string& name : request.without) {
    if (request.operators ? leave_out(solver, name) : embedding::switch_off(options.methods, name))
      continue;
    std::fprintf(stderr, "perf_ablation: there is no method \"%s\"; --list names them\n",
                 name.c_str());
    return 2;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const auto given = ordered_json::parse(line);
    const ordered_json answer = request.operators
                                    ? solve(given, request.work.value_or(kSolverWork), solver)
                                    : measure(given, options);
    std::printf("%s\n", answer.dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}
