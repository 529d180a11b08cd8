#include "search/embedding/best/processes/process_group.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace shardwright::embedding {

ProcessGroup::ProcessGroup(Exchange* exchange)
    : exchange_(exchange != nullptr && exchange->processes() > 1 ? exchange : nullptr),
      process_(exchange_ != nullptr ? exchange->process() : 0) {}

void ProcessGroup::leave() {
  if (Exchange* const exchange = std::exchange(exchange_, nullptr)) exchange->all_gather({});
}

std::optional<std::vector<std::string>> ProcessGroup::all_gather(const std::string& message) {
  SHARDWRIGHT_CHECK(!message.empty() && !is_alone());
  const std::uint32_t processes = exchange_->processes();
  std::optional<std::vector<std::string>> all = exchange_->all_gather(message);
  const auto has_left = [](const std::string& received) { return received.empty(); };
  if (all && all->size() == processes && std::none_of(all->begin(), all->end(), has_left))
    return all;
  exchange_ = nullptr;
  return std::nullopt;
}

}  // namespace shardwright::embedding
