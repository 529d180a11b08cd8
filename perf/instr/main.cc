// perf_instr: runs one region inside a function. callgrind counts that function only.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "perf/instr/allocations.h"
#include "perf/instr/quality.h"
#include "perf/instr/regions.h"
#include "perf/support/search.h"
#include "perf/support/workloads.h"

// The name of this function is the argument of callgrind's `--toggle-collect`. The function is not
// inlined, and its call is no tail call, so callgrind sees it entered and left.
extern "C" __attribute__((noinline)) void shardwright_measured_region(
    const shardwright::perf::Action& action) {
  action();
  asm volatile("" : : : "memory");
}

namespace {

using namespace shardwright::perf;
using nlohmann::json;

void print(const json& document) { std::printf("%s\n", document.dump().c_str()); }

int list_regions() {
  json all = json::array();
  for (const Region& region : regions())
    all.push_back({{"name", region.name}, {"what", region.what}});
  print(all);
  return 0;
}

int run_region(const std::string& name) {
  for (const Region& region : regions()) {
    if (region.name != name) continue;
    const Action action = region.prepare();
    start_counting();
    shardwright_measured_region(action);
    const Allocations allocations = stop_counting();
    print({{"region", name}, {"allocations", allocations.count}, {"bytes", allocations.bytes}});
    return 0;
  }
  std::fprintf(stderr, "perf_instr: there is no region \"%s\"; --list names them\n", name.c_str());
  return 2;
}

// Runs the whole compat search of a case. work_span.py splits its profile by stage.
int explore_case(const std::string& name) {
  const Workload workload = require(load_workload(name));
  const auto space = enumerate_inline(workload);
  std::uint64_t batches = 0;
  std::uint64_t proposals = 0;
  const Action action = [&] {
    const auto count = [&](const auto&) { ++batches; };
    proposals = explore_inline(workload, space, std::nullopt, count).num_proposals;
  };
  shardwright_measured_region(action);
  print({{"case", workload.name}, {"batches", batches}, {"proposals", proposals}});
  return 0;
}

int print_quality() {
  nlohmann::ordered_json all;  // in the order of the cases
  for (const Quality& quality : measure_quality()) {
    all[quality.name] = quality.best_rating ? json(*quality.best_rating) : json();
  }
  std::printf("%s\n", all.dump().c_str());
  return 0;
}

int print_fingerprint() {
  print({{"compiler", SHARDWRIGHT_PERF_COMPILER},
         {"compiler_version", __VERSION__},
         {"flags", SHARDWRIGHT_PERF_FLAGS}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs one region of a planning run, for callgrind and for counting allocations");
  std::string region, explored;
  bool list = false, quality = false, fingerprint = false;
  auto* const what = app.add_option_group("what");
  what->add_option("--region", region, "Run this region once, print its allocations");
  what->add_option("--explore", explored, "Explore this case once, print batches and proposals");
  what->add_flag("--list", list, "List the regions");
  what->add_flag("--quality", quality, "Best ratings at fixed work budgets");
  what->add_flag("--fingerprint", fingerprint, "How this program was built");
  what->require_option(1);
  CLI11_PARSE(app, argc, argv);
  if (list) return list_regions();
  if (!explored.empty()) return explore_case(explored);
  if (quality) return print_quality();
  if (fingerprint) return print_fingerprint();
  return run_region(region);
}
