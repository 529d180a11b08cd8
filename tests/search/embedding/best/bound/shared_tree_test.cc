// A tree whose lanes belong to several processes: the proof of one process.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/best/bound/bound_prover.h"
#include "search/embedding/best/bound/shared/tree_follower.h"
#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/six_kinds.h"

namespace shardwright::shared_tree_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

constexpr std::uint64_t kLaneWork = 20'000;

BoundParameters sharing_parameters() {
  BoundParameters parameters;
  parameters.targets.alone_work = 0;
  return parameters;
}

// What all lanes did in every round, and where.
struct Run {
  std::vector<std::uint64_t> work;
  std::uint64_t by_followers = 0;
  std::size_t starts = 0;
};

Run run_alone(BoundProver& prover) {
  Run run;
  while (!prover.finished()) {
    prover.begin_round(kRatingOfSixKinds);
    Budget budget;
    for (std::size_t lane = 0; lane < prover.num_lanes(); ++lane)
      prover.run_lane(lane, kLaneWork, budget);
    prover.end_round();
    run.work.push_back(budget.work_done());
  }
  return run;
}

// The same with lanes dealt out in turn to the prover and to followers.
Run run_dealt(BoundProver& prover, std::vector<std::unique_ptr<TreeFollower>>& followers) {
  Run run;
  prover.keep_starts();
  while (!prover.finished()) {
    prover.begin_round(kRatingOfSixKinds);
    const std::optional<TreeStart> start = prover.take_start();
    run.starts += start ? 1U : 0U;
    for (const auto& follower : followers) {
      if (start) follower->begin(*start);
      if (prover.shared() == nullptr) follower->end();
      if (follower->shared() != nullptr) follower->shared()->transfer(prover.transfers());
    }
    TreeView* const shared = prover.shared();
    Budget budget;
    for (std::size_t lane = 0; lane < prover.num_lanes(); ++lane) {
      const std::size_t owner = shared == nullptr ? 0 : lane % (followers.size() + 1);
      const std::uint64_t before = budget.work_done();
      if (owner == 0) {
        prover.run_lane(lane, kLaneWork, budget);
      } else {
        followers[owner - 1]->shared()->lanes()[lane]->run(kLaneWork, budget);
        run.by_followers += budget.work_done() - before;
      }
      if (shared == nullptr) continue;
      TreeView& of_owner = owner == 0 ? *shared : *followers[owner - 1]->shared();
      const LaneReport report = of_owner.lanes()[lane]->report();
      if (owner != 0) shared->lanes()[lane]->stand_for(report);
      for (std::size_t i = 0; i < followers.size(); ++i) {
        if (i + 1 != owner) followers[i]->shared()->lanes()[lane]->stand_for(report);
      }
    }
    for (const auto& follower : followers) {
      if (shared == nullptr) continue;
      follower->end_round();
    }
    prover.end_round();
    run.work.push_back(budget.work_done());
    for (const auto& follower : followers) {
      if (prover.shared() != nullptr && follower->shared() != nullptr)
        CHECK(follower->shared()->tree().size() == prover.shared()->tree().size());
    }
  }
  return run;
}

}  // namespace

TEST_CASE("shared tree: lanes of any number of processes prove what one process proves") {
  const BoundModel model(tables_of_six_kinds());
  const BoundParameters parameters = sharing_parameters();
  BoundProver alone(model.choices, parameters);
  const Run expected = run_alone(alone);
  REQUIRE(alone.certificate().nodes.size() > 1);
  for (const std::size_t processes : {2U, 3U, 8U}) {
    CAPTURE(processes);
    BoundProver prover(model.choices, parameters);
    std::vector<std::unique_ptr<TreeFollower>> followers;
    while (followers.size() + 1 < processes)
      followers.push_back(std::make_unique<TreeFollower>(model.choices, parameters));
    const Run run = run_dealt(prover, followers);
    CHECK(run.work == expected.work);
    CHECK(run.starts > 0);
    CHECK(run.by_followers > 0);
    CHECK(prover.bound() == alone.bound());
    CHECK(prover.certificate().nodes.size() == alone.certificate().nodes.size());
    const auto wrong =
        check_bound(*model.space, model.space->problem().topology(), prover.certificate());
    CHECK(wrong.value_or("") == "");
  }
}

TEST_CASE("shared tree: a proof goes on from a certificate, and never from a weaker one") {
  const BoundModel model(tables_of_six_kinds());
  BoundProver whole(model.choices);
  run_alone(whole);
  BoundProver resumed(model.choices);
  resumed.begin_from(whole.certificate());
  CHECK(resumed.bound() == whole.bound());
  resumed.begin_round(kRatingOfSixKinds);
  CHECK(resumed.finished() == whole.proves(kRatingOfSixKinds));
  BoundCertificate weaker = whole.certificate();
  weaker.bound /= 2;
  resumed.begin_from(weaker);
  CHECK(resumed.bound() == whole.bound());
}

TEST_CASE("shared tree: the open part of a tree is all that a leaf's domain needs") {
  const BoundModel model(tables_of_six_kinds());
  constexpr double kTarget = kRatingOfSixKinds;
  BoundTree tree(model.rows);
  Branch branch;
  branch.tables = {0};
  branch.first_child = {{model.choices.first_choice(0), 1}};
  const BoundTree::NodeId left = tree.divide(0, kTarget, branch, {});
  branch.tables = {1};
  branch.first_child = {{model.choices.first_choice(1), 1}};
  const BoundTree::NodeId inner = tree.divide(left, kTarget, branch, {});
  BoundNode proof;
  proof.multipliers.resize(model.rows.classes().size());
  tree.close(inner, kTarget, proof);
  const TreePart part = tree.open_part(kTarget);
  CHECK(part.tree_size == tree.size());
  CHECK(part.nodes.size() == 4);  // all but the closed leaf
  BoundTree other(model.rows);
  other.become(part);
  CHECK(other.size() == tree.size());
  CHECK(other.open_leaves(kTarget) == tree.open_leaves(kTarget));
  Budget budget;
  for (const BoundTree::NodeId leaf : tree.open_leaves(kTarget))
    CHECK(other.domain(leaf, kTarget, budget) == tree.domain(leaf, kTarget, budget));
}

}  // namespace shardwright::shared_tree_test
