// Which promise a planning call asks for.
#pragma once

#include <cstdint>

namespace shardwright {

enum class PlanMode : std::uint8_t {
  kExact,  // every decision of TorchRec's planner
  kBest,   // the best plan to be found, and how far from optimal it can be at most
};

}  // namespace shardwright
