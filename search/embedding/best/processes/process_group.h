// The processes that search together, from the first message of a planning call to the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "search/exchange.h"

namespace shardwright::embedding {

// One process if there is no exchange. Otherwise all processes exchange a message at the opening
// and after every round, until one leaves. A process leaves with an empty message, at the latest
// when its group is destroyed, so nobody waits for a process that went another way. Who hears that
// a process left, or that the exchange failed, is alone from then on: the exchange in which the
// first message is empty is the last one in every process.
// Thread safety: one thread at a time. Refers to the exchange.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  explicit ProcessGroup(Exchange* exchange);
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  ~ProcessGroup() { leave(); }

  bool is_alone() const { return exchange_ == nullptr; }
  std::uint32_t processes() const { return is_alone() ? 1 : exchange_->processes(); }
  // Stays the same when the group ends.
  std::uint32_t process() const { return process_; }

  // The messages of all processes, by process. Nothing if a process has left or the exchange
  // failed. Preconditions: the message is not empty; the process is not alone.
  std::optional<std::vector<std::string>> all_gather(const std::string& message);
  // Tells the others, and is alone from then on.
  void leave();

 private:
  Exchange* exchange_ = nullptr;  // null if alone
  std::uint32_t process_ = 0;
};

}  // namespace shardwright::embedding
