#include "runtime/cli/options/count_list.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "runtime/io/sizes.h"

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

// "8..64:x2" in its parts; also "8-64" and "8..64", which are no ranges.
struct Ends {
  std::int64_t first, last;
  std::string_view step;  // empty = none
  bool dots;
};

std::optional<Ends> ends_of(std::string_view text) {
  constexpr std::string_view kDots = "..", kDash = "-";
  const bool dots = text.find(kDots) != std::string_view::npos;
  const std::string_view mark = dots ? kDots : kDash;
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view behind = text.substr(at + mark.size());
  const std::size_t colon = std::min(behind.find(':'), behind.size());
  const auto first = whole(text.substr(0, at));
  const auto last = whole(behind.substr(0, colon));
  if (!first || !last) return std::nullopt;
  return Ends{*first, *last, behind.substr(std::min(colon + 1, behind.size())), dots};
}

std::optional<Range> range_of(std::string_view text) {
  if (const auto number = whole(text)) return Range{*number, *number, 1, false};
  const std::optional<Ends> ends = ends_of(text);
  if (!ends || !ends->dots || ends->first > ends->last) return std::nullopt;
  std::string_view step = ends->step;
  const bool times = step.starts_with('x');
  if (times) step.remove_prefix(1);
  const auto by = whole(step);
  if (!by || (times && *by < 2)) return std::nullopt;
  return Range{ends->first, ends->last, *by, times};
}

// What is wrong with an entry that is no range, and what to write.
std::string fault_of(const std::string& entry) {
  const std::optional<Ends> ends = ends_of(entry);
  if (!ends) {
    const std::optional<std::int64_t> meant = whole_number_meant(entry);
    return "must be whole numbers of at least 1, or ranges such as 8..64:8 or 8..64:x2, not \"" +
           entry + "\"" + (meant && *meant > 0 ? "; write " + std::to_string(*meant) : "");
  }
  const std::string range = std::to_string(std::min(ends->first, ends->last)) + ".." +
                            std::to_string(std::max(ends->first, ends->last));
  return "\"" + entry + "\" " +
         (ends->first > ends->last ? "begins above its end" : "is no range with a step") +
         "; write " + range + ":8 (steps of 8) or " + range + ":x2 (doubled)";
}

}  // namespace

Result<std::vector<std::int64_t>> count_list(const char* flag,
                                             const std::vector<std::string>& entries) {
  std::vector<std::int64_t> numbers;
  for (const std::string& entry : entries) {
    const std::optional<Range> range = range_of(entry);
    if (!range) return invalid_input(flag, fault_of(entry));
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
