// What the devices along one mesh axis hold of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardwright::redistribution {

// How partial values become one.
enum class ReduceOp : std::uint8_t { kSum, kAvg, kMin, kMax, kProduct };
inline constexpr std::size_t kNumReduceOps = 5;

// "sum", "avg", "min", "max", "product": torch's names.
const char* name_of(ReduceOp op);

// Returns true if reductions by both may be done in any order. Sums and averages are linear; others
// commute with themselves only.
constexpr bool commute(ReduceOp a, ReduceOp b) {
  const auto linear = [](ReduceOp op) { return op == ReduceOp::kSum || op == ReduceOp::kAvg; };
  return a == b || (linear(a) && linear(b));
}

// Thread safety: a value.
struct AxisPlacement {
  enum class Kind : std::uint8_t {
    kReplicate,  // all the same
    kShard,      // the parts of dimension `dim`, of equal size but for the last ones
    kPartial,    // values of full size, to be reduced by `reduce_op`
  };

  static AxisPlacement replicate() { return {}; }
  static AxisPlacement shard(std::size_t dim) { return {Kind::kShard, dim, ReduceOp::kSum}; }
  static AxisPlacement partial(ReduceOp op) { return {Kind::kPartial, 0, op}; }

  bool is_replicate() const { return kind == Kind::kReplicate; }
  bool is_shard() const { return kind == Kind::kShard; }
  bool is_partial() const { return kind == Kind::kPartial; }
  bool operator==(const AxisPlacement&) const = default;

  Kind kind = Kind::kReplicate;
  std::size_t dim = 0;                  // 0 unless it is a shard
  ReduceOp reduce_op = ReduceOp::kSum;  // kSum unless it is partial
};

}  // namespace shardwright::redistribution
