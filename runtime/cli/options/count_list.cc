#include "runtime/cli/options/count_list.h"

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace shardwright::cli {
namespace {

constexpr std::size_t kMostNumbers = 10'000;
constexpr std::int64_t kMostCount = std::int64_t{1} << 40;

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = error == std::errc() && end == text.data() + text.size();
  return all && number >= 1 && number <= kMostCount ? std::optional(number) : std::nullopt;
}

// From `first` to `last`, each `step` more or `step` times as much.
struct Range {
  std::int64_t first, last, step;
  bool times;
};

std::optional<Range> range_of(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    const auto number = whole(text);
    return number ? std::optional(Range{*number, *number, 1, false}) : std::nullopt;
  }
  const std::size_t colon = text.find(':', dots);
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view step = text.substr(colon + 1);
  const bool times = step.starts_with('x');
  if (times) step.remove_prefix(1);
  const auto first = whole(text.substr(0, dots));
  const auto last = whole(text.substr(dots + 2, colon - dots - 2));
  const auto by = whole(step);
  if (!first || !last || !by || *first > *last || (times && *by < 2)) return std::nullopt;
  return Range{*first, *last, *by, times};
}

}  // namespace

Result<std::vector<std::int64_t>> count_list(const char* flag,
                                             const std::vector<std::string>& entries) {
  std::vector<std::int64_t> numbers;
  for (const std::string& entry : entries) {
    const std::optional<Range> range = range_of(entry);
    if (!range) {
      return invalid_input(flag,
                           "must be whole numbers of at least 1, or ranges such as 8..64:8 or "
                           "8..64:x2, not \"" +
                               entry + "\"");
    }
    for (std::int64_t at = range->first; at <= range->last;) {
      if (numbers.size() == kMostNumbers) return invalid_input(flag, "more than 10000 numbers");
      numbers.push_back(at);
      if (range->times && at > range->last / range->step) break;
      at = range->times ? at * range->step : at + range->step;
    }
  }
  return numbers;
}

}  // namespace shardwright::cli
