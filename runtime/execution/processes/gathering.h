// The messages that the processes of one request exchange.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "runtime/execution/processes/exchange.h"

namespace shardwright {

// A sequence of all-gathers. It ends in all processes after the first all-gather in which a process
// sends an empty message. The destructor sends an empty message, so that no process waits for one
// that failed. Keeps a reference to the exchange. Thread safety: one thread at a time.
class Gathering {
 public:
  explicit Gathering(Exchange& exchange) : exchange_(&exchange) {}
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;
  ~Gathering() {
    if (!ended_) exchange_->all_gather({});
  }

  // Returns the messages of all processes; index: process. Returns nullopt if a process sent an
  // empty message or the exchange failed. Precondition: `message` is not empty.
  std::optional<std::vector<std::string>> gather(const std::string& message) {
    if (ended_) return std::nullopt;
    auto all = exchange_->all_gather(message);
    const auto has_left = [](const std::string& received) { return received.empty(); };
    ended_ = !all || all->size() != exchange_->processes() ||
             std::any_of(all->begin(), all->end(), has_left);
    return ended_ ? std::nullopt : std::move(all);
  }

  // Checks that all processes have the same digest of their input. Succeeds if gather() returns
  // nullopt. Errors: kInvalidInput at "exchange" if a digest differs.
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
