// perf_plan_cases: plans whole workloads and prints what each took, beside TorchRec's times.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "perf/macro/isolated.h"
#include "perf/macro/peak_memory.h"
#include "perf/support/workloads.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/file.h"

namespace {

using namespace shardwright;
using namespace shardwright::perf;
using nlohmann::json;

struct Arguments {
  std::vector<std::string> cases;
  int threads = 1;
  int repeat = 3;
  std::optional<std::uint64_t> work_limit;
  bool recorded_space = false;
  bool enumerate_only = false;
  std::string output = "-";
};

// Every recorded case on which TorchRec's loop takes more than 5 s, one small case, and large
// workloads. The two largest workloads have a work limit.
struct DefaultCase {
  const char* name;
  std::optional<std::uint64_t> work_limit;
};
constexpr DefaultCase kDefaultCases[] = {
    {"20", {}},
    {"36", {}},
    {"40", {}},
    {"41", {}},
    {"42", {}},
    {"43", {}},
    {"ads_bootstrap_1000t@128", {}},
    {"torchrec_enumbench_6400t@2048", 20'000'000'000},
    {"ads_bootstrap_5384t@1024", 20'000'000'000},
};

struct Samples {
  std::vector<double> enumerate_s, reserve_s, explore_s, total_s;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void add_times(const Samples& samples, json& out) {
  out["samples"] = {{"enumerate_s", samples.enumerate_s},
                    {"reserve_s", samples.reserve_s},
                    {"explore_s", samples.explore_s},
                    {"total_s", samples.total_s}};
  out["enumerate_s"] = median(samples.enumerate_s);
  out["reserve_s"] = median(samples.reserve_s);
  out["explore_s"] = median(samples.explore_s);
  out["total_s"] = median(samples.total_s);
}

void add_result(const EmbeddingPlanResult& result, json& out) {
  out["threads"] = result.threads;
  out["options"] = result.search_space ? result.search_space->size() : 0;
  out["num_proposals"] = result.num_proposals;
  out["num_plans"] = result.num_plans;
  out["work_steps"] = result.work.work_steps;
  out["best_rating"] = result.best_rating ? json(*result.best_rating) : json();
  out["stopped_by"] =
      result.stopped_by == StopReason::kFinished ? json() : json(name_of(result.stopped_by));
}

// Adds TorchRec's recorded time. The ratio of the times is added only if the search ran to its end.
void add_torchrec(const json& answer, const EmbeddingPlanResult& result, bool enumerated,
                  json& out) {
  const json timing = answer.value("timing", json::object());
  const bool finished = result.stopped_by == StopReason::kFinished;
  json& torchrec = out["torchrec"];
  if (timing.contains("loop_s")) {
    torchrec["loop_s"] = timing["loop_s"];
    if (finished)
      out["loop_ratio"] = timing["loop_s"].get<double>() / out["explore_s"].get<double>();
  }
  if (timing.contains("enumerate_s")) {
    torchrec["enumerate_s"] = timing["enumerate_s"];
    if (enumerated) {
      out["enumerate_ratio"] =
          timing["enumerate_s"].get<double>() / out["enumerate_s"].get<double>();
    }
  }
}

// Plans `repeat` times. Fills `samples` with the times of all runs and returns the last result.
EmbeddingPlanResult measure(const Workload& workload, const PlanOptions& options,
                            const std::shared_ptr<const embedding::SearchSpace>& space, int repeat,
                            Samples& samples) {
  std::optional<EmbeddingPlanResult> result;
  for (int i = 0; i < repeat; ++i) {
    result.reset();
    result.emplace(require(plan_embedding(workload.problem, options, space)));
    samples.enumerate_s.push_back(result->timing.enumerate_s);
    samples.reserve_s.push_back(result->timing.reserve_s);
    samples.explore_s.push_back(result->timing.explore_s);
    samples.total_s.push_back(result->timing.total_s);
  }
  return std::move(*result);
}

json run_case(const Arguments& arguments, const std::string& name,
              std::optional<std::uint64_t> work_limit) {
  const Workload workload = require(load_workload(name));
  std::shared_ptr<const embedding::SearchSpace> space;
  if (arguments.recorded_space && !workload.answer_path.empty()) {
    space = require(read_search_space(require(read_file(workload.answer_path)), workload.problem));
  }
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  options.threads = arguments.threads;
  options.work_limit = arguments.enumerate_only ? std::optional<std::uint64_t>(0) : work_limit;

  json out = {{"name", workload.name},
              {"tables", workload.problem->tables().size()},
              {"ranks", workload.problem->topology().world_size()}};
  const bool enumerated = space == nullptr;
  restart_peak();
  const ResidentMemory before = resident_memory();
  Samples samples;
  const EmbeddingPlanResult result = measure(workload, options, space, arguments.repeat, samples);
  const ResidentMemory after = resident_memory();
  add_times(samples, out);
  add_result(result, out);
  out["peak_bytes"] = after.peak;
  out["peak_above_input_bytes"] = after.peak - std::min(after.peak, before.now);
  if (result.work.work_steps > 0) {
    out["ns_per_placed_shard"] =
        out["explore_s"].get<double>() * 1e9 / static_cast<double>(result.work.work_steps);
  }
  if (!workload.answer_path.empty()) {
    add_torchrec(json::parse(require(read_file(workload.answer_path))), result, enumerated, out);
  }
  return out;
}

json run_all(const Arguments& arguments) {
  std::vector<std::pair<std::string, std::optional<std::uint64_t>>> chosen;
  for (const std::string& name : arguments.cases)
    chosen.emplace_back(name, arguments.work_limit);
  if (chosen.empty()) {
    for (const DefaultCase& each : kDefaultCases) {
      chosen.emplace_back(each.name, arguments.work_limit ? arguments.work_limit : each.work_limit);
    }
  }
  json cases = json::array();
  for (const auto& [name, work_limit] : chosen) {
    const auto body = [&arguments, &case_name = name, &limit = work_limit] {
      return run_case(arguments, case_name, limit).dump();
    };
    cases.push_back(json::parse(require(run_isolated(name, body))));
  }
  return {{"format", "shardwright.perf.plan_cases/1"}, {"cases", cases}};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Plans whole workloads, each in a process of its own, and writes as JSON what each took.\n"
      "Run it in the repository's root.");
  Arguments arguments;
  app.add_option("--case", arguments.cases,
                 "Golden case (36), workload on ranks (ads_bootstrap_1000t@128) or problem file; "
                 "repeatable. Default: the cases of perf/README.md");
  app.add_option("--threads", arguments.threads, "Workers; 0 = all cores")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--repeat", arguments.repeat, "Runs of each case; medians are reported")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--work-limit", arguments.work_limit, "Stop each search after so many shards");
  app.add_flag("--recorded-space", arguments.recorded_space,
               "Use the search space that TorchRec recorded, where there is one");
  app.add_flag("--enumerate-only", arguments.enumerate_only, "Enumerate and explore nothing");
  app.add_option("-o,--output", arguments.output, "Where the JSON goes")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Status written = write_file(arguments.output, run_all(arguments).dump(2) + "\n");
  if (!written.ok()) stop_with(written.error());
  return 0;
}
