// The numbers of a redistribution's report against the placements that they describe.
#include "runtime/report/program/redistribution_report.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/redistribution/placement/placement_notation.h"
#include "core/redistribution/placement/shard_boxes.h"

namespace shardwright::redistribution_report_test {

using namespace shardwright;
using namespace shardwright::redistribution;

namespace {

RedistributionCase case_of(const MeshShape& mesh, const Shape& shape,
                           const std::vector<std::string>& source,
                           const std::vector<std::string>& target) {
  RedistributionCase request;
  request.mesh = mesh;
  request.shape = shape;
  request.itemsize = 2;
  request.source = read_words(source, shape.size()).value();
  request.target = read_words(target, shape.size()).value();
  return request;
}

RedistributionReport report_of(const RedistributionCase& request) {
  const auto paths = plan_redistribution_front(request, {});
  REQUIRE_MESSAGE(paths.ok(), paths.error().to_string());
  return make_redistribution_report(request, {}, *paths);
}

Move move_of(Move::Kind kind, const Axes& axes) {
  Move move;
  move.kind = kind;
  move.axes = axes;
  return move;
}

}  // namespace

TEST_CASE("redistribution report: every rank is in the box that it holds, in each state") {
  const RedistributionCase request =
      case_of({2, 3, 2}, {7, 10}, {"P(sum)", "S(0)", "S(0)"}, {"S(1)", "R", "S(0)"});
  const RedistributionReport report = report_of(request);
  CHECK(report.states.front().placement == request.source);
  for (const ReportedState& state : report.states) {
    std::int64_t ranks = 0, elements = 0, largest = 0;
    for (const ReportedBox& box : state.boxes) {
      ranks += static_cast<std::int64_t>(box.ranks.size());
      elements += num_elements(box.box);
      largest = std::max(largest, num_elements(box.box));
      for (const std::int64_t rank : box.ranks) {
        const Box held =
            box_of(request.shape, request.mesh, state.placement, rank, Rounding::kCeil);
        CHECK(held == box.box);
      }
    }
    CHECK(elements == 7 * 10);  // distinct boxes are disjoint
    CHECK(state.held_bytes == 2 * largest);
    std::int64_t holding = 0;
    for (std::int64_t rank = 0; rank < 12; ++rank) {
      holding += num_elements(box_of(request.shape, request.mesh, state.placement, rank,
                                     Rounding::kCeil)) > 0
                     ? 1
                     : 0;
    }
    CHECK(ranks == holding);
  }
}

TEST_CASE("redistribution report: paths lead through the states, and their figures add up") {
  const RedistributionCase request = case_of({2, 4}, {64, 64}, {"P(sum)", "S(0)"}, {"S(1)", "R"});
  const auto paths = plan_redistribution_front(request, {});
  REQUIRE(paths.ok());
  const RedistributionReport report = make_redistribution_report(request, {}, *paths);
  REQUIRE(report.paths.size() == paths->size());
  std::set<std::uint64_t> codes;
  for (const ReportedState& state : report.states)
    CHECK(codes.insert(state.placement.code()).second);
  for (std::size_t i = 0; i < paths->size(); ++i) {
    const ReportedPath& path = report.paths[i];
    const Path& planned = (*paths)[i].path;
    CHECK(path.us == planned.cost);
    CHECK(path.peak_bytes == (*paths)[i].peak_bytes);
    REQUIRE(path.steps.size() == planned.steps.size());
    std::int64_t sent = 0;
    for (std::size_t k = 0; k < path.steps.size(); ++k) {
      CHECK(report.states[path.steps[k].after].placement == planned.steps[k].after);
      CHECK((path.steps[k].sent_bytes > 0) == planned.steps[k].move.communicates());
      sent += path.steps[k].sent_bytes;
    }
    CHECK(path.sent_bytes == sent);
  }
}

TEST_CASE("redistribution report: what a rank sends in a collective") {
  const RedistributionCase request = case_of({4, 2}, {8, 8}, {"S(0)", "P(sum)"}, {"R", "R"});
  using Kind = Move::Kind;
  const auto sent = [&](Kind kind, const Axes& axes) {
    return sent_elements(request.shape, request.mesh, request.source, move_of(kind, axes));
  };
  CHECK(sent(Kind::kAllGather, {0}) ==
        3 * 16);                            // its own part to three others, one after the other
  CHECK(sent(Kind::kAllToAll, {0}) == 12);  // all but the quarter that it keeps
  CHECK(sent(Kind::kReduceScatter, {1}) == 8);
  CHECK(sent(Kind::kAllReduce, {1}) == 16);
  CHECK(sent(Kind::kPermute, {0, 1}) == 16);
  CHECK(sent(Kind::kSplit, {1}) == 0);
  CHECK(sent(Kind::kToPartial, {1}) == 0);
}

TEST_CASE("redistribution report: large meshes have states without boxes") {
  const RedistributionReport report = report_of(case_of({2048}, {4096, 4096}, {"S(0)"}, {"S(1)"}));
  REQUIRE(report.states.size() >= 2);
  for (const ReportedState& state : report.states) {
    CHECK(state.boxes.empty());
    CHECK(state.held_bytes > 0);
  }
}

TEST_CASE("redistribution report: where nothing is to be done there is one state") {
  const RedistributionReport report = report_of(case_of({4}, {3}, {"S(0)"}, {"S(0)"}));
  REQUIRE(report.states.size() == 1);
  CHECK(report.states[0].boxes.size() == 3);  // the last rank has nothing
  REQUIRE(report.paths.size() == 1);
  CHECK(report.paths[0].steps.empty());
}

}  // namespace shardwright::redistribution_report_test
