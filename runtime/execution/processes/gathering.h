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

// A sequence of all-gathers, which ends in every process after the first all-gather in which some
// process sends an empty message. The destructor sends an empty message, so no process waits for a
// process that failed. Thread safety: one thread at a time. Refers to the exchange.
class Gathering {
 public:
  explicit Gathering(Exchange& exchange) : exchange_(&exchange) {}
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;
  ~Gathering() {
    if (!ended_) exchange_->all_gather({});
  }

  // Returns the messages of all processes, by process; nothing if a process sent an empty message
  // or if the exchange failed. Precondition: the message is not empty.
  std::optional<std::vector<std::string>> gather(const std::string& message) {
    if (ended_) return std::nullopt;
    auto all = exchange_->all_gather(message);
    const auto has_left = [](const std::string& received) { return received.empty(); };
    ended_ = !all || all->size() != exchange_->processes() ||
             std::any_of(all->begin(), all->end(), has_left);
    return ended_ ? std::nullopt : std::move(all);
  }

  // Compares digests of what the processes were given. Succeeds if gather() returns nothing.
  // Errors: kInvalidInput at "exchange" if a digest differs.
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
