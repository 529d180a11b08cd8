#include "perf/support/workloads.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/io/file.h"

namespace shardwright::perf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCases = "tests/golden/embedding/cases";
constexpr const char* kAnswers = "tests/golden/embedding/answers";
constexpr const char* kWorkloads = "tests/golden/workloads";
constexpr std::string_view kSuffix = ".json.gz";
constexpr std::int64_t kRanksPerHost = 8;
constexpr std::int64_t kHbmBytes = std::int64_t{80} << 30;

// Selects the release of TorchRec that gave the recorded answers and baselines.
WorkloadFile recorded_file() {
  WorkloadFile file;
  file.overrides.torchrec = embedding::TorchRecRelease::kA48cef79;
  return file;
}

Result<WorkloadFile> find_on_ranks(const std::string& name, std::size_t at) {
  WorkloadFile file = recorded_file();
  file.name = name;
  file.path = (fs::path(kWorkloads) / (name.substr(0, at) + std::string(kSuffix))).string();
  std::int64_t ranks = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + at + 1, end, ranks);
  if (error != std::errc() || stop != end || ranks < 1) {
    return invalid_input(name, "after @ stands the number of ranks, such as @128");
  }
  file.overrides.ranks = ranks;
  file.overrides.ranks_per_host = std::min(ranks, kRanksPerHost);
  file.overrides.hbm_bytes = kHbmBytes;
  if (!fs::exists(file.path)) return invalid_input(name, "there is no workload " + file.path);
  return file;
}

Result<WorkloadFile> find_golden(const std::string& name) {
  std::error_code error;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(kCases, error)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(kSuffix)) continue;
    const std::string stem = file.substr(0, file.size() - kSuffix.size());
    if (stem == name || stem.starts_with(name + "_")) found.push_back(stem);
  }
  if (error) {
    return invalid_input(
        name, std::string("cannot list ") + kCases + "; run this in the repository's root");
  }
  if (found.empty()) return invalid_input(name, "no golden case has this name or number");
  const std::string& stem = *std::min_element(found.begin(), found.end());
  WorkloadFile file = recorded_file();
  file.name = stem;
  file.path = (fs::path(kCases) / (stem + std::string(kSuffix))).string();
  file.answer_path = (fs::path(kAnswers) / (stem + std::string(kSuffix))).string();
  return file;
}

}  // namespace

Result<WorkloadFile> find_workload(const std::string& name) {
  if (const std::size_t at = name.find('@'); at != std::string::npos)
    return find_on_ranks(name, at);
  if (name.find_first_of("/.") == std::string::npos) return find_golden(name);
  WorkloadFile file;
  file.name = fs::path(name).stem().string();
  file.path = name;
  return file;
}

Result<Workload> load_workload(const std::string& name) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const WorkloadFile file, find_workload(name));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read_file(file.path));
  SHARDWRIGHT_ASSIGN_OR_RETURN(embedding::ProblemSpec spec, read_problem(text, file.overrides));
  SHARDWRIGHT_ASSIGN_OR_RETURN(auto problem, embedding::Problem::make(std::move(spec)));
  return Workload{file.name, std::make_shared<const embedding::Problem>(std::move(problem)),
                  file.answer_path};
}

void stop_with(const Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  std::exit(2);
}

}  // namespace shardwright::perf
