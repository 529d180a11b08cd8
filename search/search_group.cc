#include "search/search_group.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace shardwright {

SearchGroup::SearchGroup(Exchange* exchange)
    : exchange_(exchange != nullptr && exchange->processes() > 1 ? exchange : nullptr),
      process_(exchange_ != nullptr ? exchange->process() : 0) {}

void SearchGroup::leave() {
  if (Exchange* const exchange = std::exchange(exchange_, nullptr)) exchange->all_gather({});
}

std::optional<std::vector<std::string>> SearchGroup::all_gather(const std::string& message) {
  SHARDWRIGHT_CHECK(!message.empty() && !is_alone());
  const std::uint32_t processes = exchange_->processes();
  traffic_.add_round(message.size());
  std::optional<std::vector<std::string>> all = exchange_->all_gather(message);
  const auto has_left = [](const std::string& received) { return received.empty(); };
  if (all && all->size() == processes && std::none_of(all->begin(), all->end(), has_left))
    return all;
  exchange_ = nullptr;
  return std::nullopt;
}

Status SearchGroup::agree_on(const std::string& fingerprint) {
  if (is_alone()) return {};
  const auto all = all_gather(fingerprint);
  for (std::size_t other = 0; all && other < all->size(); ++other) {
    if ((*all)[other] != fingerprint) return searches_otherwise(other);
  }
  return {};
}

Error SearchGroup::searches_otherwise(std::size_t other) const {
  return Error{ErrorCode::kInvalidInput,
               "process " + std::to_string(other) + " and process " + std::to_string(process_) +
                   " plan different problems, or with different seeds, lanes or work limits",
               "exchange"};
}

}  // namespace shardwright
