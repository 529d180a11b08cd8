// A connection of the processes that a launcher such as mpirun started.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/execution/processes/exchange.h"

namespace shardwright {

// An exchange that notices when another process dies or hangs. Implementation:
// runtime/execution/mpi. The destructor waits for the other processes unless a process was lost.
// Thread safety: as Exchange.
class ProcessLink : public Exchange {
 public:
  // After a request of `stop`, a shorter silence of a process counts as its loss: whoever stopped
  // this process may have ended the other one.
  virtual void heed(std::stop_token stop) = 0;
  // Returns the next number (0, 1, 2, ...) of a counter that all processes share. Each number goes
  // to one process. Returns nullopt after a loss.
  virtual std::optional<std::uint64_t> next_number() = 0;
  // Sends a message to process 0, also from process 0 itself. Does not wait for its arrival.
  virtual void post(std::string message) = 0;
  // In process 0, returns the messages that have arrived, in any order. With `waits`, waits for at
  // least one message; an empty list then means that a process was lost.
  virtual std::vector<std::string> messages(bool waits) = 0;
  // Returns the process that was lost, if any. After a loss every exchange fails.
  virtual std::optional<std::uint32_t> lost() const = 0;
  // Returns a token that is stopped when a process is lost, so that a search can end early.
  virtual std::stop_token loss() const = 0;
  // Ends all processes of the launch, including this process and hanging ones, with this exit
  // status. Called after a loss, when processes can no longer wait for each other.
  virtual void abort(int status) = 0;
};

}  // namespace shardwright
