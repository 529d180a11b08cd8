// How finely the relaxation distinguishes ranks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardwright::embedding {

struct RankClassParameters {
  // Kinds of ranks (memory and time scale) that are still told apart. A class costs three rows in
  // every linear program and a pricing problem per iteration; with more kinds than this all count
  // as the largest and fastest, which weakens the bound. Halving: mixed clusters of 5 to 8 kinds
  // get weaker bounds. Doubling: such clusters take twice the time per iteration.
  std::size_t max_kinds = 8;
  // Classes after uniform loads have split the kinds. Halving and doubling: as above, for models
  // whose row-wise shards differ from rank to rank.
  std::size_t max_classes = 16;
  // Hosts that branching may tell apart; every host is then a class. Halving: host-wise options on
  // 3 and 4 hosts stay open. Doubling: trees of 5 to 8 hosts, which have not closed a gap so far.
  std::uint32_t max_hosts = 4;
  // Difference between the loads of neighbouring ranks that splits a class, as a part of the larger
  // load. Halving: more classes for the same bound to within 0.05 %. Doubling: bounds up to 0.2 %
  // weaker.
  double load_difference = 1e-3;
};

}  // namespace shardwright::embedding
