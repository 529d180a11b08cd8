// The seam between algorithms and processes: what lanes of several processes tell each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardwright {

// What a process sent in a search: the same for any machine, and for any number of threads.
// Thread safety: a value.
struct ExchangeTraffic {
  std::uint64_t rounds = 0;  // in which all exchanged messages
  std::uint64_t bytes = 0;
  std::uint64_t most_bytes = 0;  // in one round

  void add_round(std::uint64_t sent) {
    ++rounds;
    bytes += sent;
    most_bytes = std::max(most_bytes, sent);
  }
};

// An all-gather of byte messages. A search calls it between rounds only and sends what changed: an
// edit of the plan that all know, choices, a bound. No exchange (a null pointer) is one process.
// Implementations: threads that stand for processes (runtime/execution/processes), MPI
// (runtime/execution/mpi), and a callback of the C API, on which those in Python stand.
// Thread safety: all_gather() belongs to the thread of the search.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Both constant. processes() is at least 1, and process() is less.
  virtual std::uint32_t processes() const = 0;
  virtual std::uint32_t process() const = 0;

  // Sends `message` to all processes and returns the messages of all, by process, its own included.
  // All processes call this equally often and wait for each other. Messages may be empty. Returns
  // nothing if that failed, and is not called again then: what fails in one process must fail in
  // all, as a connection does that is lost.
  virtual std::optional<std::vector<std::string>> all_gather(const std::string& message) = 0;
};

}  // namespace shardwright
