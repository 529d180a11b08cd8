// The processes that search together, from the first message of a search to the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "search/exchange.h"

namespace shardwright {

// One process if there is no exchange. Otherwise all processes exchange a message at the opening
// and after every round, until one leaves. A process leaves with an empty message, at the latest
// when its group is destroyed, so nobody waits for a process that went another way. Who hears that
// a process left, or that the exchange failed, is alone from then on: the exchange in which the
// first message is empty is the last one in every process. Counts what it sends.
// Thread safety: one thread at a time. Refers to the exchange.
class SearchGroup {
 public:
  SearchGroup() = default;
  explicit SearchGroup(Exchange* exchange);
  SearchGroup(const SearchGroup&) = delete;
  SearchGroup& operator=(const SearchGroup&) = delete;
  ~SearchGroup() { leave(); }

  bool is_alone() const { return exchange_ == nullptr; }
  std::uint32_t processes() const { return is_alone() ? 1 : exchange_->processes(); }
  // Stays the same when the group ends.
  std::uint32_t process() const { return process_; }
  // Stays the same, too. Does not count the empty message.
  const ExchangeTraffic& traffic() const { return traffic_; }

  // The messages of all processes, by process. Nothing if a process has left or the exchange
  // failed. Preconditions: the message is not empty; the process is not alone.
  std::optional<std::vector<std::string>> all_gather(const std::string& message);
  // Compares what the processes are about to search. Does nothing if this one is alone, or turns
  // out to be. Errors: kInvalidInput if a fingerprint differs.
  Status agree_on(const std::string& fingerprint);
  // The error that another process searches something else.
  Error searches_otherwise(std::size_t other) const;
  // Tells the others, and is alone from then on.
  void leave();

 private:
  Exchange* exchange_ = nullptr;  // null if alone
  std::uint32_t process_ = 0;
  ExchangeTraffic traffic_;
};

}  // namespace shardwright
