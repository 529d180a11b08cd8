// Which promise a planning call asks for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shardwright {

enum class PlanMode : std::uint8_t {
  kCompat,  // every decision of TorchRec's planner
  kBest,    // the best plan that the search finds, with a bound on any plan
};

// In the order of the enumeration.
inline constexpr std::array<std::string_view, 2> kPlanModeNames{"compat", "best"};

constexpr std::string_view name_of(PlanMode mode) {
  return kPlanModeNames[static_cast<std::size_t>(mode)];
}

}  // namespace shardwright
