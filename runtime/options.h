// What a caller may ask of the planner, beyond the problem itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

namespace shardwright {

enum class PlanMode : std::uint8_t {
  kExact,  // every decision of TorchRec's planner
};

// Where a search stands.
struct PlanProgress {
  std::uint64_t proposals = 0;           // evaluated so far
  std::uint64_t proposals_at_most = 0;   // that the proposers may make altogether
  std::uint64_t plans = 0;               // that fitted
  std::optional<double> best_rating;     // ms, or bytes for the storage model
  std::uint64_t placed_shards = 0;
  double elapsed_s = 0;
};

struct PlanOptions {
  PlanMode mode = PlanMode::kExact;
  int threads = 0;                          // 0 = all cores
  std::optional<double> time_limit_s;       // gives up determinism when it strikes
  std::optional<std::uint64_t> work_limit;  // placed shards; deterministic
  std::uint64_t seed = 0;
  bool trace = false;                       // keep every proposal with its rating and ranks
  // Ends the search, from any thread, with the best plan so far; gives up determinism, too.
  std::stop_token stop;
  // Called after every batch of proposals, on the thread that plans; no lock is held. What it throws
  // ends the planning and reaches the caller.
  std::function<void(const PlanProgress&)> on_progress;
};

}  // namespace shardwright
