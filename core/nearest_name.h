// Suggests known names for a misspelt one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace shardwright {

// Least number of insertions, deletions, replacements and swaps of adjacent letters that turn `a`
// into `b`. Ignores case. O(|a| |b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

// Returns the known name that other tools call `name` ("bfloat16" for "BF16"); else the one with
// the least edit distance to it, the first one on ties. A name qualifies if one of the two is a
// prefix of the other, or if at most about a quarter of the longer one has to change. Returns an
// empty name if none qualifies.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// Returns "; did you mean \"x\"?", or "; known: a, b, c" if no name is near: all names, or twelve
// if there are more than 128.
std::string suggestion(std::string_view name, std::span<const std::string_view> known);

}  // namespace shardwright
