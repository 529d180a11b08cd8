// perf_parameters: ratings of best mode at fixed work, with changed parameters.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "perf/parameters/parameter_list.h"
#include "perf/support/search.h"
#include "perf/support/workloads.h"
#include "search/embedding/best/best_search.h"

namespace {

using namespace shardwright;
using namespace shardwright::perf;
using nlohmann::ordered_json;

int list() {
  ordered_json all = ordered_json::array();
  for (const Parameter& parameter : all_parameters())
    all.push_back({{"name", parameter.name}, {"value", parameter.value}});
  std::printf("%s\n", all.dump().c_str());
  return 0;
}

// Returns the best rating found, or null.
ordered_json rating_of(const embedding::ChoiceModel& model, std::uint64_t seed, std::uint64_t work,
                       const embedding::BestParameters& parameters) {
  embedding::BestSearch search(model, seed, true, parameters);
  InlineExecutor executor;
  Budget budget(work, {});
  explore(search, executor, budget);
  if (!search.best()) return nullptr;
  return search.best()->rating;
}

int measure(const std::vector<std::string>& cases, std::uint64_t seeds, std::uint64_t work,
            const embedding::BestParameters& parameters) {
  ordered_json all;
  for (const std::string& name : cases) {
    const Workload workload = require(load_workload(name));
    const embedding::Reservation reserved = require(embedding::reserve(*workload.problem));
    const embedding::OptionPool pool(enumerate_inline(workload));
    const embedding::ChoiceModel model(pool, reserved.topology);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
      all[name].push_back(rating_of(model, seed, work, parameters));
  }
  std::printf("%s\n", all.dump().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Ratings of best mode at fixed work, with parameters other than the defaults");
  bool only_list = false;
  std::vector<std::string> cases;
  std::vector<std::string> scaled;
  double factor = 1;
  std::uint64_t seeds = 1;
  std::uint64_t work = 1'000'000;
  app.add_flag("--list", only_list, "Print every parameter with its default");
  app.add_option("--case", cases, "Golden cases or workloads to plan");
  app.add_option("--scale", scaled, "Parameters to multiply by --factor");
  app.add_option("--factor", factor, "What parameters are multiplied by");
  app.add_option("--seeds", seeds, "Searches per case, from seed 1");
  app.add_option("--work", work, "Work limit of each search");
  CLI11_PARSE(app, argc, argv);
  if (only_list) return list();
  embedding::BestParameters parameters;
  for (const std::string& name : scaled) {
    bool known = false;
    for (const Parameter& parameter : all_parameters()) {
      if (parameter.name != name) continue;
      parameter.scale(parameters, factor);
      known = true;
    }
    if (!known) {
      std::fprintf(stderr, "perf_parameters: there is no parameter \"%s\"; --list names them\n",
                   name.c_str());
      return 2;
    }
  }
  return measure(cases, seeds, work, parameters);
}
