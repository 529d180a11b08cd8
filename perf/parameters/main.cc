// perf_parameters: measures what searches with changed parameters find in fixed work.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "perf/parameters/best_parameter_list.h"
#include "perf/parameters/proof_cases.h"
#include "perf/parameters/proof_parameter_list.h"
#include "perf/parameters/solver_parameter_list.h"
#include "perf/support/best_case.h"
#include "perf/support/solver_cases.h"
#include "search/embedding/best/portfolio_search.h"

namespace {

using namespace shardwright;
using namespace shardwright::perf;
using nlohmann::ordered_json;

struct Request {
  bool only_list = false;
  std::vector<std::string> cases;
  std::vector<std::string> scaled;
  double factor = 1;
  std::uint64_t seeds = 1;
  std::uint64_t work = 1'000'000;
};

template <class Root>
int list(const std::vector<Parameter<Root>>& known) {
  ordered_json all = ordered_json::array();
  for (const Parameter<Root>& parameter : known)
    all.push_back({{"name", parameter.name}, {"value", parameter.value}});
  std::printf("%s\n", all.dump().c_str());
  return 0;
}

// Returns the best rating found, or null if no plan was found.
ordered_json rating_of(const embedding::ChoiceModel& model, std::uint64_t seed, std::uint64_t work,
                       const embedding::BestParameters& parameters) {
  embedding::PortfolioSearch search(model, seed, true, parameters);
  InlineExecutor executor;
  Budget budget(work, {});
  explore(search, executor, budget);
  if (!search.best()) return nullptr;
  return search.best()->rating;
}

ordered_json measure(const std::string& name, const Request& request,
                     const embedding::BestParameters& parameters) {
  const BestCase planned(name);
  ordered_json ratings;
  for (std::uint64_t seed = 1; seed <= request.seeds; ++seed)
    ratings.push_back(rating_of(planned.choices, seed, request.work, parameters));
  return ratings;
}

ordered_json measure(const std::string& name, const Request& request,
                     const operators::SolverParameters& parameters) {
  ordered_json outcomes;
  for (std::uint64_t seed = 1; seed <= request.seeds; ++seed) {
    const SolverOutcome outcome = solve_case(name, seed, request.work, parameters);
    outcomes.push_back({{"proved", outcome.proved},
                        {"cost", outcome.found ? ordered_json(outcome.cost) : ordered_json()},
                        {"lower_bound", outcome.lower_bound},
                        {"work", outcome.work}});
  }
  return outcomes;
}

// Needs no seed: a proof draws no random numbers.
ordered_json measure(const std::string& name, const Request& request,
                     const embedding::BoundParameters& parameters) {
  const ProofOutcome outcome = prove_case(name, request.work, parameters);
  return ordered_json::array({{{"proved", outcome.proved},
                               {"accepted", outcome.accepted},
                               {"gap", outcome.gap},
                               {"work", outcome.work}}});
}

template <class Root>
int answer(const Request& request, const std::vector<Parameter<Root>>& known) {
  if (request.only_list) return list(known);
  Root parameters;
  for (const std::string& name : request.scaled) {
    bool found = false;
    for (const Parameter<Root>& parameter : known) {
      if (parameter.name != name) continue;
      parameter.scale(parameters, request.factor);
      found = true;
    }
    if (!found) {
      std::fprintf(stderr, "perf_parameters: there is no parameter \"%s\"; --list names them\n",
                   name.c_str());
      return 2;
    }
  }
  ordered_json all;
  for (const std::string& name : request.cases)
    all[name] = measure(name, request, parameters);
  std::printf("%s\n", all.dump().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs searches with fixed work and parameters other than the defaults");
  Request request;
  std::string domain = "embedding";
  app.add_option("--domain", domain,
                 "embedding: best mode; proof: its lower bound; operators: the solver")
      ->check(CLI::IsMember({"embedding", "proof", "operators"}));
  app.add_flag("--list", request.only_list, "Print every parameter with its default");
  app.add_option("--case", request.cases, "Cases or files to plan or solve");
  app.add_option("--scale", request.scaled, "Parameters to multiply by --factor");
  app.add_option("--factor", request.factor, "What parameters are multiplied by");
  app.add_option("--seeds", request.seeds, "Searches per case, from seed 1");
  app.add_option("--work", request.work, "Work limit of each search");
  CLI11_PARSE(app, argc, argv);
  if (domain == "embedding") return answer(request, best_parameters());
  if (domain == "proof") return answer(request, proof_parameters());
  return answer(request, solver_parameters());
}
