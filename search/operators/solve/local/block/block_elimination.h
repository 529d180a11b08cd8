// Bucket elimination of a block, within tables of bounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/operators/elimination/bucket_sum.h"
#include "search/operators/elimination/buckets.h"
#include "search/operators/elimination/elimination_order.h"
#include "search/operators/solve/local/block/block.h"

namespace shardwright::operators {

// Keeps its memory from block to block.
// Thread safety: one thread at a time.
class BlockElimination {
 public:
  struct Limits {
    std::size_t table;  // sums that eliminating one variable may take
    int draws;          // BlockSolverParameters::draws
  };

  // Orders the variables of the block and fills the tables of its pairs. If the next variable
  // would exceed the limit of a table, another one, drawn by `key`, keeps its current value. Adds
  // the table entries filled to `work`.
  void prepare(Block& block, const Limits& limits, std::uint64_t key, std::uint64_t& work);

  // Chooses a value of least cost for each variable under the present base costs, and the current
  // value if it ties with the best. Adds the sums made to `work`.
  void minimize(Block& block, std::uint64_t& work);

  // Returns false if the variable keeps its current value.
  bool decides(std::uint32_t variable) const {
    return order_.position(variable) != EliminationOrder::kFixed;
  }

 private:
  void choose_order(const Block& block, const Limits& limits, std::uint64_t key);
  void fill_pair_tables(Block& block, std::uint64_t& work);
  void start(const Block& block, const Buckets::Bucket& bucket);

  EliminationOrder order_;
  Buckets buckets_;
  BucketSum<double> sum_;
  std::vector<std::uint32_t> sizes_;  // by variable
  std::vector<Buckets::Pair> pairs_;
  std::vector<std::size_t> first_entry_;  // by pair
  std::vector<double> pair_entries_;
  std::vector<double> messages_;
};

}  // namespace shardwright::operators
