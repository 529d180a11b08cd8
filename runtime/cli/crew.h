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

// One process if no launcher started several. Otherwise the others run the same command on what the
// first one reads, and their answers are dropped.
// Thread safety: one thread at a time.
class Crew final : public TaskDealer {
 public:
  // Errors: as link_processes(); kUnsupported if processes are of different versions.
  static Result<Crew> join();

  Crew(Crew&&) noexcept;
  Crew& operator=(Crew&&) = delete;
  // Tells the others that this process failed, unless finish() was called.
  ~Crew() override;

  bool is_alone() const { return link_ == nullptr; }
  // Null if this process is alone.
  Exchange* exchange() const { return link_.get(); }
  // The link then expects processes to end. Returns a token that is also requested when a process
  // is lost, which the first process that is left says at once. Call it once; the crew stays where
  // it is from then on.
  std::stop_token heed(std::stop_token stop);

  // The contents of a file, which the first process reads. Errors: as read_file(), in all
  // processes; kMachineLimit if a process was lost.
  Result<std::string> read(const std::string& path) const;

  // Alone, each answer is taken at once.
  bool deal(std::size_t count, const std::function<std::string(std::size_t)>& work,
            const std::function<void(std::size_t, const std::string&)>& take) override;

  // Waits for the others. Returns the exit status of this process, which in the first one is
  // `status`. If a process was lost, ends all.
  int finish(int status);

 private:
  explicit Crew(std::unique_ptr<ProcessLink> link);

  Status greet();
  Error loss() const;
  void tell_loss() const;
  bool speaks_after_loss() const;
  int end_after_loss() const;

  // Passes on whichever comes first, the user's request or the loss of a process.
  struct StopOnLoss;

  std::unique_ptr<ProcessLink> link_;         // null if alone
  std::unique_ptr<StopOnLoss> stop_on_loss_;  // null until needed
  std::vector<std::string> places_;           // of the processes: "pid 7 on host"
  std::unique_ptr<std::atomic<bool>> has_told_ = std::make_unique<std::atomic<bool>>(false);
};

}  // namespace shardwright::cli
