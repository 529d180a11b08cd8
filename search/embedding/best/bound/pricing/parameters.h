// How thoroughly a pricing problem is searched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace shardwright::embedding {

struct KnapsackParameters {
  // Labels of the first, incomplete search: it finds a good pattern that ends most labels of the
  // full search.
  std::size_t beam_width = 64;
  // Labels after which the full search leaves the other item classes to a second half. Both halves
  // grow exponentially, so equal halves are best.
  std::size_t max_labels_of_first_half = 1'000;
  // Labels at which a full search gives up and the resources are rounded instead.
  std::size_t max_labels = 20'000;
  // Units of capacity for rounded resources: fewer units leave fewer different labels, but let
  // patterns exceed the rank by more.
  double rounding_units = 1 << 15;
  // A pattern worth this much more than asked for, relatively, needs no proof that it is the best:
  // column generation goes on with any improving column.
  double good_enough = 1e-3;
  // Steps of a full search up to which the next one is tried at once. A dearer one waits until no
  // incomplete search finds a column.
  std::uint64_t max_easy_steps = 50'000;
  // Kept labels that a label is compared with in all resources, besides the Pareto front of HBM and
  // value.
  std::size_t max_comparisons = 32;
  // Bisections for one multiplier; each halves its error.
  std::uint32_t multiplier_bisections = 30;
  // Golden sections for the multiplier of HBM; each divides its error by 1.6.
  std::uint32_t hbm_sections = 40;
  // Pairs of labels of the two halves that take as long as one label: what joining counts as work.
  std::uint64_t pairs_per_step = 8;
  // Factors on the best multipliers of load and HBM for the other relaxations. A label that has
  // used much load and little memory, or the other way round, is bounded better at other
  // multipliers.
  struct Scale {
    double load;
    double hbm;
  };
  std::array<Scale, 4> other_relaxations{{{0.5, 1.5}, {1.5, 0.5}, {2.0, 0.0}, {0.0, 2.0}}};
};

// Relative difference below which two values count as equal, and two uses of a capacity: above the
// rounding errors of a pattern's sum, below every difference that matters to a bound.
inline constexpr double kPricingTolerance = 1e-10;

}  // namespace shardwright::embedding
