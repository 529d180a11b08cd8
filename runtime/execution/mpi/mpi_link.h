// Links the processes that mpirun started by messages of MPI.
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

// A dedicated thread makes all MPI calls. The members give it work and wait for its results. Thread
// safety: as ProcessLink.
class MpiLink final : public ProcessLink {
 public:
  // Returns after MPI has started or failed to start.
  MpiLink();
  ~MpiLink() override;

  // Returns false if MPI could not start. Then no other member may be called.
  bool is_open() const { return processes_ > 0; }
  std::uint32_t processes() const override { return processes_; }
  std::uint32_t process() const override { return process_; }
  std::optional<std::vector<std::string>> all_gather(const std::string& message) override;
  void heed(std::stop_token stop) override;
  std::optional<std::uint64_t> next_number() override;
  void post(std::string message) override;
  std::vector<std::string> messages(bool waits) override;
  std::optional<std::uint32_t> lost() const override;
  std::stop_token loss() const override { return loss_.get_token(); }
  void abort(int status) override;

 private:
  using Clock = Mailbox::Clock;

  // State shared by the caller's thread and the MPI thread, guarded by the mutex.
  struct Shared {
    bool has_started = false;
    std::optional<std::string> outgoing;
    bool is_awaited = false;  // the caller's thread waits
    bool is_gathering = false;
    std::optional<std::vector<std::string>> gathered;
    std::uint64_t numbers_given = 0;  // of process 0
    bool asks_for_number = false;
    std::optional<std::uint64_t> number;
    std::vector<std::string> posts;     // to be sent
    std::vector<std::string> messages;  // of process 0
    std::optional<std::uint32_t> lost;
    std::stop_token stop;
    std::optional<int> abort_status;
    bool is_closing = false;

    bool has_work() const {
      return outgoing || asks_for_number || !posts.empty() || abort_status || is_closing;
    }
  };

  template <class IsThere>
  void wait(std::unique_lock<std::mutex>& lock, const IsThere& is_there);
  void serve();
  bool serve_once(Mailbox& mail);
  bool send(Mailbox& mail);
  bool take_messages(Mailbox& mail);
  bool complete_exchange(Mailbox& mail);
  void keep_alive(Mailbox& mail, Clock::time_point now);
  bool has_ended(Mailbox& mail);
  void rest(bool has_moved);

  std::uint32_t processes_ = 0;
  std::uint32_t process_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable to_thread_;
  std::condition_variable from_thread_;
  Shared shared_;
  std::stop_source loss_;
  // Used only by the MPI thread.
  Clock::time_point last_served_;
  Clock::time_point last_beat_;
  unsigned idle_turns_ = 0;
  std::thread thread_;  // last, since it uses the other members
};

}  // namespace shardwright
