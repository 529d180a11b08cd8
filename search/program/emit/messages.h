// Inserts messages between two ranks.
#pragma once

#include <map>
#include <utility>

#include "core/program/reshard_plan.h"
#include "search/program/emit/group_table.h"
#include "search/program/emit/op_builder.h"

namespace shardwright::program {

// Paddle's send and receive do not support booleans, so these are sent as 64-bit integers.
// Thread safety: one thread at a time. Refers to its arguments.
class MessageEmitter {
 public:
  // In compat mode, messages for inputs are cached per tensor and partner, as in Paddle's
  // Resharder: what was sent or received before is not sent again.
  MessageEmitter(OpBuilder& ops, const GroupTable& groups, bool compat)
      : ops_(ops), groups_(groups), compat_(compat) {}

  void send(const Step& step, const LocalTensor& input);
  // `is_result`: the received tensor is the result of the plan.
  LocalTensor receive(const Step& step, bool is_result);

 private:
  bool caches() const { return compat_ && !ops_.site().into.valid(); }
  LocalTensor receive_new(const Step& step, bool is_result);

  OpBuilder& ops_;
  const GroupTable& groups_;
  bool compat_;
  std::map<std::pair<std::uint64_t, Rank>, bool> sent_;
  std::map<std::pair<std::uint64_t, Rank>, LocalTensor> received_;
};

}  // namespace shardwright::program
