// Finds what a misspelt name was probably meant to be.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace shardwright {

// Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`,
// letters compared without case. O(|a| |b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The known name with the least edit distance to `name`, the first on ties; empty where none is
// close enough to be meant: more than a third of the longer name would have to change, and neither
// begins with the other.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// "; did you mean \"x\"?" or, where nothing is near, "; known: a, b, …" (at most twelve).
std::string suggestion(std::string_view name, std::span<const std::string_view> known);

}  // namespace shardwright
