// Sizes as people give them to flags: "14KiB".
#pragma once

#include <cstdint>
#include <string>

namespace shardwright {

// The least whole number of a unit that is at least `bytes`, in the largest unit of which there are
// eight or more: "8193B" needs more than "8KiB" and is "9KiB". Precondition: bytes >= 0.
std::string size_of_at_least(std::int64_t bytes);

}  // namespace shardwright
