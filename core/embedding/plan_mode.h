// The modes of planning.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shardwright {

enum class PlanMode : std::uint8_t {
  kCompat,  // makes the same decisions as TorchRec's planner
  kBest,    // the best plan that the search finds, and a bound on all plans
};

// Indexed by PlanMode.
inline constexpr std::array<std::string_view, 2> kPlanModeNames{"compat", "best"};

constexpr std::string_view name_of(PlanMode mode) {
  return kPlanModeNames[static_cast<std::size_t>(mode)];
}

}  // namespace shardwright
