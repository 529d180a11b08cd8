// How an allocation is built from nothing.
//
// A comment behind a default is the mean change of ratings at fixed work, + is worse, when it is
// halved and doubled: perf/parameters/README.md.
#pragma once

#include <cstddef>

namespace shardwright::embedding {

// Thread safety: a value.
struct ConstructParameters {
  // Memory counts in placing a shard only if the choices fill more than this part of it: memory
  // that is far from full cannot run short, and ranks even in load are worth more.
  double scarce_fill = 0.5;  // halved -0.016 %, doubled +0.344 %
  // Ranks per block that are skipped together if their least load and bytes already cost too much.
  // Affects speed only.
  std::size_t ranks_per_block = 32;  // halved, doubled: 0
  // Choices that are on all ranks change what fits beside them: choose_below() repeats its choice
  // until both agree, at most this often.
  int most_agreement_rounds = 8;  // halved, doubled: 0
  // Bisection steps of the price of memory in every such round. The price only has to be precise
  // enough to rank the choices of a table.
  int price_steps = 12;  // halved, doubled: 0
};

}  // namespace shardwright::embedding
