// Parameters of the search that merges the choices of independent plans.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardwright::embedding {

// Thread safety: a value.
struct MergingParameters {
  // Larger models are not near their best plan after `first_work`.
  std::size_t most_tables = 150;
  // It begins after the default work: problems that are solved in less would only wait for it.
  std::uint64_t begin_work = 400'000'000;
  // From then on it has this part of the work, with what the proof does beside it.
  double part_of_work = 0.5;
  // Work of all lanes together for each of the first independent plans, and how it grows with every
  // merged one. A merged plan takes `merged_factor` times as much.
  std::uint64_t first_work = 16'000'000;
  double work_growth = 1.3;
  double merged_factor = 2;
  // Plans whose choices are merged, the last merged one included.
  std::size_t plans = 3;
  // Of a lane in a round, at most. Lanes of a new plan must hear of each other often.
  std::uint64_t round_work = 250'000;
};

}  // namespace shardwright::embedding
