// Processes that mpirun started, linked by messages of MPI.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "runtime/execution/mpi/mailbox.h"
#include "runtime/execution/processes/process_link.h"

namespace shardwright {

// A thread of its own makes all calls of MPI; the members hand it work and wait.
// Thread safety: as ProcessLink.
class MpiLink final : public ProcessLink {
 public:
  // Returns when MPI has started.
  MpiLink();
  ~MpiLink() override;

  // Returns false if MPI could not start; then nothing else may be called.
  bool is_open() const { return processes_ > 0; }
  std::uint32_t processes() const override { return processes_; }
  std::uint32_t process() const override { return process_; }
  std::optional<std::vector<std::string>> all_gather(const std::string& message) override;
  void heed(std::stop_token stop) override;
  std::optional<std::uint32_t> lost() const override;
  void abort(int status) override;

 private:
  using Clock = Mailbox::Clock;

  // Of the two threads, under the lock.
  struct Shared {
    bool has_started = false;
    std::optional<std::string> outgoing;
    bool is_gathering = false;
    std::optional<std::vector<std::string>> gathered;
    std::optional<std::uint32_t> lost;
    std::stop_token stop;
    std::optional<int> abort_status;
    bool is_closing = false;
  };

  void serve();
  bool serve_once(Mailbox& mail);
  void keep_alive(Mailbox& mail, Clock::time_point now);
  bool has_ended(Mailbox& mail);
  void rest(bool has_moved);

  std::uint32_t processes_ = 0;
  std::uint32_t process_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable to_thread_;
  std::condition_variable from_thread_;
  Shared shared_;
  // Of the thread.
  Clock::time_point last_served_;
  Clock::time_point last_beat_;
  unsigned idle_turns_ = 0;
  std::thread thread_;  // last: it uses the others
};

}  // namespace shardwright
