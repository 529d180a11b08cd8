// How finely the relaxation distinguishes ranks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardwright::embedding {

// Every class costs three rows in the aggregate program and a pricing problem per iteration of
// column generation; every pair of ranks that are merged instead weakens the bound.
// Thread safety: a value.
struct RankClassParameters {
  // Kinds of ranks (memory and time scale) that are told apart. With more kinds than this all of
  // them count as the largest and fastest.
  std::size_t max_kinds = 8;
  // Classes up to which loads that differ from rank to rank split the kinds.
  std::size_t max_classes = 16;
  // Hosts that branching may tell apart; every host is then a class of its own.
  std::uint32_t max_hosts = 4;
  // Difference between the loads of neighbouring ranks that splits a class, as a part of the larger
  // load.
  double load_difference = 1e-3;
};

}  // namespace shardwright::embedding
