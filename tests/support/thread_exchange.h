// Processes that are threads of one test.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "search/exchange.h"

namespace shardwright::test_support {

// Where the threads put their messages.
class MessageBoard {
 public:
  explicit MessageBoard(std::uint32_t processes)
      : messages_(processes), barrier_(static_cast<std::ptrdiff_t>(processes)) {}

  std::uint32_t processes() const { return static_cast<std::uint32_t>(messages_.size()); }
  std::vector<std::string> all_gather(std::uint32_t process, std::string message) {
    messages_[process] = std::move(message);
    barrier_.arrive_and_wait();
    std::vector<std::string> all = messages_;
    barrier_.arrive_and_wait();  // all have read
    return all;
  }

 private:
  std::vector<std::string> messages_;
  std::barrier<> barrier_;
};

// One of the processes. Thread safety: one thread.
class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(MessageBoard& board, std::uint32_t process) : board_(&board), process_(process) {}

  std::uint32_t processes() const override { return board_->processes(); }
  std::uint32_t process() const override { return process_; }
  std::optional<std::vector<std::string>> all_gather(const std::string& message) override {
    if (gathered_ == fail_after_) return std::nullopt;
    ++gathered_;
    most_bytes_ = std::max(most_bytes_, message.size());
    return board_->all_gather(process_, message);
  }

  // Fails in all processes at once, as a broken network does.
  void fail_after(std::size_t messages) { fail_after_ = messages; }
  std::size_t gathered() const { return gathered_; }
  std::size_t most_bytes() const { return most_bytes_; }

 private:
  MessageBoard* board_;
  std::uint32_t process_;
  std::size_t gathered_ = 0;
  std::size_t most_bytes_ = 0;
  std::optional<std::size_t> fail_after_;
};

// Calls body(exchange) in one thread per process and returns the answers by process.
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

}  // namespace shardwright::test_support
