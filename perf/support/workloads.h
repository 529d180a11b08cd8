// The problems that measurements run on: golden cases and workloads of the repository.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/io/embedding/problem_json.h"

namespace shardwright::perf {

// A problem ready to plan, with its name in results.
struct Workload {
  std::string name;
  std::shared_ptr<const embedding::Problem> problem;
  std::string answer_path;  // TorchRec's recorded answer; empty if there is none
};

// The text of a problem file, and the overrides that follow from the workload's name.
struct WorkloadFile {
  std::string name;
  std::string path;
  std::string answer_path;
  ProblemOverrides overrides;
};

// `name` is one of
// - the number or the whole name of a golden case: `36`, `36_mid_100t_16r_2h_default`;
// - a workload and its number of ranks, with 8 ranks per host and 80 GiB each:
//   `ads_bootstrap_1000t@128`;
// - the path of a problem file, recognised by its slash or dot.
// Paths are relative to the repository's root, which must be the working directory. Errors:
// kInvalidInput with `where` = the name.
Result<WorkloadFile> find_workload(const std::string& name);
Result<Workload> load_workload(const std::string& name);

// Returns the workload with its problem changed by `change`.
template <class Change>
Result<Workload> with_spec(const Workload& workload, const Change& change) {
  embedding::ProblemSpec spec = workload.problem->spec();
  change(spec);
  SHARDWRIGHT_ASSIGN_OR_RETURN(auto problem, embedding::Problem::make(std::move(spec)));
  return Workload{workload.name, std::make_shared<const embedding::Problem>(std::move(problem)),
                  workload.answer_path};
}

// Returns the value. If there is an error, require() prints it and exits the process.
[[noreturn]] void stop_with(const Error& error);
template <class T>
T require(Result<T> result) {
  if (!result.ok()) stop_with(result.error());
  return std::move(result).value();
}

}  // namespace shardwright::perf
