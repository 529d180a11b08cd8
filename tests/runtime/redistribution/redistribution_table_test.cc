// The cache of redistributions gives the planner's answers to any thread, any number of times.
#include "runtime/redistribution/redistribution_table.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "core/redistribution/placement/placement_notation.h"

namespace shardwright::redistribution_table_test {

namespace {

using namespace shardwright;
using redistribution::Placement;

Placement placement(const std::vector<std::string>& words) {
  return *redistribution::read_words(words, 2);
}

RedistributionCase small() {
  RedistributionCase request;
  request.mesh = {2, 4};
  request.shape = {64, 48};
  request.source = placement({"P(sum)", "S(0)"});
  request.target = placement({"S(1)", "R"});
  return request;
}

// Cases that each differ from the first one in one member.
std::vector<RedistributionCase> different() {
  std::vector<RedistributionCase> cases(7, small());
  cases[1].mesh = {4, 2};
  cases[2].mesh = {2, 4, 1};
  cases[3].shape = {48, 64};
  cases[4].itemsize = 2;
  cases[5].source = placement({"P(max)", "S(0)"});
  cases[6].target = placement({"S(1)", "S(0)"});
  return cases;
}

}  // namespace

TEST_CASE("redistribution table: answers are those of the entry and stay where they are") {
  RedistributionTable table;
  std::vector<const PlannedRedistribution*> first;
  for (const RedistributionCase& request : different()) {
    const auto planned = plan_redistribution(request, {});
    const auto known = table.plan(request);
    REQUIRE(planned.ok());
    REQUIRE(known.ok());
    CHECK((*known)->path.cost == planned->path.cost);
    CHECK((*known)->path.steps.size() == planned->path.steps.size());
    CHECK((*known)->peak_bytes == planned->peak_bytes);
    first.push_back(*known);
  }
  CHECK(table.size() == different().size());
  for (std::size_t i = 0; i < first.size(); ++i)
    CHECK(*table.plan(different()[i]) == first[i]);
  CHECK(table.size() == different().size());
}

TEST_CASE("redistribution table: the options hold, and errors are not remembered") {
  RedistributionOptions options;
  options.collectives = 0;
  RedistributionTable table(options);
  const auto refused = table.plan(small());
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kInfeasible);
  RedistributionCase bad = small();
  bad.itemsize = 0;
  CHECK(table.plan(bad).error().where == "/itemsize");
  CHECK(table.size() == 0);
}

TEST_CASE("redistribution table: threads that ask at once get one answer") {
  RedistributionTable table;
  constexpr std::size_t kThreads = 8;
  std::array<std::vector<const PlannedRedistribution*>, kThreads> answers;
  {
    std::vector<std::jthread> threads;
    for (auto& mine : answers) {
      threads.emplace_back([&table, &mine] {
        for (int round = 0; round < 100; ++round) {
          for (const RedistributionCase& request : different())
            mine.push_back(*table.plan(request));
        }
      });
    }
  }
  for (const auto& mine : answers)
    CHECK(mine == answers[0]);
  CHECK(table.size() == different().size());
}

}  // namespace shardwright::redistribution_table_test
