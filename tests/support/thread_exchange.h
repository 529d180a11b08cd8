// Runs code for several MPI processes in threads of one program.
#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/execution/processes/exchange.h"

namespace shardwright {

// Passes messages between threads. Thread safety: each process has its own thread.
class MessageBoard {
 public:
  explicit MessageBoard(std::uint32_t processes)
      : messages_(processes), barrier_(static_cast<std::ptrdiff_t>(processes)) {}

  std::uint32_t processes() const { return static_cast<std::uint32_t>(messages_.size()); }
  std::vector<std::string> all_gather(std::uint32_t process, std::string message) {
    messages_[process] = std::move(message);
    barrier_.arrive_and_wait();
    std::vector<std::string> all = messages_;
    barrier_.arrive_and_wait();  // waits until all have read
    return all;
  }

 private:
  std::vector<std::string> messages_;
  std::barrier<> barrier_;
};

// The Exchange of one process. Thread safety: one thread. Refers to the board.
class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(MessageBoard& board, std::uint32_t process) : board_(&board), process_(process) {}

  std::uint32_t processes() const override { return board_->processes(); }
  std::uint32_t process() const override { return process_; }
  std::optional<std::vector<std::string>> all_gather(const std::string& message) override {
    return board_->all_gather(process_, message);
  }

 private:
  MessageBoard* board_;
  std::uint32_t process_;
};

// Calls body(exchange) in one thread per process and returns the answers by process. `body` must
// not throw, because the other threads would wait for ever.
template <class Body>
auto run_processes(std::uint32_t processes, const Body& body) {
  using Answer = decltype(body(std::declval<ThreadExchange&>()));
  MessageBoard board(processes);
  std::vector<std::optional<Answer>> found(processes);
  std::vector<std::jthread> threads;
  for (std::uint32_t process = 0; process < processes; ++process) {
    threads.emplace_back([&, process] {
      ThreadExchange exchange(board, process);
      found[process] = body(exchange);
    });
  }
  threads.clear();
  std::vector<Answer> answers;
  for (std::optional<Answer>& answer : found)
    answers.push_back(*std::move(answer));
  return answers;
}

}  // namespace shardwright
