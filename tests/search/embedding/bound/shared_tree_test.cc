// A tree that the lanes of the proof share.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/bound/bound_prover.h"
#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/certificate_text.h"
#include "tests/support/embedding/six_kinds.h"

namespace shardwright::shared_tree_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

constexpr std::uint64_t kLaneWork = 20'000;

// Runs the proof to its end. Returns true if the lanes shared a tree in some round.
bool run(BoundProver& prover) {
  bool is_shared = false;
  while (!prover.finished()) {
    prover.begin_round(kRatingOfSixKinds);
    Budget budget;
    for (std::size_t lane = 0; lane < prover.num_lanes(); ++lane)
      prover.run_lane(lane, kLaneWork, budget);
    is_shared = is_shared || prover.is_shared();
    prover.end_round();
  }
  return is_shared;
}

}  // namespace

TEST_CASE("shared tree: what lanes prove together is accepted, and the same every time") {
  const BoundModel model(tables_of_six_kinds());
  BoundParameters parameters;
  parameters.targets.alone_work = 0;
  BoundProver prover(model.choices, parameters);
  BoundProver again(model.choices, parameters);
  CHECK(run(prover));
  CHECK(run(again));
  CHECK(again.bound() == prover.bound());
  CHECK(certificate_text(again.certificate()) == certificate_text(prover.certificate()));
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
