// The exhaustive search for plans below a target, at the root of a proof.
#include "search/embedding/bound/root_search.h"

#include <optional>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/evaluate.h"
#include "search/embedding/bound/aggregate_bound.h"
#include "tests/support/embedding/bound_model.h"

namespace shardwright::root_search_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

// The proof of five_on_four() and the search at its root.
struct Root {
  explicit Root(BoundParameters given = {}) : parameters(given) {}

  // Makes `bound` the proved bound, and sets a rating whose goal is `goal`.
  void set(double bound, double goal) {
    BoundCertificate proved = proof.certificate();
    proved.bound = bound;
    proof.begin_from(proved);
    proof.set_rating(goal / (1 - parameters.targets.goal_in_gap * parameters.optimality_gap));
  }
  bool has_more(double bound, double goal) {
    set(bound, goal);
    return search.has_more(proof);
  }
  void run(double bound, double goal) {
    set(bound, goal);
    do
      search.step(proof, budget);
    while (search.goes_on());
  }
  // Returns what the check finds wrong with the certificate, or "" if it accepts it.
  std::string wrong_with(const BoundCertificate& certificate) const {
    return check_bound(*model.space, topology(), certificate).value_or("");
  }
  const Topology& topology() const { return model.space->problem().topology(); }

  BoundParameters parameters;
  BoundModel model = five_on_four();
  Proof proof{model.choices, parameters};
  RootSearch search{proof.parameters()};
  Budget budget;
};

}  // namespace

TEST_CASE("root search: waits until the others had as much work, unless the problem is tiny") {
  BoundParameters parameters;
  parameters.search.first_root_steps = 100;
  parameters.search.step_work = 2;
  Root tiny(parameters);
  CHECK(tiny.has_more(9, 10));
  CHECK(tiny.search.is_due(tiny.proof));
  parameters.search.most_tiny_cells = 19;
  Root root(parameters);
  CHECK(root.has_more(9, 10));
  root.search.note_others(199);
  CHECK_FALSE(root.search.is_due(root.proof));
  root.search.note_others(1);
  CHECK(root.search.is_due(root.proof));
}

namespace {

BoundParameters nothing_is_tiny() {
  BoundParameters parameters;
  parameters.search.most_tiny_cells = 0;
  return parameters;
}

}  // namespace

TEST_CASE("root search: finds the best plan below the goal, and proves that none is better") {
  Root root(nothing_is_tiny());
  // All tables on one rank take 35 ms. In the best plans one rank has two tables.
  root.run(8, 30);
  const std::optional<Plan> found = root.proof.take_found();
  REQUIRE(found.has_value());
  const Problem& problem = root.model.space->problem();
  CHECK(evaluate(problem, root.topology(), *found).rating == 14);
  BoundCertificate certificate = root.proof.certificate();
  CHECK(certificate.bound < 14);
  CHECK(certificate.bound > 14 * (1 - root.parameters.optimality_gap));
  REQUIRE(certificate.nodes.size() == 1);
  CHECK(certificate.nodes.front().by_search);
  CHECK(root.wrong_with(certificate) == "");
  certificate.bound = 14.001;
  CHECK(root.wrong_with(certificate) != "");
}

TEST_CASE("root search: a tiny problem is proved up to its rating") {
  Root root;
  root.run(8, 30);
  REQUIRE(root.proof.take_found().has_value());
  CHECK(root.proof.bound() < 14);
  CHECK(root.proof.bound() > 14 * (1 - 1e-8));
  CHECK(root.wrong_with(root.proof.certificate()) == "");
}

TEST_CASE("root search: proves a goal below which there is no plan") {
  Root root(nothing_is_tiny());
  root.run(8.75, 13.999);
  CHECK_FALSE(root.proof.take_found().has_value());
  CHECK(root.proof.bound() == doctest::Approx(13.999));
  CHECK(root.wrong_with(root.proof.certificate()) == "");
}

TEST_CASE("root search: the goal, the middle, and again with more steps") {
  BoundParameters parameters = nothing_is_tiny();
  parameters.search.first_root_steps = 1;
  parameters.search.root_steps_growth = 2;
  parameters.search.proof_steps = 2;
  Root root(parameters);
  const double goal = 13.999;
  int tries = 0;
  for (; root.has_more(10, goal) && tries < 20; ++tries)
    root.run(10, goal);
  CHECK_FALSE(root.has_more(10, goal));
  CHECK(root.proof.bound() == 10);
  // With a higher bound, the range between the bound and the failed target is tried again. With a
  // bound close to the goal, only the goal is tried.
  CHECK(root.has_more(13, goal));
  CHECK(root.has_more(13.98, goal));
  root.run(13.98, goal);
  CHECK_FALSE(root.has_more(13.98, goal));
  CHECK(root.has_more(13.98, 13.99));
}

TEST_CASE("root search: leaves large problems to trees") {
  BoundParameters parameters;
  parameters.search.most_root_cells = 19;
  Root root(parameters);
  int tries = 0;
  for (; root.has_more(10, 14.001) && tries < 50; ++tries)
    root.run(10, 14.001);
  CHECK_FALSE(root.proof.take_found().has_value());
  CHECK_FALSE(root.has_more(10, 14.001));
}

}  // namespace shardwright::root_search_test
