// The progress line on terminals of any width.
#include <cstddef>
#include <string>

#include <doctest/doctest.h>

#include "runtime/cli/progress.h"

namespace shardwright::progress_test {

using shardwright::PlanProgress;
using shardwright::cli::progress_text;

namespace {

PlanProgress searching() {
  PlanProgress progress;
  progress.proposals = progress.proposals_at_most = 3000;
  progress.best_rating = 7.0971;
  progress.work_limit = 1000;
  progress.work_steps = 250;
  progress.elapsed_s = 2;
  progress.is_best_search = true;
  return progress;
}

}  // namespace

TEST_CASE("progress: a line says what is done, the best rating with its unit, and the time left") {
  CHECK(progress_text(searching(), 80) ==
        "[#####---------------]  25 %  searching  best 7.097 ms  6 s left");
  PlanProgress bytes = searching();
  bytes.rating_is_bytes = true;
  bytes.best_rating = 3.0 * 1024 * 1024 * 1024;
  CHECK(progress_text(bytes, 80).find("best 3.00 GiB") != std::string::npos);
  PlanProgress first;
  first.proposals = 300;
  first.proposals_at_most = 3000;
  first.elapsed_s = 1;
  CHECK(progress_text(first, 80) ==
        "[##------------------]  10 %  proposals  nothing fits yet  9 s left");
}

TEST_CASE("progress: fits every width and keeps the most important parts longest") {
  for (std::size_t width = 4; width < 100; ++width) {
    CAPTURE(width);
    CHECK(progress_text(searching(), width).size() <= width);
    CHECK(progress_text(searching(), width).find("25 %") != std::string::npos);
  }
  CHECK(progress_text(searching(), 40) == "25 %  searching  best 7.097 ms  6 s left");
  CHECK(progress_text(searching(), 39) == "25 %  best 7.097 ms  6 s left");
  CHECK(progress_text(searching(), 25) == "25 %  best 7.097 ms");
}

TEST_CASE("progress: a running search is never at 100 %, and ends at whichever limit is nearer") {
  PlanProgress progress = searching();
  progress.work_steps = 5000;
  CHECK(progress_text(progress, 10) == "99 %");
  progress.work_steps = 100;
  progress.time_limit_s = 4;
  CHECK(progress_text(progress, 10) == "50 %");
  progress.work_limit.reset();
  progress.time_limit_s.reset();
  CHECK(progress_text(progress, 80).find("starting") != std::string::npos);
}

}  // namespace shardwright::progress_test
