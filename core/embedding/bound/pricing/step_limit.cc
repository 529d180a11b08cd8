#include "core/embedding/bound/pricing/step_limit.h"

#include <algorithm>

namespace shardwright::embedding {

void StepLimit::ask() {
  constexpr std::uint64_t kStepsBetween = std::uint64_t{1} << 16;
  ask_at_ = left_ - std::min(left_, kStepsBetween);
  if (is_stopped_()) left_ = 0;
}

}  // namespace shardwright::embedding
