// How processes that work on one request exchange messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardwright {

// An all-gather of byte messages. A null pointer to an Exchange means a single process.
// Implementations: MPI (runtime/execution/mpi), and a callback of the C API that Python's exchanges
// use.
// Thread safety: only the thread that calls the planner may call all_gather().
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Both are constant: processes() >= 1, and 0 <= process() < processes().
  virtual std::uint32_t processes() const = 0;
  virtual std::uint32_t process() const = 0;

  // Sends `message`, which may be empty, to all processes. Returns the messages of all processes,
  // this one included; index: process. All processes must call it equally often, and they wait for
  // each other. Returns nullopt if the exchange failed; then it is not called again. A failure in
  // one process must be a failure in all processes.
  virtual std::optional<std::vector<std::string>> all_gather(const std::string& message) = 0;
};

}  // namespace shardwright
