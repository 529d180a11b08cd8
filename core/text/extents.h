// Shapes of tensors as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace shardwright {

// "[2, 3]".
std::string extents_text(std::span<const std::int64_t> shape);

}  // namespace shardwright
