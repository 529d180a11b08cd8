// All plans below a target, tried at the root of the proof.
#include "search/embedding/best/bound/root_search.h"

#include <string>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/evaluation/evaluate.h"
#include "search/embedding/best/bound/relaxation/aggregate_bound.h"
#include "tests/support/embedding/bound_model.h"

namespace shardwright::root_search_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

// The root of their proof, and the search there.
struct Root {
  explicit Root(BoundParameters given = {}) : parameters(given) {}

  RootSearch::Answer run(double bound, double goal) {
    RootSearch::Answer answer = search.step(view, bound, goal, budget);
    while (search.is_running())
      answer = search.step(view, bound, goal, budget);
    return answer;
  }
  // A certificate of what the answer proves.
  BoundCertificate certificate_of(const RootSearch::Answer& answer) const {
    BoundCertificate certificate;
    certificate.bound = answer.proved * (1 - kBoundRounding);
    certificate.class_of_rank = view.rows().classes().class_of_rank();
    certificate.nodes = answer.proof;
    return certificate;
  }
  // What the check says of it; nothing if it accepts it.
  std::string wrong_with(const BoundCertificate& certificate) const {
    return check_bound(*model.space, topology(), certificate).value_or("");
  }
  const Topology& topology() const { return model.space->problem().topology(); }

  BoundParameters parameters;
  BoundModel model = five_on_four();
  TreeView view{BoundRows(model.choices, false, parameters.classes), std::nullopt, parameters};
  RootSearch search{parameters};
  Budget budget;
};

}  // namespace

TEST_CASE("root search: waits until the others had as much work, or have ended") {
  BoundParameters parameters;
  parameters.search.first_root_steps = 100;
  parameters.search.step_work = 2;
  RootSearch search(parameters);
  CHECK(search.has_next(9, 10));
  search.share().others += 199;
  CHECK_FALSE(search.is_due(9, 10));
  search.share().others += 1;
  CHECK(search.is_due(9, 10));
  search.share().own += 1;
  CHECK_FALSE(search.is_due(9, 10));
  search.share().others_ended = true;
  CHECK(search.is_due(9, 10));
}

TEST_CASE("root search: finds the best plan below the goal, and proves that none is better") {
  Root root;
  // On one rank they take 35 ms; the best plans have two on one rank.
  const RootSearch::Answer answer = root.run(8, 30);
  REQUIRE(answer.found.has_value());
  const Problem& problem = root.model.space->problem();
  CHECK(evaluate(problem, root.topology(), *answer.found).rating == 14);
  CHECK(answer.proved < 14);
  CHECK(answer.proved > 14 * (1 - root.parameters.optimality_gap));
  REQUIRE(answer.proof.size() == 1);
  CHECK(answer.proof.front().by_search);
  BoundCertificate certificate = root.certificate_of(answer);
  CHECK(root.wrong_with(certificate) == "");
  certificate.bound = 14.001;
  CHECK(root.wrong_with(certificate) != "");
}

TEST_CASE("root search: proves a goal below which there is no plan") {
  Root root;
  const RootSearch::Answer answer = root.run(8.75, 13.999);
  CHECK_FALSE(answer.found.has_value());
  CHECK(answer.proved == 13.999);
  CHECK(root.wrong_with(root.certificate_of(answer)) == "");
}

TEST_CASE("root search: the goal, the middle, and again with more steps") {
  BoundParameters parameters;
  parameters.search.first_root_steps = 1;
  parameters.search.root_steps_growth = 2;
  parameters.search.proof_steps = 2;
  Root root(parameters);
  const double goal = 13.999;
  int tries = 0;
  for (; root.search.has_next(10, goal) && tries < 20; ++tries)
    CHECK(root.run(10, goal).proof.empty());
  // Two with a step; with two steps the middle below each that failed, until 0.3 % are left.
  CHECK(tries == 2 + 7);
  // A bound above what failed leaves the upper half, and one near the goal the goal alone.
  CHECK(root.search.has_next(13, goal));
  CHECK(root.search.has_next(13.98, goal));
  root.run(13.98, goal);
  CHECK_FALSE(root.search.has_next(13.98, goal));
  CHECK(root.search.has_next(13.98, 13.99));
}

TEST_CASE("root search: leaves large problems to trees") {
  BoundParameters parameters;
  parameters.search.most_root_cells = 19;
  Root root(parameters);
  int tries = 0;
  for (; root.search.has_next(10, 14.001) && tries < 50; ++tries)
    CHECK_FALSE(root.run(10, 14.001).found.has_value());
  CHECK(tries < 50);
  CHECK(root.budget.work_done() < parameters.search.first_root_steps);
}

}  // namespace shardwright::root_search_test
