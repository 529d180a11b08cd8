// What processes that work on one request tell each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardwright {

// An all-gather of byte messages. A null pointer stands for a single process. Implementations: MPI
// (runtime/execution/mpi) and a callback of the C API, which the exchanges in Python use.
// Thread safety: all_gather() belongs to the thread that plans.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Both constant. processes() is at least 1, and process() is less.
  virtual std::uint32_t processes() const = 0;
  virtual std::uint32_t process() const = 0;

  // Sends `message` to all processes and returns the messages of all, by process, its own included.
  // All processes call this equally often and wait for each other. Messages may be empty. Returns
  // nothing if the exchange failed, and is not called again then. An exchange that fails in one
  // process must fail in all, as with a lost connection.
  virtual std::optional<std::vector<std::string>> all_gather(const std::string& message) = 0;
};

}  // namespace shardwright
