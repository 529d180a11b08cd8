// What processes of compat mode tell each other: written, read, refused when it is damaged.
#include "search/embedding/compat/processes/outcome_message.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <string>

#include "tests/support/embedding/random_embedding.h"

namespace shardwright::outcome_message_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

constexpr std::size_t kCandidates = 7;

// All new but the third: fits, does not fit, not done in turns.
void fill(CandidateBatch& batch, bool traced) {
  batch.serial = 5;
  batch.candidates.assign(kCandidates, {});
  if (traced) batch.ranks_sha1.assign(kCandidates, "");
  for (std::size_t i = 0; i < kCandidates; ++i) {
    CandidateBatch::Candidate& candidate = batch.candidates[i];
    candidate.is_new = i != 2;
    candidate.done = i % 3 != 2;
    candidate.outcome = {i % 3 == 0, 1.5 * static_cast<double>(i)};
    if (traced && i % 3 == 0) batch.ranks_sha1[i] = "digest" + std::to_string(i);
  }
}

}  // namespace

TEST_CASE("outcome message: parts cover a batch, each once") {
  for (const std::size_t candidates : {1U, 12U, 64U, 65U}) {
    for (const std::uint32_t processes : {1U, 2U, 3U, 64U}) {
      std::size_t next = 0;
      for (std::uint32_t process = 0; process < processes; ++process) {
        const CandidateRange part = part_of(candidates, process, processes);
        CHECK(part.begin == next);
        CHECK(part.end - part.begin <= candidates / processes + 1);
        next = part.end;
      }
      CHECK(next == candidates);
    }
  }
}

TEST_CASE("outcome message: outcomes are read as they were written") {
  Random random(1);
  const OptionPool pool(random_space(
      random, random_problem(random, {.max_tables = 6, .scaleup = false, .external = true})));
  for (const bool traced : {false, true}) {
    CandidateBatch sent(pool), read(pool);
    fill(sent, traced);
    fill(read, traced);
    const CandidateRange part{1, 7};
    for (std::size_t i = part.begin; i < part.end; ++i) {
      read.candidates[i].done = false;
      read.candidates[i].outcome = {};
      if (traced) read.ranks_sha1[i].clear();
    }
    const std::string message = to_message(sent, part, StopReason::kTimeLimit);
    std::optional<StopReason> stopped;
    REQUIRE(take_outcomes(message, part, read, stopped));
    CHECK(stopped == StopReason::kTimeLimit);
    for (std::size_t i = part.begin; i < part.end; ++i) {
      CAPTURE(i);
      const bool sends = sent.candidates[i].is_new && sent.candidates[i].done;
      CHECK(read.candidates[i].done == sends);
      if (!sends) continue;
      CHECK(read.candidates[i].outcome.feasible == sent.candidates[i].outcome.feasible);
      if (!sent.candidates[i].outcome.feasible) continue;
      CHECK(read.candidates[i].outcome.rating == sent.candidates[i].outcome.rating);
      if (traced) CHECK(read.ranks_sha1[i] == sent.ranks_sha1[i]);
    }
    for (std::size_t size = 0; size < message.size(); ++size)
      REQUIRE_FALSE(take_outcomes(message.substr(0, size), part, read, stopped));
    CHECK_FALSE(take_outcomes(message + '\0', part, read, stopped));
    CHECK_FALSE(take_outcomes(message, {0, 7}, read, stopped));
    read.serial = 6;
    CHECK_FALSE(take_outcomes(message, part, read, stopped));
  }
}

}  // namespace shardwright::outcome_message_test
