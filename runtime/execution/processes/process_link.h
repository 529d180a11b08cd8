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
  // After `stop` is requested, less silence of a process counts as a loss: whoever asks this
  // process to stop may have ended another one.
  virtual void heed(std::stop_token stop) = 0;
  // The next number of a counter 0, 1, 2, ... that all processes share: each number goes to one
  // process. Nothing after a loss.
  virtual std::optional<std::uint64_t> next_number() = 0;
  // Sends a letter to process 0, which may be this one. Does not wait for it.
  virtual void post(std::string letter) = 0;
  // In process 0, the letters that have come, in any order. Waits for one if `waits`; then nothing
  // means that a process was lost.
  virtual std::vector<std::string> letters(bool waits) = 0;
  // The process that did not answer, if one was lost. All later exchanges fail.
  virtual std::optional<std::uint32_t> lost() const = 0;
  // A token that is stopped when a process is lost: a search need not wait for an exchange.
  virtual std::stop_token loss() const = 0;
  // Ends all processes of the launch, this one and those that hang included, with this exit status.
  // For after a loss: nobody could wait for the others.
  virtual void abort(int status) = 0;
};

}  // namespace shardwright
