// What a caller may ask of the planner, beyond the problem itself.
#pragma once

#include <cstdint>
#include <optional>

namespace shardwright {

enum class PlanMode : std::uint8_t {
  kExact,  // every decision of TorchRec's planner
};

struct PlanOptions {
  PlanMode mode = PlanMode::kExact;
  int threads = 0;                          // 0 = all cores
  std::optional<double> time_limit_s;       // gives up determinism when it strikes
  std::optional<std::uint64_t> work_limit;  // placed shards; deterministic
  std::uint64_t seed = 0;
  bool trace = false;                       // keep every proposal with its rating and ranks
};

}  // namespace shardwright
