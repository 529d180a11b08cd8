// Random embedding problems and search spaces. They often need too much memory.
#pragma once

#include <cstddef>
#include <memory>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "tests/support/random.h"

namespace shardwright::test_support {

struct RandomProblemStyle {
  std::size_t max_tables = 6;
  bool scaleup = false;   // scale-up proposers, too
  bool external = false;  // memory, proposers and reservation suit random_space
};

// Returns a checked problem with any device, kernel, data type, constraint, partitioner and perf
// model. Unless `external` is set, estimator settings are random, too.
std::shared_ptr<const embedding::Problem> random_problem(Random& random,
                                                         const RandomProblemStyle& style);

// Returns a search space with random costs instead of estimates. Options have any number of shards,
// costs differ by shard, and options often tie. Options of one table are not adjacent, and some
// options occur twice.
std::shared_ptr<const embedding::SearchSpace> random_space(
    Random& random, std::shared_ptr<const embedding::Problem> problem);

}  // namespace shardwright::test_support
