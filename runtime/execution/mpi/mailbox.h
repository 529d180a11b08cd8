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

// What a single process is sent outside of the exchange.
// Thread safety: a value.
struct Letter {
  enum Kind : int { kAskNumber = 3, kNumber = 4, kPost = 5 };

  std::uint32_t from = 0;
  int kind = kPost;
  std::string text;
};

// Sends every message to all other processes and keeps what they send, in order, by process. Sends
// letters to single ones. Sends signs of life and remembers when each process was last heard of. No
// call waits for another process, except the constructor and end(), which start and end MPI.
// Thread safety: one thread, of which no other one may call MPI.
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
  void send_letter(std::uint32_t to, Letter::Kind kind, std::string text);
  // Sends a sign of life to every process to which the last one is no longer on its way.
  void beat();
  // Takes in what has arrived. Returns true if anything has.
  bool receive();
  // Returns true if everything that was sent has left.
  bool is_sent();

  // Returns true if there is a message of every other process that was not taken yet.
  bool has_all() const;
  // These messages and the last one of this process, by process. Precondition: has_all().
  std::vector<std::string> take_all();

  // The letters that have arrived since the last call.
  std::vector<Letter> take_letters();

  // The first process that was last heard of before `since`.
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

  // A letter on its way.
  struct ComingLetter {
    Letter letter;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  bool take_next();
  void start_to_send(std::uint32_t to, int tag, std::shared_ptr<const std::string> text);
  void accept(const MPI_Status& found);

  std::uint32_t processes_ = 0;
  std::uint32_t process_ = 0;
  std::shared_ptr<const std::string> own_;   // the last message sent
  std::vector<std::deque<Incoming>> inbox_;  // by process; any may be on their way
  std::list<ComingLetter> letters_;
  std::list<Outgoing> outbox_;            // what has not left
  std::vector<MPI_Request> beats_;        // by process
  std::vector<Clock::time_point> heard_;  // by process
};

}  // namespace shardwright
