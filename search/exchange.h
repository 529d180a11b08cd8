// The seam between algorithms and processes: what lanes of several processes tell each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardwright {

// An all-gather of byte messages. A search calls it between rounds only and sends what changed.
// Implementations: a callback of the C API, torch.distributed (runtime/python), threads (tests).
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
