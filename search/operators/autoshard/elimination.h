// The exact minimum of a pairwise model and the number of minima, by bucket elimination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/operators/autoshard/pairwise_model.h"
#include "search/operators/elimination/bucket_sum.h"
#include "search/operators/elimination/buckets.h"
#include "search/operators/elimination/elimination_order.h"

namespace shardwright::operators::autoshard {

// Each message holds, for every assignment of its separator, the least cost of everything that was
// eliminated behind it, and how many assignments reach that. Keeps its memory from model to model.
// Cost: states * factors of a bucket.
// Thread safety: one thread at a time.
class Elimination {
 public:
  // Entries of all messages together: 3^15, at 16 bytes each. Models that need more are refused.
  static constexpr std::size_t kMaxStates = 14'348'907;

  // Returns the variable at which kMaxStates is exceeded, or nothing on success. `model` must
  // outlive the calls below. Eliminates the variable with the fewest neighbours first. If that
  // order needs too many states, tries the variable whose elimination adds the fewest edges first.
  std::optional<std::uint32_t> run(const PairwiseModel& model);

  // Of the last model; scaled.
  std::int64_t optimum() const { return optimum_; }
  // The number of assignments that cost optimum(); UINT64_MAX = that many or more.
  std::uint64_t num_optimal() const { return num_optimal_; }
  std::size_t states() const { return buckets_.num_entries(); }

  // An assignment that costs at most optimum() + slack, as positions of values by variable. From
  // the variable eliminated last to the first, each takes its first value that the slack allows.
  // Precondition: slack >= 0. O(pairs).
  std::span<const std::uint8_t> select(std::int64_t slack);

 private:
  enum class Rule : std::uint8_t { kFewestNeighbours, kFewestNewPairs };

  std::optional<std::uint32_t> choose_order(Rule rule);
  void fill_pair_tables();
  void start(const Buckets::Bucket& bucket);
  void fill_message(const Buckets::Bucket& bucket);
  std::uint64_t count_of(const Buckets::Bucket& bucket, std::size_t value) const;

  const PairwiseModel* model_ = nullptr;
  EliminationOrder order_;
  Buckets buckets_;
  BucketSum<std::int64_t> sum_;
  std::vector<std::uint32_t> sizes_;  // by variable
  std::vector<Buckets::Pair> pairs_;
  std::vector<std::int64_t> pair_costs_;  // by pair, room for 3 * 3 entries each
  std::vector<std::int64_t> costs_;       // all messages
  std::vector<std::uint64_t> counts_;     // as costs_
  std::vector<std::uint8_t> chosen_;      // by variable
  std::int64_t optimum_ = 0;
  std::uint64_t num_optimal_ = 1;
};

}  // namespace shardwright::operators::autoshard
