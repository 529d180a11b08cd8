// Bucket elimination of a block, within tables of bounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/operators/elimination/bucket_sum.h"
#include "search/operators/elimination/buckets.h"
#include "search/operators/elimination/elimination_order.h"
#include "search/operators/solve/local/block.h"

namespace shardwright::operators {

// Keeps its memory from block to block.
// Thread safety: one thread at a time.
class BlockElimination {
 public:
  // Orders the variables of the block and fills the tables of its pairs. A variable that would make
  // a table of more than `max_table` sums keeps its current value. `key` decides which. Adds the
  // table entries filled to `work`.
  void prepare(Block& block, std::size_t max_table, std::uint64_t key, std::uint64_t& work);

  // Chooses a value of least cost for each variable, given the present base costs; the current
  // value where it is among the best. Adds the sums made to `work`.
  void minimize(Block& block, std::uint64_t& work);

  // The variable is decided, and not kept at its current value.
  bool decides(std::uint32_t variable) const {
    return order_.position(variable) != EliminationOrder::kFixed;
  }

 private:
  void choose_order(const Block& block, std::size_t max_table, std::uint64_t key);
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
