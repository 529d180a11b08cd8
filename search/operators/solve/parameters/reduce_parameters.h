// Parameters of the loss-free reduction.
//
// perf/parameters/README.md has the measured effect of halving and doubling each.
#pragma once

#include <cstddef>

namespace shardwright::operators {

// Thread safety: a value.
struct ReduceParameters {
  // A node of which another one is a function is merged into it unless its matrices would grow and
  // have more entries than this together, 16 MiB.
  std::size_t most_merged_entries = std::size_t{1} << 21;
  // Eliminating a node of two neighbours makes an edge between them. It is made if it has at most
  // so many entries, or at most `fill_growth` times those of the edges that it replaces.
  std::size_t most_fill = 4096;
  std::size_t fill_growth = 4;
};

}  // namespace shardwright::operators
