// Random embedding problems and search spaces: small, varied and often too large for the memory.
#pragma once

#include <cstddef>
#include <memory>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "tests/support/random.h"

namespace shardwright::test_support {

struct RandomProblemStyle {
  std::size_t max_tables = 6;
  bool scaleup = false;   // scale-up proposers too
  bool external = false;  // memory, proposers and reservation for random_space
};

// A checked problem: any device, kind, data type, constraint, partitioner, perf model and, unless
// `external`, any estimator setting.
std::shared_ptr<const embedding::Problem> random_problem(Random& random,
                                                         const RandomProblemStyle& style);

// A search space with random costs instead of estimates: any number of shards, with costs that
// differ by shard and often tie between options. Options of one table are not adjacent, and some
// occur twice.
std::shared_ptr<const embedding::SearchSpace> random_space(
    Random& random, std::shared_ptr<const embedding::Problem> problem);

}  // namespace shardwright::test_support
