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

// A message to one process, outside of the exchange.
// Thread safety: a value.
struct Message {
  enum Kind : int { kAskNumber = 3, kNumber = 4, kPost = 5 };

  std::uint32_t from = 0;
  int kind = kPost;
  std::string text;
};

// Sends each message to all other processes and queues the messages that arrive, by sender. Sends
// messages to single processes. Sends signs of life and remembers when each process was last heard
// of. Only the constructor and end(), which start and end MPI, wait for other processes.
// Thread safety: one thread, the only one that calls MPI.
class Mailbox {
 public:
  using Clock = std::chrono::steady_clock;

  Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Returns false if MPI could not start; then nothing else may be called.
  bool is_open() const { return processes_ > 0; }
  std::uint32_t processes() const { return processes_; }
  std::uint32_t process() const { return process_; }

  void send(std::string message);
  void send_message(std::uint32_t to, Message::Kind kind, std::string text);
  // Sends a sign of life to every process, unless the previous sign to this process has not left.
  void beat();
  // Takes in what has arrived. Returns true if anything has.
  bool receive();
  // Returns true if everything that was sent has left.
  bool is_sent();

  // Returns true if a message of every other process has arrived that was not taken yet.
  bool has_all() const;
  // Takes the oldest message of every other process, and the last message that this process sent.
  // Returns them by process. Precondition: has_all().
  std::vector<std::string> take_all();

  // Returns the messages that have arrived since the last call.
  std::vector<Message> take_messages();

  // Returns the first process that was last heard of before `since`.
  std::optional<std::uint32_t> silent_since(Clock::time_point since) const;
  // Counts all processes as heard of now.
  void forgive(Clock::time_point now);

  // Ends MPI when all processes do.
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

  // A message on its way.
  struct ComingLetter {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  bool take_next();
  void start_to_send(std::uint32_t to, int tag, std::shared_ptr<const std::string> text);
  void accept(const MPI_Status& found);

  std::uint32_t processes_ = 0;
  std::uint32_t process_ = 0;
  std::shared_ptr<const std::string> own_;   // the last message sent
  std::vector<std::deque<Incoming>> inbox_;  // by sender; some may still be arriving
  std::list<ComingLetter> letters_;
  std::list<Outgoing> outbox_;            // what has not left
  std::vector<MPI_Request> beats_;        // by process
  std::vector<Clock::time_point> heard_;  // by process
};

}  // namespace shardwright
