// A tree that the lanes of the proof share.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/bound/bound_prover.h"
#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/six_kinds.h"

namespace shardwright::shared_tree_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

constexpr std::uint64_t kLaneWork = 20'000;

// Runs the proof to its end. Returns the work of all lanes in the rounds in which they shared a
// tree.
std::uint64_t run(BoundProver& prover) {
  std::uint64_t shared_work = 0;
  while (!prover.finished()) {
    prover.begin_round(kRatingOfSixKinds);
    Budget budget;
    for (std::size_t lane = 0; lane < prover.num_lanes(); ++lane)
      prover.run_lane(lane, kLaneWork, budget);
    if (prover.is_shared()) shared_work += budget.work_done();
    prover.end_round();
  }
  return shared_work;
}

}  // namespace

TEST_CASE("shared tree: what lanes prove together is accepted, and the same every time") {
  const BoundModel model(tables_of_six_kinds());
  BoundParameters parameters;
  parameters.targets.alone_work = 0;
  BoundProver prover(model.choices, parameters);
  BoundProver again(model.choices, parameters);
  const std::uint64_t work = run(prover);
  CHECK(work > 0);
  CHECK(run(again) == work);
  CHECK(again.bound() == prover.bound());
  REQUIRE(prover.certificate().nodes.size() > 1);
  CHECK(again.certificate().nodes.size() == prover.certificate().nodes.size());
  const auto wrong =
      check_bound(*model.space, model.space->problem().topology(), prover.certificate());
  CHECK(wrong.value_or("") == "");
}

TEST_CASE("shared tree: a proof goes on from a certificate, and never from a weaker one") {
  const BoundModel model(tables_of_six_kinds());
  BoundProver whole(model.choices);
  run(whole);
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

}  // namespace shardwright::shared_tree_test
