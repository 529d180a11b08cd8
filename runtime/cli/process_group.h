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

// All processes run the same command on the files that the first one reads. Only the first one's
// answer is used. Without a launcher the group is one process.
// Thread safety: one thread at a time.
class ProcessGroup final : public TaskDealer {
 public:
  // Errors: as link_processes(); kUnsupported if processes are of different versions.
  static Result<ProcessGroup> join();

  ProcessGroup(ProcessGroup&&) noexcept;
  ProcessGroup& operator=(ProcessGroup&&) = delete;
  // Tells the others that this process failed, unless finish() was called.
  ~ProcessGroup() override;

  bool is_alone() const { return link_ == nullptr; }
  // Null if this process is alone.
  Exchange* exchange() const { return link_.get(); }
  // Returns a token that requests a stop when `stop` does or when a process is lost. The first of
  // the remaining processes prints the loss at once. See ProcessLink::heed() for the effect of
  // `stop` on the link. Preconditions: called once; the group is not moved afterwards.
  std::stop_token heed(std::stop_token stop);

  // Returns the contents of a file, which the first process reads for all. Errors: as read_file(),
  // in all processes; kMachineLimit if a process was lost.
  Result<std::string> read(const std::string& path) const;

  // A process that is alone passes each answer to `take` at once.
  bool deal(std::size_t count, const std::function<std::string(std::size_t)>& work,
            const std::function<void(std::size_t, const std::string&)>& take) override;

  // Waits for the other processes. Returns the exit status of this process: `status` in the first
  // process, kDone in the others. If a process was lost, ends all processes.
  int finish(int status);

 private:
  explicit ProcessGroup(std::unique_ptr<ProcessLink> link);

  Status greet();
  Error loss() const;
  void tell_loss() const;
  bool speaks_after_loss() const;
  int end_after_loss() const;

  // Requests a stop at the user's request or the loss of a process, whichever comes first.
  struct StopOnLoss;

  std::unique_ptr<ProcessLink> link_;         // null if alone
  std::unique_ptr<StopOnLoss> stop_on_loss_;  // null until needed
  std::vector<std::string> places_;           // of the processes: "pid 7 on host"
  std::unique_ptr<std::atomic<bool>> has_told_ = std::make_unique<std::atomic<bool>>(false);
};

}  // namespace shardwright::cli
