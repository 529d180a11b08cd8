#include "search/embedding/questions/explain/options/option_cost.h"

#include <cstddef>

namespace shardwright::embedding {

const char* to_name(PerfPart part) {
  constexpr const char* kNames[] = {"fwd_compute", "fwd_comms", "bwd_compute", "bwd_comms",
                                    "prefetch_compute"};
  return kNames[static_cast<std::size_t>(part)];
}

}  // namespace shardwright::embedding
