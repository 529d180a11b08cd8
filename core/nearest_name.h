// Suggests known names for a misspelt one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace shardwright {

// Returns the least number of insertions, deletions, replacements and swaps of adjacent letters
// that turn `a` into `b`. Ignores case. O(|a| |b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

// Returns the known name for which other tools use `name` ("BF16" for "bfloat16"). Without such an
// entry, returns the known name with the least edit distance to `name`, the first on ties. A known
// name qualifies if one name is a prefix of the other, or if at most about a quarter of the longer
// name has to change. Returns an empty name if no known name qualifies.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// Returns "; did you mean \"x\"?", or "; known: a, b, c" if no name is near: all names, or twelve
// if there are more than 128.
std::string suggestion(std::string_view name, std::span<const std::string_view> known);

}  // namespace shardwright
