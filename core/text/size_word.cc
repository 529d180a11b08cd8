#include "core/text/size_word.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace shardwright {

std::string size_of_at_least(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  constexpr std::int64_t kStep = 1024;
  constexpr std::int64_t kFewest = 8;  // rounding up adds at most an eighth
  std::size_t unit = 0;
  std::int64_t size = 1;
  while (unit + 1 < kUnits.size() && bytes / size >= kFewest * kStep) {
    size *= kStep;
    ++unit;
  }
  const std::int64_t count = bytes / size + (bytes % size > 0 ? 1 : 0);
  return std::to_string(count) + std::string(kUnits[unit]);
}

}  // namespace shardwright
