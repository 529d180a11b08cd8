// The messages that one request's processes send each other, from the first to the last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "runtime/execution/processes/exchange.h"

namespace shardwright {

// Ends when a process sends nothing, which a process does at the latest when its Gathering is
// destroyed: nobody waits for one that failed. The all-gather in which a process first sends
// nothing is the last one in every process. Thread safety: one thread at a time. Refers to the
// exchange.
class Gathering {
 public:
  explicit Gathering(Exchange& exchange) : exchange_(&exchange) {}
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;
  ~Gathering() {
    if (!ended_) exchange_->all_gather({});
  }

  // The messages of all processes, by process. Nothing if a process has left, or if the exchange
  // failed. Precondition: the message is not empty.
  std::optional<std::vector<std::string>> gather(const std::string& message) {
    if (ended_) return std::nullopt;
    auto all = exchange_->all_gather(message);
    const auto has_left = [](const std::string& received) { return received.empty(); };
    ended_ = !all || all->size() != exchange_->processes() ||
             std::any_of(all->begin(), all->end(), has_left);
    return ended_ ? std::nullopt : std::move(all);
  }

  // Compares what the processes were given. A process that has left is not compared. Errors:
  // kInvalidInput at "exchange" if a digest differs.
  Status agree_on(const std::string& digest) {
    const auto digests = gather(digest);
    for (std::size_t other = 0; digests && other < digests->size(); ++other) {
      if ((*digests)[other] == digest) continue;
      return invalid_input("exchange", "process " + std::to_string(other) + " and process " +
                                           std::to_string(exchange_->process()) +
                                           " were not given the same problem, seed and limits");
    }
    return {};
  }

 private:
  Exchange* exchange_;
  bool ended_ = false;
};

}  // namespace shardwright
