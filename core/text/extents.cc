#include "core/text/extents.h"

namespace shardwright {

std::string extents_text(std::span<const std::int64_t> shape) {
  std::string joined;
  for (const std::int64_t extent : shape)
    joined += (joined.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + joined + "]";
}

}  // namespace shardwright
