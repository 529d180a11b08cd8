// A search space with the models that a proof of a bound needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/embedding/search_space.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/option_pool.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::test_support {

// The proof treats all hosts as equal.
struct BoundModel {
  explicit BoundModel(std::shared_ptr<const embedding::SearchSpace> the_space)
      : space(std::move(the_space)),
        pool(space),
        choices(pool, space->problem().topology()),
        rows(choices, false) {}

  embedding::Domain everywhere() const {
    return embedding::Domain(choices.choices().size(), rows.classes().everywhere());
  }

  std::shared_ptr<const embedding::SearchSpace> space;
  embedding::OptionPool pool;
  embedding::ChoiceModel choices;
  embedding::BoundRows rows;
};

// Five tables of 7 ms each on four ranks. One rank must hold two tables, so the best rating is 14
// ms, while the mean over ranks is 8.75 ms.
inline BoundModel five_on_four() {
  SpaceBuilder builder(problem_spec(5, 4, 4));
  for (std::uint32_t table = 0; table < 5; ++table)
    builder.add(table, embedding::ShardingType::kTableWise, 1, 7, 10);
  return BoundModel(builder.take());
}

// One host. Each of its ranks has `hbm` bytes of HBM and 1,000 bytes of DDR.
inline embedding::ProblemSpec one_host_spec(std::size_t tables, std::int64_t ranks,
                                            std::int64_t hbm = 1000) {
  embedding::ProblemSpec spec = problem_spec(tables, ranks, ranks);
  spec.topology.hbm_cap_bytes = hbm;
  spec.topology.ddr_cap_bytes = 1000;
  return spec;
}

}  // namespace shardwright::test_support
