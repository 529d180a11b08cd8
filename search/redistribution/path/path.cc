#include "search/redistribution/path/path.h"

#include <algorithm>

namespace shardwright::redistribution {

std::size_t Path::num_collectives() const {
  return static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(), [](const PathStep& step) { return step.move.communicates(); }));
}

}  // namespace shardwright::redistribution
