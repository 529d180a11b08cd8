// Models of a few tables for tests of local search, and a check of the plans that the search finds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <doctest/doctest.h>

#include "core/embedding/evaluate.h"
#include "search/embedding/best/annealing_lane.h"
#include "tests/support/random.h"

namespace shardwright::test_support {

// A search space with the models that local search needs.
struct Model {
  explicit Model(std::shared_ptr<const embedding::SearchSpace> the_space)
      : space(std::move(the_space)),
        pool(space),
        choices(pool, space->problem().topology()),
        context(choices) {}

  std::shared_ptr<const embedding::SearchSpace> space;
  embedding::OptionPool pool;
  embedding::ChoiceModel choices;
  embedding::SearchContext context;
};

// Converts the allocation to the form that lanes exchange.
inline embedding::RatedPlan to_rated_plan(const Model& model,
                                          const embedding::RatedAllocation& rated) {
  embedding::PlanCopies copies;
  return {embedding::to_plan(model.choices, rated.allocation, copies), rated.rating,
          rated.peak_hbm_bytes};
}

// Compares with the evaluator. The shards in these tests have no sizes, so violations of kind
// kNotCovering are ignored.
inline void check_by_verifier(const Model& model, const embedding::RatedAllocation& rated) {
  using namespace embedding;
  PlanCopies copies;
  const Plan plan = to_plan(model.choices, rated.allocation, copies);
  const Problem& problem = model.space->problem();
  const Evaluation evaluation = evaluate(problem, problem.topology(), plan);
  for (const Violation& violation : evaluation.violations) {
    INFO(violation.message);
    CHECK(violation.kind == Violation::Kind::kNotCovering);
  }
  CHECK(std::abs(evaluation.rating - rated.rating) <= 1e-9 * evaluation.rating);
  std::int64_t peak = 0;
  for (const Storage& storage : evaluation.storage_by_rank)
    peak = std::max(peak, storage.hbm.value());
  CHECK(peak == rated.peak_hbm_bytes);
}

embedding::ProblemSpec spec_of(std::size_t tables, std::int64_t ranks, std::int64_t per_host,
                               std::int64_t hbm);

// Up to four tables on up to four ranks, with any sharding types. Some problems have ranks of
// different memory, and some use the storage model.
std::shared_ptr<const embedding::SearchSpace> small_space(Random& random);

// Two to four tables on up to six ranks. Placement rules of every kind apply and may contradict
// each other. Some ranks are slower than others.
embedding::ProblemSpec small_ruled_spec(Random& random);
std::shared_ptr<const embedding::SearchSpace> small_ruled_space(Random& random,
                                                                embedding::ProblemSpec spec);

// Forty tables of four options each on two hosts of four ranks, with `hbm` bytes per rank.
std::shared_ptr<const embedding::SearchSpace> forty_tables(std::int64_t hbm);

}  // namespace shardwright::test_support
