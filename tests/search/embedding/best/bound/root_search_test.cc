// All plans below the goal, tried at the root of the proof.
#include "search/embedding/best/bound/root_search.h"

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/best/bound/relaxation/aggregate_bound.h"
#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::root_search_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

// Five tables of 7 ms on four ranks: two of them meet, though all ranks together have room for all
// within 8.75 ms.
BoundModel five_on_four() {
  SpaceBuilder builder(problem_spec(5, 4, 4));
  for (std::uint32_t table = 0; table < 5; ++table)
    builder.add(table, kTableWise, 1, 7, 10);
  return BoundModel(builder.take());
}

// Runs until it gives up, or has an answer.
RootSearch::Answer answer_of(RootSearch& search, const TreeView& view, double goal) {
  Budget budget;
  RootSearch::Answer answer;
  while (search.has_next(goal) && !answer.found && answer.proof.empty())
    answer = search.run(view, goal, budget);
  return answer;
}

}  // namespace

TEST_CASE("root search: waits until the others had as much work, or have ended") {
  BoundParameters parameters;
  parameters.search.first_root_steps = 100;
  parameters.search.step_work = 2;
  RootSearch search(parameters);
  CHECK(search.has_next(10));
  search.share().others += 199;
  CHECK_FALSE(search.is_due(10));
  search.share().others += 1;
  CHECK(search.is_due(10));
  search.share().own += 1;
  CHECK_FALSE(search.is_due(10));
  search.share().others_ended = true;
  CHECK(search.is_due(10));
}

TEST_CASE("root search: finds a plan below the goal, or proves that there is none") {
  const BoundModel model = five_on_four();
  const BoundParameters parameters;
  const TreeView view(BoundRows(model.choices, false, parameters.classes), std::nullopt,
                      parameters);
  RootSearch search(parameters);
  const RootSearch::Answer above = answer_of(search, view, 14.001);
  REQUIRE(above.found.has_value());
  CHECK(above.proof.empty());
  const RootSearch::Answer below = answer_of(search, view, 13.999);
  CHECK_FALSE(below.found.has_value());
  REQUIRE(below.proof.size() == 1);
  CHECK(below.proof.front().by_search);
  BoundCertificate certificate;
  certificate.bound = 13.999 * (1 - kBoundRounding);
  certificate.class_of_rank = view.rows().classes().class_of_rank();
  certificate.nodes = below.proof;
  const Topology& topology = model.space->problem().topology();
  CHECK(check_bound(*model.space, topology, certificate).value_or("") == "");
  certificate.bound = 14.001;
  CHECK(check_bound(*model.space, topology, certificate).value_or("") != "");
}

TEST_CASE("root search: has more steps each time, and ends for a goal that took all") {
  const BoundModel model = five_on_four();
  BoundParameters parameters;
  parameters.search.first_root_steps = 1;
  parameters.search.proof_steps = 3;
  parameters.search.root_optimism = 1e300;
  const TreeView view(BoundRows(model.choices, false, parameters.classes), std::nullopt,
                      parameters);
  RootSearch search(parameters);
  Budget budget;
  int tries = 0;
  for (; search.has_next(13.999) && tries < 4; ++tries)
    CHECK(search.run(view, 13.999, budget).proof.empty());
  CHECK(tries == 2);  // nothing was gained by the second one
  CHECK(search.has_next(13.9));
}

TEST_CASE("root search: leaves large problems to trees until the goal has fallen") {
  const BoundModel model = five_on_four();
  BoundParameters parameters;
  parameters.search.most_root_cells = 19;
  const TreeView view(BoundRows(model.choices, false, parameters.classes), std::nullopt,
                      parameters);
  RootSearch search(parameters);
  Budget budget;
  CHECK_FALSE(search.run(view, 14.001, budget).found.has_value());
  CHECK_FALSE(search.has_next(14));
  CHECK(search.has_next(13.9));
}

}  // namespace shardwright::root_search_test
