// What connects the processes that a launcher such as mpirun started.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/execution/processes/exchange.h"

namespace shardwright {

// An exchange that notices when another process dies or hangs. Implementation:
// runtime/execution/mpi. Thread safety: as Exchange. Destroying it waits for the other processes,
// unless one was lost.
class ProcessLink : public Exchange {
 public:
  // After `stop` is requested, a shorter silence of a process counts as a loss, because the sender
  // of the request may have ended that process.
  virtual void heed(std::stop_token stop) = 0;
  // Returns the next number of a counter 0, 1, 2, ... that all processes share: each number goes to
  // one process. Returns nothing after a loss.
  virtual std::optional<std::uint64_t> next_number() = 0;
  // Sends a message to process 0, which may be this one. Does not wait for the message to arrive.
  virtual void post(std::string message) = 0;
  // In process 0, returns the messages that have arrived, in any order. With `waits`, waits for a
  // message; an empty list then means that a process was lost.
  virtual std::vector<std::string> messages(bool waits) = 0;
  // Returns the process that did not answer, if a process was lost. After a loss exchanges fail.
  virtual std::optional<std::uint32_t> lost() const = 0;
  // A token that is stopped when a process is lost, so that a search can end before an exchange.
  virtual std::stop_token loss() const = 0;
  // Ends all processes of the launch, this one and hanging ones included, with this exit status.
  // Called after a loss, when no process can wait for the others any more.
  virtual void abort(int status) = 0;
};

}  // namespace shardwright
