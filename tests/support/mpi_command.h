// Runs the command under mpirun and finds its processes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/command.h"
#include "tests/support/operators/random_cost_instance.h"

namespace shardwright::test_support {

// Returns an mpirun command for one host that also works in a container: as root, without ssh, with
// more processes than cores.
inline std::string mpirun(int processes) {
  return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated "
         "OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none "
         "mpirun --oversubscribe --bind-to none -n " +
         std::to_string(processes) + " ";
}

// Returns the ids of the processes whose environment contains `tag`, indexed by MPI rank.
inline std::vector<pid_t> pids_of(const std::string& tag, int processes) {
  std::vector<pid_t> found(static_cast<std::size_t>(processes), 0);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "environ");
    const std::string environment((std::istreambuf_iterator<char>(file)), {});
    if (!contains(environment, "SHARDWRIGHT_TEST_TAG=" + tag)) continue;
    for (int process = 0; process < processes; ++process) {
      const std::string rank = "OMPI_COMM_WORLD_RANK=" + std::to_string(process);
      if (contains(environment, rank + '\0'))
        found[static_cast<std::size_t>(process)] = std::atoi(entry.path().filename().c_str());
    }
  }
  return found;
}

// Waits until the file contains `text`, or until `done` is requested.
inline void wait_for(const std::string& path, const std::string& text,
                     const std::stop_token& done) {
  const auto has_text = [&] {
    std::ifstream file(path);
    return contains(std::string(std::istreambuf_iterator<char>(file), {}), text);
  };
  while (!has_text() && !done.stop_requested())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// An instance with binding limits and no functional edges, which is not proved quickly.
inline std::string hard_instance(const Command& run, std::size_t nodes) {
  RandomCostInstanceStyle style;
  style.num_nodes = nodes;
  style.min_strategies = 4;
  style.max_strategies = 16;
  style.functional_share = 0;
  style.long_lived_share = 0.02;
  const std::string path = run.path("instance.json");
  const std::string text = contest_text(random_cost_instance(3, style));
  REQUIRE(write_file(path, text).ok());
  return path;
}

}  // namespace shardwright::test_support
