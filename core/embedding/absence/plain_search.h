// The plainest search for a plan: everything is tried, and what ends without a plan proves that
// there is none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/embedding/plan.h"
#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"

namespace shardwright::embedding {

struct PlainSearchResult {
  enum class Answer : std::uint8_t {
    kFound,
    kNoneExists,
    kGivenUp,  // the work limit was reached, or the problem is too large to begin
  };
  Answer answer = Answer::kGivenUp;
  std::optional<Plan> plan;  // valid by evaluate(); only with kFound
  std::uint64_t steps = 0;
};

// Steps of a search that is to take less than a second.
inline constexpr std::uint64_t kPlainSearchSteps = std::uint64_t{1} << 24;

// Tries every option of every table on every rank, depth first. `available` is the topology after
// reservation and margin. Time: exponential in the number of shards; at most `work_limit` steps,
// each of which looks at one rank. Gives up at once if there are more than 4,096 ranks, or if a
// plan may have more than 4,096 shards.
PlainSearchResult search_plainly(const std::shared_ptr<const SearchSpace>& space,
                                 const Topology& available,
                                 std::uint64_t work_limit = kPlainSearchSteps);

}  // namespace shardwright::embedding
