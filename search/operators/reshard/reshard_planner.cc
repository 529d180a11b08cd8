#include "search/operators/reshard/reshard_planner.h"

#include <cstdint>

#include "core/check.h"
#include "core/interner.h"
#include "search/once_map.h"

namespace shardwright::operators {
namespace memo {

struct Question {
  const ShardingSpec* from;
  const ShardingSpec* to;

  friend bool operator==(const Question&, const Question&) = default;
};

// Of the contents, not the addresses, so that a run allocates as often as the last one.
struct QuestionHash {
  std::uint64_t operator()(const Question& question) const {
    const std::uint64_t dims = hash_mix(question.from->dims.bits(), question.to->dims.bits());
    return hash_mix(dims, static_cast<std::uint64_t>(question.from->local_elements));
  }
};

}  // namespace memo

// Thread safety: every member may be called from any thread.
class ReshardPlanner::Memo {
 public:
  const ReshardPath unchanged{};
  OnceMap<memo::Question, ReshardPath, memo::QuestionHash> paths;
};

ReshardPlanner::ReshardPlanner(SpecTable& table, PathCost mode)
    : table_(&table), mode_(mode), memo_(std::make_unique<Memo>()) {}

ReshardPlanner::~ReshardPlanner() = default;

const ReshardPath& ReshardPlanner::path(const ShardingSpec* from, const ShardingSpec* to) {
  if (from == to) return memo_->unchanged;
  if (const ReshardPath* known = memo_->paths.find({from, to})) return *known;
  SHARDWRIGHT_CHECK(from->shape == to->shape);
  return memo_->paths.keep({from, to},
                           find_reshard_path(*table_, *from->shape, from->dims, to->dims, mode_));
}

std::size_t ReshardPlanner::num_searches() const { return memo_->paths.size(); }

}  // namespace shardwright::operators
