// The processes that a launcher started to run one command together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "runtime/execution/processes/process_link.h"
#include "runtime/execution/processes/task_dealer.h"

namespace shardwright::cli {

// All processes run the same command on files that the first process reads. Only the answer of the
// first process is used. Without a launcher there is one process.
// Thread safety: one thread at a time.
class ProcessGroup final : public TaskDealer {
 public:
  // Errors: as link_processes(); kUnsupported if the processes have different versions.
  static Result<ProcessGroup> join();

  ProcessGroup(ProcessGroup&&) noexcept;
  ProcessGroup& operator=(ProcessGroup&&) = delete;
  // Unless finish() was called, tells the other processes that this process failed.
  ~ProcessGroup() override;

  bool is_alone() const { return link_ == nullptr; }
  // Returns null if this is the only process.
  Exchange* exchange() const { return link_.get(); }
  // Returns a token that is stopped by `stop` or by the loss of a process. The first remaining
  // process prints the loss at once. See ProcessLink::heed() for the effect of `stop` on the link.
  // Preconditions: called once; the group is not moved afterwards.
  std::stop_token heed(std::stop_token stop);

  // Returns the contents of a file, which the first process reads for all processes. Errors, in all
  // processes: as read_file(); kMachineLimit if a process was lost.
  Result<std::string> read(const std::string& path) const;

  // As TaskDealer::deal(). If this is the only process, each answer goes to `take` at once.
  bool deal(std::size_t count, const std::function<std::string(std::size_t)>& work,
            const std::function<void(std::size_t, const std::string&)>& take) override;

  // Waits for the other processes. Returns the exit status of this process: `status` in the first
  // process, kDone in the others. After a loss, ends all processes.
  int finish(int status);

 private:
  explicit ProcessGroup(std::unique_ptr<ProcessLink> link);

  Status greet();
  Error loss() const;
  void tell_loss() const;
  bool speaks_after_loss() const;
  int end_after_loss() const;

  // Requests a stop when the user does or a process is lost, whichever comes first.
  struct StopOnLoss;

  std::unique_ptr<ProcessLink> link_;         // null if this is the only process
  std::unique_ptr<StopOnLoss> stop_on_loss_;  // null until needed
  std::vector<std::string> places_;           // index: process; "pid 7 on host"
  std::unique_ptr<std::atomic<bool>> has_told_ = std::make_unique<std::atomic<bool>>(false);
};

}  // namespace shardwright::cli
