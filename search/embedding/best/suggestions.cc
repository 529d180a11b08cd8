#include "search/embedding/best/suggestions.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shardwright::embedding {

void Suggestions::add(std::vector<SuggestedStart> suggestions) {
  for (SuggestedStart& made : suggestions) {
    const std::size_t unplaced = made.num_unplaced(model_);
    waiting_.push_back({std::move(made), parameters_.suggestion_tries, unplaced});
  }
  const std::size_t most = parameters_.most_suggestions;
  if (waiting_.size() > most)
    waiting_.erase(waiting_.begin(), waiting_.end() - static_cast<std::ptrdiff_t>(most));
}

std::optional<SuggestedStart> Suggestions::take() {
  if (waiting_.empty()) return std::nullopt;
  const auto has_more_places = [](const Waiting& a, const Waiting& b) {
    return a.unplaced < b.unplaced;
  };
  const auto next =
      std::prev(std::min_element(waiting_.rbegin(), waiting_.rend(), has_more_places).base());
  SuggestedStart taken = next->made;
  next->made.start = Allocation::of_choices(std::move(next->made.start.choice));
  next->unplaced = next->made.num_unplaced(model_);
  if (--next->tries_left == 0) waiting_.erase(next);
  return taken;
}

}  // namespace shardwright::embedding
