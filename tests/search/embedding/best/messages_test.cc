// What processes of best mode tell each other: written, read, refused when it is damaged.
#include "search/embedding/best/processes/messages.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "search/embedding/best/best_search.h"
#include "search/explore.h"
#include "tests/support/embedding/small_models.h"

namespace shardwright::messages_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

Allocation found_allocation(const Model& model, std::uint64_t seed) {
  BestSearch search(model.choices, seed, false);
  InlineExecutor executor;
  Budget budget(300'000, {});
  explore(search, executor, budget);
  REQUIRE(search.best().has_value());
  return *to_allocation(model.choices, search.best()->plan);
}

RoundReport full_report(const Allocation& found, const Allocation& by_proof) {
  RoundReport report;
  report.lane_work = {5, 0, 7};
  report.stopped = StopReason::kTimeLimit;
  report.found.lane = 2;
  report.found.received =
      std::make_shared<const RatedAllocation>(RatedAllocation{found, 1.5, 1 << 20});
  report.found.rated = report.found.received.get();
  report.proof.emplace();
  report.proof->bound = 1.25;
  report.proof->is_solving = true;
  report.proof->suggestions.push_back({found.choice, 1.375});
  report.proof->found = RatedAllocation{by_proof, 1.4, 3};
  return report;
}

bool same(const Allocation& a, const Allocation& b) {
  return a.choice == b.choice && a.ranks == b.ranks;
}

}  // namespace

TEST_CASE("messages: a report is read as it was written") {
  const Model model(forty_tables(60));
  const Allocation known = found_allocation(model, 1);
  Allocation found = known;
  found.choice[3] = found_allocation(model, 2).choice[3];
  found.ranks[3] = found_allocation(model, 2).ranks[3];
  const RoundReport report = full_report(found, known);
  for (const Allocation* const base : {&known, static_cast<const Allocation*>(nullptr)}) {
    const auto read = report_of(model.choices, to_message(report, base), base);
    REQUIRE(read.has_value());
    CHECK(read->lane_work == report.lane_work);
    CHECK(read->stopped == report.stopped);
    CHECK(read->found.lane == 2);
    REQUIRE(read->found.rated != nullptr);
    CHECK(same(read->found.rated->allocation, found));
    CHECK(read->found.rated->rating == 1.5);
    CHECK(read->found.rated->peak_hbm_bytes == 1 << 20);
    REQUIRE(read->proof.has_value());
    CHECK(read->proof->bound == 1.25);
    CHECK(read->proof->is_solving);
    CHECK_FALSE(read->proof->is_finished);
    REQUIRE(read->proof->suggestions.size() == 1);
    CHECK(read->proof->suggestions[0].choices == found.choice);
    REQUIRE(read->proof->found.has_value());
    CHECK(same(read->proof->found->allocation, known));
  }
  CHECK(to_message(report, &known).size() < to_message(report, nullptr).size() / 2);
}

TEST_CASE("messages: an opening is read as it was written") {
  const Model model(forty_tables(60));
  const Opening opening{fingerprint_of(model.choices, {3}, 1000),
                        77,
                        true,
                        {found_allocation(model, 1), found_allocation(model, 2)}};
  const auto read = opening_of(model.choices, to_message(opening));
  REQUIRE(read.has_value());
  CHECK(read->fingerprint == opening.fingerprint);
  CHECK(read->work_done == 77);
  CHECK(read->prove);
  REQUIRE(read->starts.size() == 2);
  CHECK(same(read->starts[1], opening.starts[1]));
}

TEST_CASE("messages: the fingerprint tells models, seeds, lanes and limits apart") {
  const Model model(forty_tables(60));
  const std::string print = fingerprint_of(model.choices, {1}, 1000);
  CHECK(print == fingerprint_of(Model(forty_tables(60)).choices, {1}, 1000));
  CHECK(print != fingerprint_of(Model(forty_tables(61)).choices, {1}, 1000));
  CHECK(print != fingerprint_of(model.choices, {2}, 1000));
  CHECK(print != fingerprint_of(model.choices, {1, 16}, 1000));
  CHECK(print != fingerprint_of(model.choices, {1}, 1001));
}

TEST_CASE("messages: what is cut short or belongs to another model is refused") {
  const Model model(forty_tables(60));
  const Allocation known = found_allocation(model, 1);
  const std::string whole = to_message(full_report(known, known), nullptr);
  for (std::size_t size = 0; size < whole.size(); ++size)
    REQUIRE_FALSE(report_of(model.choices, whole.substr(0, size), nullptr).has_value());
  CHECK_FALSE(report_of(model.choices, whole + '\0', nullptr).has_value());
  CHECK_FALSE(opening_of(model.choices, whole).has_value());
  Allocation foreign = known;
  foreign.choice[0] = model.choices.first_choice(1);
  CHECK_FALSE(report_of(model.choices, to_message(full_report(foreign, known), nullptr), nullptr));
  Allocation outside = known;
  for (std::vector<Rank>& ranks : outside.ranks) {
    for (Rank& rank : ranks)
      rank = model.choices.world_size();
  }
  CHECK_FALSE(report_of(model.choices, to_message(full_report(known, outside), nullptr), nullptr));
}

TEST_CASE("messages: suggestions that are no choices of the tables are refused") {
  const Model model(forty_tables(60));
  const Allocation known = found_allocation(model, 1);
  const auto is_read = [&](std::vector<std::uint32_t> choices) {
    RoundReport report = full_report(known, known);
    report.proof->suggestions.front().choices = std::move(choices);
    return report_of(model.choices, to_message(report, &known), &known).has_value();
  };
  CHECK(is_read(known.choice));
  CHECK_FALSE(is_read({}));
  std::vector<std::uint32_t> changed = known.choice;
  changed.back() = static_cast<std::uint32_t>(model.choices.choices().size());
  CHECK_FALSE(is_read(changed));
  changed = known.choice;
  std::swap(changed.front(), changed.back());
  CHECK_FALSE(is_read(changed));
}

TEST_CASE("messages: of equal allocations the first lane's is taken, as one process would") {
  const Model model(forty_tables(60));
  const RatedAllocation rated{found_allocation(model, 1), 2.0, 5};
  const RatedAllocation better{rated.allocation, 2.0, 4};
  const auto winner = [](FoundAllocation own, FoundAllocation other) {
    RoundReport to, from;
    to.found = std::move(own);
    from.found = std::move(other);
    add_report(std::move(from), to);
    return to.found.lane;
  };
  CHECK(winner({4, &rated, nullptr}, {3, &rated, nullptr}) == 3);
  CHECK(winner({3, &rated, nullptr}, {4, &rated, nullptr}) == 3);
  CHECK(winner({3, &rated, nullptr}, {4, &better, nullptr}) == 4);
  CHECK(winner({3, &better, nullptr}, {2, &rated, nullptr}) == 3);
  CHECK(winner({}, {9, &rated, nullptr}) == 9);
}

}  // namespace shardwright::messages_test
