// Suggests a known name for a misspelt name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace shardwright {

// Returns the least number of insertions, deletions, replacements and swaps of adjacent letters
// that turn `a` into `b`. Ignores case. O(|a| |b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

// Returns the known name that fits `name` best, or an empty name if none fits. First looks up names
// that other tools use for a known name, such as "bfloat16" for "BF16". Otherwise takes the known
// name with the least edit distance to `name`, the first on ties; names of which one continues the
// other after a dash count as near. Such a name fits if one of the two is a prefix of the other, or
// if at most about a quarter of the longer name has to change.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// Returns "; did you mean \"x\"?", where x is nearest_name(). If no name fits, returns "; known: a,
// b, c" with all known names, or with the first twelve if there are more than 128.
std::string suggestion(std::string_view name, std::span<const std::string_view> known);

}  // namespace shardwright
