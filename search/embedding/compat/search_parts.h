// Parts of the search that a calling program may replace.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/topology.h"
#include "search/embedding/compat/estimate/cost_model.h"
#include "search/embedding/compat/partitioners/partitioner.h"
#include "search/embedding/compat/proposers/proposer.h"
#include "search/embedding/compat/rating/rating_model.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// Replaces parts that a problem names. A part that is left out is the problem's. Parts are made for
// every search: a factory must not return null, and what it makes belongs to that search. An
// exception that a part throws ends the search and reaches the caller.
// Thread safety: a value; partitioners and rating models are made by the workers that use them, so
// their factories are called from many threads at once.
struct SearchParts {
  // `available` is the topology after reservation; pool and topology outlive the proposer.
  using MakeProposer =
      std::function<std::unique_ptr<Proposer>(const OptionPool& pool, const Topology& available)>;
  using MakePartitioner = std::function<std::unique_ptr<Partitioner>(const Problem& problem)>;
  using MakeRatingModel = std::function<std::unique_ptr<RatingModel>(const Problem& problem)>;

  std::vector<MakeProposer> proposers;  // run one after the other; none = the problem's
  MakePartitioner partitioner;
  MakeRatingModel rating_model;
  std::shared_ptr<const CostModel> cost_model;
};

}  // namespace shardwright::embedding
