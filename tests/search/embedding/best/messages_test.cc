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

RoundReport full_report(const Allocation& found, const LaneReport& lane) {
  RoundReport report;
  report.lane_work = {5, 0, 7};
  report.stopped = StopReason::kTimeLimit;
  report.found.lane = 2;
  report.found.received =
      std::make_shared<const RatedAllocation>(RatedAllocation{found, 1.5, 1 << 20});
  report.found.rated = report.found.received.get();
  BoundNode leaf;
  leaf.by_search = true;
  leaf.multipliers = {{1, 2, 3, 4}};
  report.neighbourhoods = {true, true, std::vector<BoundNode>{leaf}};
  report.tree_lanes.push_back({1, lane});
  return report;
}

// A lane that divided a node, closed the first child, and found a plan.
LaneReport busy_lane(const Model& model, const Allocation& found) {
  LaneReport lane;
  lane.answered.resize(2);
  lane.answered[0].node = 3;
  lane.answered[0].answer.kind = NodeAnswer::Kind::kDivided;
  lane.answered[0].answer.branch.tables = {4, 5};
  lane.answered[0].answer.branch.count = 2;
  lane.answered[0].answer.branch.first_child = {{model.choices.first_choice(4), 3}};
  lane.answered[0].answer.proof.fixing = {{{1, 0, 0, 0}, {0, 1, 0, 0}}};
  lane.answered[1].node = 1U << 31;
  lane.answered[1].answer.kind = NodeAnswer::Kind::kExcluded;
  lane.answered[1].answer.proof.shard_duals = {{OptionId(7), 1, 0.5}};
  lane.answered[1].answer.proof.max_pattern_values = {0.25, 0.75};
  lane.answered[1].answer.search_steps = 9;
  lane.open = {(1U << 31) + 1, 2};
  lane.is_busy = true;
  lane.was_cut_short = true;
  lane.stuck_start = Allocation::of_choices(found.choice);
  PlanCopies copies;
  lane.found = to_plan(model.choices, found, copies);
  lane.work = 77;
  return lane;
}

void check_same(const LaneReport& read, const LaneReport& written, const Model& model) {
  REQUIRE(read.answered.size() == 2);
  CHECK(read.answered[0].node == 3);
  CHECK(read.answered[0].answer.kind == NodeAnswer::Kind::kDivided);
  CHECK(read.answered[0].answer.branch.tables == written.answered[0].answer.branch.tables);
  CHECK(read.answered[0].answer.branch.count == 2);
  CHECK(read.answered[0].answer.branch.first_child ==
        written.answered[0].answer.branch.first_child);
  REQUIRE(read.answered[0].answer.proof.fixing.size() == 1);
  CHECK(read.answered[0].answer.proof.fixing[0][1].hbm == 1);
  CHECK(read.answered[1].node == 1U << 31);
  CHECK(read.answered[1].answer.kind == NodeAnswer::Kind::kExcluded);
  REQUIRE(read.answered[1].answer.proof.shard_duals.size() == 1);
  CHECK(read.answered[1].answer.proof.shard_duals[0].option == OptionId(7));
  CHECK(read.answered[1].answer.proof.shard_duals[0].value == 0.5);
  CHECK(read.answered[1].answer.proof.max_pattern_values == std::vector{0.25, 0.75});
  CHECK(read.answered[1].answer.search_steps == 9);
  CHECK(read.open == written.open);
  CHECK(read.is_busy);
  CHECK_FALSE(read.is_stuck);
  CHECK(read.was_cut_short);
  REQUIRE(read.stuck_start.has_value());
  CHECK(read.stuck_start->choice == written.stuck_start->choice);
  REQUIRE(read.found.has_value());
  CHECK(to_allocation(model.choices, *read.found)->choice == written.stuck_start->choice);
  CHECK(read.work == 77);
}

Verdict full_verdict(const Model& model, const Allocation& found) {
  Verdict verdict;
  verdict.proof.bound = 1.25;
  verdict.proof.is_certified = true;
  Allocation placed = Allocation::of_choices(found.choice);
  placed.ranks[1] = found.ranks[1];
  verdict.proof.suggestions.push_back({placed, 1.375});
  verdict.proof.found = RatedAllocation{found, 1.4, 3};
  verdict.next.share = 24;
  verdict.next.lanes = 2;
  verdict.next.processes = {0, 1};
  verdict.next.transfers = {{1, 0}};
  TreeStart& start = verdict.next.start.emplace();
  start.view = RankView::kPinned;
  start.pins.emplace();
  start.pins->steps.push_back({{{{1, 2, 3, 4}}}, {6}});
  start.pins->tables = {6};
  start.pins->sizes = {2};
  start.target = 1.125;
  start.limits = {100, 10, true};
  start.part.tree_size = 3;
  start.part.nodes.resize(2);
  start.part.nodes[0].first_child = 1;
  start.part.nodes[0].branch.tables = {4};
  start.part.nodes[0].divided = 1.5;
  start.part.nodes[1].id = 2;
  start.first_lane = busy_lane(model, found);
  start.known.patterns.question = 12;
  start.known.patterns.patterns.push_back({{1, {{2, 3}, {4, 5}}, 0.5}, 11});
  start.known.center = {{1, 2}, {3}, {}};
  start.known.was_easy = {1, 0};
  return verdict;
}

bool same(const Allocation& a, const Allocation& b) {
  return a.choice == b.choice && a.ranks == b.ranks;
}

}  // namespace

TEST_CASE("messages: a report is read as it was written") {
  const Model model(forty_tables(60));
  const ChoiceModel& choices = model.choices;
  const Allocation known = found_allocation(model, 1);
  Allocation found = known;
  found.choice[3] = found_allocation(model, 2).choice[3];
  found.ranks[3] = found_allocation(model, 2).ranks[3];
  const RoundReport report = full_report(found, busy_lane(model, known));
  for (const Allocation* const base : {&known, static_cast<const Allocation*>(nullptr)}) {
    const auto read = report_of(choices, to_message(report, base, choices), base, choices);
    REQUIRE(read.has_value());
    CHECK(read->lane_work == report.lane_work);
    CHECK(read->stopped == report.stopped);
    CHECK(read->found.lane == 2);
    REQUIRE(read->found.rated != nullptr);
    CHECK(same(read->found.rated->allocation, found));
    CHECK(read->found.rated->rating == 1.5);
    CHECK(read->found.rated->peak_hbm_bytes == 1 << 20);
    REQUIRE(read->neighbourhoods.has_value());
    CHECK(read->neighbourhoods->is_solving);
    REQUIRE(read->neighbourhoods->proof.has_value());
    CHECK(read->neighbourhoods->proof->front().multipliers.front().ssd == 4);
    REQUIRE(read->tree_lanes.size() == 1);
    CHECK(read->tree_lanes[0].lane == 1);
    check_same(read->tree_lanes[0].report, report.tree_lanes[0].report, model);
  }
  CHECK(to_message(report, &known, choices).size() < to_message(report, nullptr, choices).size());
}

TEST_CASE("messages: what the proof says and does next is read as it was written") {
  const Model model(forty_tables(60));
  const ChoiceModel& choices = model.choices;
  const Allocation found = found_allocation(model, 1);
  const Verdict verdict = full_verdict(model, found);
  const auto read = verdict_of(choices, to_message(verdict, nullptr, choices), nullptr, choices);
  REQUIRE(read.has_value());
  CHECK(read->proof.bound == 1.25);
  CHECK(read->proof.is_certified);
  CHECK_FALSE(read->proof.is_finished);
  REQUIRE(read->proof.suggestions.size() == 1);
  CHECK(read->proof.suggestions[0].start.choice == found.choice);
  CHECK(read->proof.suggestions[0].start.ranks[0].empty());
  CHECK(read->proof.suggestions[0].start.ranks[1] == found.ranks[1]);
  REQUIRE(read->proof.found.has_value());
  CHECK(same(read->proof.found->allocation, found));
  CHECK(read->next.share == 24);
  CHECK(read->next.lanes == 2);
  CHECK(read->next.processes == verdict.next.processes);
  REQUIRE(read->next.transfers.size() == 1);
  CHECK(read->next.transfers[0].to == 1);
  REQUIRE(read->next.start.has_value());
  const TreeStart& start = *read->next.start;
  CHECK(start.view == RankView::kPinned);
  REQUIRE(start.pins.has_value());
  CHECK(start.pins->steps.front().tables == std::vector<std::uint32_t>{6});
  CHECK(start.pins->steps.front().fixing.front().front().hbm == 2);
  CHECK(start.pins->sizes == std::vector<std::uint32_t>{2});
  CHECK(start.target == 1.125);
  CHECK(start.limits.column_work == 100);
  CHECK(start.limits.may_divide);
  CHECK(start.part.tree_size == 3);
  REQUIRE(start.part.nodes.size() == 2);
  CHECK(start.part.nodes[0].first_child == 1);
  CHECK(start.part.nodes[0].divided == 1.5);
  CHECK(start.part.nodes[1].first_child == BoundTree::kNone);
  check_same(start.first_lane, verdict.next.start->first_lane, model);
  CHECK(start.known.patterns.question == 12);
  REQUIRE(start.known.patterns.patterns.size() == 1);
  CHECK(start.known.patterns.patterns[0].last_used == 11);
  CHECK(start.known.patterns.patterns[0].pattern.shards ==
        verdict.next.start->known.patterns.patterns[0].pattern.shards);
  CHECK(start.known.center.shards == std::vector{1.0, 2.0});
  CHECK(start.known.was_easy == std::vector<std::uint8_t>{1, 0});
}

TEST_CASE("messages: an opening is read as it was written") {
  const Model model(forty_tables(60));
  const Opening opening{fingerprint_of(model.choices, {3}, 1000),
                        77,
                        true,
                        1.5,
                        {found_allocation(model, 1), found_allocation(model, 2)}};
  const auto read = opening_of(model.choices, to_message(opening));
  REQUIRE(read.has_value());
  CHECK(read->fingerprint == opening.fingerprint);
  CHECK(read->work_done == 77);
  CHECK(read->prove);
  CHECK(read->bound == 1.5);
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
  CHECK(fingerprint_of(model.choices) == fingerprint_of(Model(forty_tables(60)).choices));
  CHECK(fingerprint_of(model.choices) != fingerprint_of(Model(forty_tables(61)).choices));
}

TEST_CASE("messages: what is cut short or belongs to another model is refused") {
  const Model model(forty_tables(60));
  const ChoiceModel& choices = model.choices;
  const Allocation known = found_allocation(model, 1);
  const LaneReport lane = busy_lane(model, known);
  const auto is_report = [&](const std::string& text) {
    return report_of(choices, text, nullptr, choices).has_value();
  };
  const auto is_verdict = [&](const std::string& text) {
    return verdict_of(choices, text, nullptr, choices).has_value();
  };
  const std::string whole = to_message(full_report(known, lane), nullptr, choices);
  for (std::size_t size = 0; size < whole.size(); ++size)
    REQUIRE_FALSE(is_report(whole.substr(0, size)));
  CHECK_FALSE(is_report(whole + '\0'));
  CHECK_FALSE(is_verdict(whole));
  CHECK_FALSE(opening_of(choices, whole).has_value());
  const std::string verdict = to_message(full_verdict(model, known), nullptr, choices);
  for (std::size_t size = 0; size < verdict.size(); ++size)
    REQUIRE_FALSE(is_verdict(verdict.substr(0, size)));
  CHECK_FALSE(is_verdict(verdict + '\0'));
  CHECK_FALSE(is_report(verdict));
  Allocation foreign = known;
  foreign.choice[0] = choices.first_choice(1);
  CHECK_FALSE(is_report(to_message(full_report(foreign, lane), nullptr, choices)));
  Allocation outside = known;
  for (std::vector<Rank>& ranks : outside.ranks) {
    for (Rank& rank : ranks)
      rank = choices.world_size();
  }
  CHECK_FALSE(is_verdict(to_message(full_verdict(model, outside), nullptr, choices)));
}

TEST_CASE("messages: nodes, branches and lanes that do not exist are refused") {
  const Model model(forty_tables(60));
  const ChoiceModel& choices = model.choices;
  const Allocation known = found_allocation(model, 1);
  const auto is_read = [&](const Verdict& verdict) {
    return verdict_of(choices, to_message(verdict, nullptr, choices), nullptr, choices).has_value();
  };
  Verdict verdict = full_verdict(model, known);
  CHECK(is_read(verdict));
  verdict.next.start->part.nodes[1].id = 3;
  CHECK_FALSE(is_read(verdict));
  verdict = full_verdict(model, known);
  verdict.next.start->part.nodes[0].first_child = 2;
  CHECK_FALSE(is_read(verdict));
  verdict = full_verdict(model, known);
  verdict.next.start->part.nodes[0].branch.tables = {40};
  CHECK_FALSE(is_read(verdict));
  verdict = full_verdict(model, known);
  verdict.next.transfers[0].from = 2;
  CHECK_FALSE(is_read(verdict));
  verdict = full_verdict(model, known);
  verdict.next.processes.pop_back();
  CHECK_FALSE(is_read(verdict));
}

TEST_CASE("messages: suggestions that are no choices of the tables are refused") {
  const Model model(forty_tables(60));
  const Allocation known = found_allocation(model, 1);
  const auto is_start = [&](Allocation start) {
    Verdict verdict = full_verdict(model, known);
    verdict.proof.suggestions.front().start = std::move(start);
    return verdict_of(model.choices, to_message(verdict, &known, model.choices), &known,
                      model.choices)
        .has_value();
  };
  const auto is_read = [&](std::vector<std::uint32_t> choices) {
    return is_start(Allocation::of_choices(std::move(choices)));
  };
  CHECK(is_read(known.choice));
  CHECK_FALSE(is_read({}));
  std::vector<std::uint32_t> changed = known.choice;
  changed.back() = static_cast<std::uint32_t>(model.choices.choices().size());
  CHECK_FALSE(is_read(changed));
  changed = known.choice;
  std::swap(changed.front(), changed.back());
  CHECK_FALSE(is_read(changed));
  Allocation start = known;
  CHECK(is_start(start));
  start.ranks.back().push_back(0);  // more than it has shards
  CHECK_FALSE(is_start(start));
  start = known;
  start.ranks.back().assign(start.ranks.back().size(), model.choices.world_size());
  CHECK_FALSE(is_start(start));
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
