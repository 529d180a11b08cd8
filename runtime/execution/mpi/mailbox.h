// Messages between the processes of MPI_COMM_WORLD.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardwright {

// A message to a single process, not a part of an all-gather.
// Thread safety: a value.
struct Message {
  enum Kind : int { kAskNumber = 3, kNumber = 4, kPost = 5 };

  std::uint32_t from = 0;
  int kind = kPost;
  std::string text;
};

// Sends messages to all processes (for all-gathers) and queues those that arrive, by sender. Also
// sends messages to single processes and signs of life, and remembers when each process was last
// heard of. Only the constructor and end(), which start and end MPI, wait for other processes.
// Thread safety: one thread, the only one that calls MPI.
class Mailbox {
 public:
  using Clock = std::chrono::steady_clock;

  Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Returns false if MPI could not start. Then no other member may be called.
  bool is_open() const { return processes_ > 0; }
  std::uint32_t processes() const { return processes_; }
  std::uint32_t process() const { return process_; }

  void send(std::string message);
  void send_message(std::uint32_t to, Message::Kind kind, std::string text);
  // Sends a sign of life to every process to which the previous sign has left.
  void beat();
  // Takes in messages that have arrived. Returns true if there was any.
  bool receive();
  // Returns true if no message waits to be sent.
  bool is_sent();

  // Returns true if every other process has a message in the queue.
  bool has_all() const;
  // Takes the oldest queued message of every other process. Returns these and the last message that
  // this process sent; index: process. Precondition: has_all().
  std::vector<std::string> take_all();

  // Returns the messages to this process alone that have arrived since the last call.
  std::vector<Message> take_messages();

  // Returns the first process from which nothing arrived since `since`, or nullopt.
  std::optional<std::uint32_t> silent_since(Clock::time_point since) const;
  // Treats all processes as heard of at `now`.
  void forgive(Clock::time_point now);

  // Ends MPI; waits until all processes call it.
  void end();

 private:
  struct Incoming {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Outgoing {
    std::shared_ptr<const std::string> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  // A message that is still arriving.
  struct ComingLetter {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  bool take_next();
  void start_to_send(std::uint32_t to, int tag, std::shared_ptr<const std::string> text);
  void accept(const MPI_Status& found);

  std::uint32_t processes_ = 0;
  std::uint32_t process_ = 0;
  std::shared_ptr<const std::string> own_;   // the last message sent to all
  std::vector<std::deque<Incoming>> inbox_;  // by sender; some may still be arriving
  std::list<ComingLetter> letters_;
  std::list<Outgoing> outbox_;            // messages that have not left
  std::vector<MPI_Request> beats_;        // index: process
  std::vector<Clock::time_point> heard_;  // index: process
};

}  // namespace shardwright
