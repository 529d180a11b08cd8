#include "search/embedding/questions/fit_oracle.h"

#include <cstdint>

#include <doctest/doctest.h>

namespace shardwright::step_search_test {

namespace {

using namespace shardwright;
using embedding::Effort;
using embedding::Fit;
using embedding::StepSearch;

// Steps below `proved` are proved impossible. A brief search fits steps from `brief` on, and a full
// search fits steps from `full` on.
struct Change {
  std::int64_t proved = 1;
  std::int64_t full = 1;
  std::int64_t brief = 1;
  mutable int searches = 0;

  Fit operator()(std::int64_t step, Effort effort) const {
    Fit fit;
    if (step < proved) {
      fit.answer = Fit::Answer::kImpossible;
      return fit;
    }
    if (effort == Effort::kProof) return fit;
    ++searches;
    if (step >= (effort == Effort::kFull ? full : brief)) fit.answer = Fit::Answer::kFits;
    return fit;
  }
};

}  // namespace

TEST_CASE(
    "step search: finds the smallest step that fits, and says whether one less is impossible") {
  for (const std::int64_t most : {1, 2, 7, 1000}) {
    for (std::int64_t first = 1; first <= most; first += most > 10 ? 37 : 1) {
      CAPTURE(most);
      CAPTURE(first);
      const Change proved{first, first, first};
      const auto found = StepSearch(most, false, proved).run();
      REQUIRE(found.has_value());
      CHECK(found->step == first);
      CHECK(found->less_is_impossible == (first > 1));
      const Change searched{1, first, first};
      const auto other = StepSearch(most, false, searched).run();
      REQUIRE(other.has_value());
      CHECK(other->step == first);
      CHECK_FALSE(other->less_is_impossible);
    }
  }
}

TEST_CASE("step search: a full search lowers the step that a brief one found") {
  const Change change{10, 40, 90};
  const auto found = StepSearch(1000, false, change).run();
  REQUIRE(found.has_value());
  CHECK(found->step == 40);
}

TEST_CASE("step search: nothing is found if the last step does not fit") {
  const Change proved{11, 11, 11};
  CHECK_FALSE(StepSearch(10, false, proved).run().has_value());
  CHECK(proved.searches == 0);
  const Change searched{1, 11, 11};
  CHECK_FALSE(StepSearch(10, false, searched).run().has_value());
  CHECK_FALSE(StepSearch(0, false, searched).run().has_value());
}

TEST_CASE("step search: stops when a search was stopped") {
  const auto stopped = [](std::int64_t, Effort effort) {
    Fit fit;
    if (effort != Effort::kProof) fit.answer = Fit::Answer::kStopped;
    return fit;
  };
  StepSearch search(100, false, stopped);
  CHECK_FALSE(search.run().has_value());
  CHECK(search.stopped());
}

}  // namespace shardwright::step_search_test
