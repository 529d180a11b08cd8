// A model whose bound can be proved only by a tree of cases.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::test_support {

// The rating of the best plan of tables_of_six_kinds() in ms, rounded up.
inline constexpr double kRatingOfSixKinds = 2.54757;

// 107 tables of six kinds on eight ranks. Each table may be on one rank or on all. The options list
// the last table first, and the choice model keeps that order; certificates list tables in the
// order of the problem.
inline std::shared_ptr<const embedding::SearchSpace> tables_of_six_kinds() {
  using enum embedding::ShardingType;
  struct Kind {
    std::size_t tables;
    double on_one_rank;  // ms; `on_each` too
    double on_each;
  };
  constexpr std::array kKinds{Kind{5, 1.578, 0.1305},     Kind{4, 1.64961, 0.2547},
                              Kind{33, 0.12035, 0.0770},  Kind{30, 0.08447, 0.00696},
                              Kind{30, 0.08447, 0.00876}, Kind{5, 0.08447, 0.0252}};
  embedding::ProblemSpec spec = problem_spec(107, 8, 8);
  spec.topology.hbm_cap_bytes = 1000;
  spec.topology.ddr_cap_bytes = 1000;
  SpaceBuilder builder(spec);
  std::size_t table = 107;
  for (const Kind& kind : kKinds) {
    for (std::size_t i = 0; i < kind.tables; ++i) {
      builder.add(--table, kTableWise, 1, kind.on_one_rank, 0);
      builder.add(table, kRowWise, 8, kind.on_each, 0);
    }
  }
  return builder.take();
}

}  // namespace shardwright::test_support
