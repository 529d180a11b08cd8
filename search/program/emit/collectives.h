// Inserts collectives, and the casts and transposes around them.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/program/reshard_plan.h"
#include "search/program/emit/group_table.h"
#include "search/program/emit/op_builder.h"

namespace shardwright::program {

// Paddle's collectives do not support booleans, so these are sent as 64-bit integers. Most of them
// split or join dimension 0 only, so other dimensions are swapped with it before and after.
// Thread safety: one thread at a time. Refers to its arguments.
class CollectiveEmitter {
 public:
  // In compat mode, gathers are cached per tensor and group, as in Paddle's Resharder.
  CollectiveEmitter(OpBuilder& ops, const GroupTable& groups, bool compat)
      : ops_(ops), groups_(groups), compat_(compat) {}

  // Returns the gathered tensor, or its pieces if Step::need_split is set.
  std::vector<LocalTensor> gather(const Step& step, const LocalTensor& input);
  LocalTensor concat_gather(const Step& step, const LocalTensor& input);
  LocalTensor all_reduce(const Step& step, const LocalTensor& input);
  LocalTensor reduce_scatter(const Step& step, const LocalTensor& input);
  LocalTensor all_to_all(const Step& step, const LocalTensor& input);

 private:
  LocalTensor finish_reduction(const Step& step, const LocalTensor& reduced);
  LocalTensor from_bool(const LocalTensor& tensor);
  LocalTensor to_bool(const LocalTensor& tensor);

  OpBuilder& ops_;
  const GroupTable& groups_;
  bool compat_;
  std::map<std::pair<std::uint64_t, std::vector<Rank>>, std::vector<LocalTensor>> gathered_;
};

}  // namespace shardwright::program
