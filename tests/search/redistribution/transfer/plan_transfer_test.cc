#include "search/redistribution/transfer/plan_transfer.h"

#include <stop_token>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/redistribution/transfer/check_transfer.h"
#include "core/redistribution/transfer/execute_transfer.h"
#include "core/redistribution/transfer/port_loads.h"
#include "tests/support/redistribution/transfer_builders.h"

namespace shardwright::plan_transfer_test {

using namespace shardwright;
using namespace shardwright::redistribution;
using test_support::layout_of;
using test_support::mesh_of;
using test_support::problem_of;
using test_support::tensor_of;
using Kind = TransferPort::Kind;

namespace {

TransferPlan plan_of(const TransferProblem& problem, const TransferLimits& limits = {}) {
  auto planned = plan_transfer(problem, limits);
  REQUIRE(planned.ok());
  const Status status = check_transfer(problem, planned->plan);
  CHECK_MESSAGE(status.ok(), status.error().to_string());
  return std::move(planned).value().plan;
}

}  // namespace

TEST_CASE("plan transfer: equal layouts send nothing") {
  const TensorLayout layout = layout_of(0, {"S(0)"}, 1);
  const TransferPlan plan =
      plan_of(problem_of({{mesh_of("a", {4}, 0)}, {tensor_of("v", {100}, layout, layout)}, {}}));
  CHECK(plan.rounds == 0);
  CHECK(plan.bounds.empty());
  REQUIRE(plan.transfers.size() == 4);
  CHECK(plan.transfers[2].from == plan.transfers[2].to);
  CHECK(plan.transfers[2].bytes == 25);
}

TEST_CASE("plan transfer: replicas share a tensor that one rank wants, in few pieces") {
  const TransferProblem problem =
      problem_of({{mesh_of("a", {4}, 0), mesh_of("b", {1}, 9)},
                  {tensor_of("v", {103, 3}, layout_of(0, {"R"}, 2), layout_of(1, {"R"}, 2))},
                  {}});
  const TransferPlan plan = plan_of(problem);
  REQUIRE(plan.transfers.size() == 4);
  std::int64_t row = 0;
  for (const Transfer& transfer : plan.transfers) {
    REQUIRE(transfer.pieces.size() == 1);
    CHECK(transfer.pieces[0].box[0].begin == row);
    row = transfer.pieces[0].box[0].end;
    CHECK(transfer.bytes <= 78);
  }
  CHECK(plan.bounds[1] == TransferBound{{{Kind::kReceive, 9}}, 309});
}

TEST_CASE("plan transfer: senders that hold other tensors alone send less of shared ones") {
  const TransferProblem problem =
      problem_of({{mesh_of("a", {2}, 0), mesh_of("one", {1}, 0), mesh_of("b", {2}, 2)},
                  {tensor_of("shared", {400}, layout_of(0, {"R"}, 1), layout_of(2, {"S(0)"}, 1)),
                   tensor_of("alone", {100}, layout_of(1, {"R"}, 1), layout_of(2, {"S(0)"}, 1))},
                  {}});
  const TransferPlan plan = plan_of(problem);
  const PortLoads loads = port_loads(problem, plan);
  CHECK(loads.ranks[0].sent == 250);
  CHECK(loads.ranks[1].sent == 250);
}

TEST_CASE("plan transfer: equal tensors are cut between tensors, not within each") {
  TransferSpec spec{{mesh_of("a", {2}, 0), mesh_of("b", {1}, 2)}, {}, {}};
  for (int i = 0; i < 6; ++i) {
    spec.tensors.push_back(
        tensor_of("v" + std::to_string(i), {10}, layout_of(0, {"R"}, 1), layout_of(1, {"R"}, 1)));
  }
  const TransferPlan plan = plan_of(problem_of(spec));
  REQUIRE(plan.transfers.size() == 2);
  CHECK(plan.transfers[0].pieces == std::vector<TransferPiece>{{0, 0, 3, {{0, 10}}}});
  CHECK(plan.transfers[1].pieces == std::vector<TransferPiece>{{0, 3, 3, {{0, 10}}}});
}

TEST_CASE("plan transfer: with hosts, a replica of the receiver's host sends") {
  TransferSpec spec{{{"a", {2}, {0, 2}}, {"b", {2}, {1, 3}}},
                    {tensor_of("v", {100}, layout_of(0, {"R"}, 1), layout_of(1, {"R"}, 1))},
                    TransferHosts{2, 10, 1}};
  const TransferProblem problem = problem_of(spec);
  const TransferPlan plan = plan_of(problem);
  REQUIRE(plan.transfers.size() == 2);
  for (const Transfer& transfer : plan.transfers)
    CHECK(transfer.to == transfer.from + 1);
  CHECK(busiest(problem, port_loads(problem, plan)) == 10);
  CHECK(proved(problem, plan) == 10);
}

TEST_CASE("plan transfer: an overloaded replica gets help from other hosts") {
  // If rank 0 alone sent to the three ranks of its host, it would send 300 bytes at 1 byte per ms.
  TransferSpec spec{{{"a", {2}, {0, 4}}, {"b", {3}, {1, 2, 3}}},
                    {tensor_of("v", {300}, layout_of(0, {"R"}, 1), layout_of(1, {"S(0)"}, 1))},
                    TransferHosts{4, 1, 1}};
  const TransferProblem problem = problem_of(spec);
  const TransferPlan plan = plan_of(problem);
  const PortLoads loads = port_loads(problem, plan);
  CHECK(loads.ranks[0].sent == 150);
  CHECK(loads.hosts[0].in == 150);
  CHECK(busiest(problem, loads) == 150);
  CHECK(proved(problem, plan) == 150);
}

TEST_CASE("plan transfer: what ranks of a host want alike enters it once, and they pass it on") {
  TransferSpec spec{{mesh_of("a", {4}, 0), mesh_of("b", {4}, 4)},
                    {tensor_of("v", {64, 10}, layout_of(0, {"S(0)"}, 2), layout_of(1, {"R"}, 2))},
                    TransferHosts{4, 9, 8}};
  const TransferProblem problem = problem_of(spec);
  const TransferPlan plan = plan_of(problem, {16, 64});
  const PortLoads loads = port_loads(problem, plan);
  CHECK(loads.hosts[1].in == 640);
  CHECK(loads.hosts[0].out == 640);
  for (std::size_t rank = 4; rank < 8; ++rank) {
    CHECK(loads.ranks[rank].received == 640);
    CHECK(loads.ranks[rank].sent == 480);
  }
  CHECK(busiest(problem, loads) == 80);
  CHECK(proved(problem, plan) == 80);
  CHECK(execute_transfer(problem, plan).ok());
}

TEST_CASE(
    "plan transfer: the copies of a single holder are passed on, too, without hosts to any rank") {
  for (const bool hosts : {false, true}) {
    TransferSpec spec{{mesh_of("a", {1}, 0), mesh_of("b", {3}, 1)},
                      {tensor_of("v", {99}, layout_of(0, {"R"}, 1), layout_of(1, {"R"}, 1))},
                      {}};
    if (hosts) spec.hosts = TransferHosts{4, 1, 1};
    const TransferProblem problem = problem_of(spec);
    const TransferPlan plan = plan_of(problem);
    CHECK(busiest(problem, port_loads(problem, plan)) == 99);
    CHECK(proved(problem, plan) == 99);
    CHECK(plan.rounds == 2);
    CHECK(execute_transfer(problem, plan).ok());
  }
}

TEST_CASE("plan transfer: nothing is passed on where holders are fast enough") {
  const TransferProblem problem =
      problem_of({{mesh_of("a", {4}, 0), mesh_of("b", {4}, 4)},
                  {tensor_of("v", {400}, layout_of(0, {"R"}, 1), layout_of(1, {"R"}, 1))},
                  {}});
  const TransferPlan plan = plan_of(problem);
  CHECK(plan.rounds == 1);
  for (const Transfer& transfer : plan.transfers)
    CHECK(transfer.passed_on == 0);
}

TEST_CASE("plan transfer: what a host sends to others is shared by its ranks") {
  TransferSpec spec{{mesh_of("a", {4}, 0), mesh_of("b", {4}, 4)},
                    {tensor_of("v", {400}, layout_of(0, {"R"}, 1), layout_of(1, {"S(0)"}, 1))},
                    TransferHosts{4, 10, 1}};
  const TransferProblem problem = problem_of(spec);
  const PortLoads loads = port_loads(problem, plan_of(problem));
  for (std::size_t rank = 0; rank < 4; ++rank)
    CHECK(loads.ranks[rank].sent == 100);
  CHECK(loads.hosts[0].out == 400);
  CHECK(loads.hosts[1].in == 400);
}

TEST_CASE("plan transfer: rounds fill the memory, and are as few as it allows") {
  const TransferProblem problem =
      problem_of({{mesh_of("a", {8}, 0), mesh_of("b", {4}, 8)},
                  {tensor_of("v", {64, 60}, layout_of(0, {"S(0)"}, 2), layout_of(1, {"S(1)"}, 2))},
                  {}});
  // Each receiver gets 960 bytes.
  CHECK(plan_of(problem, {10, 100}).rounds == 10);
  CHECK(plan_of(problem, {10, 960}).rounds == 1);
  CHECK(plan_of(problem, {1, 1}).rounds == 960);
}

TEST_CASE("plan transfer: the same problem gives the same plan") {
  const TransferProblem problem = problem_of(
      {{mesh_of("a", {2, 4}, 0), mesh_of("b", {3, 2}, 4)},
       {tensor_of("v", {64, 60}, layout_of(0, {"R", "S(0)"}, 2), layout_of(1, {"S(1)", "R"}, 2))},
       {}});
  const TransferPlan first = plan_of(problem);
  const TransferPlan second = plan_of(problem);
  CHECK(first.transfers == second.transfers);
  CHECK(first.bounds == second.bounds);
}

TEST_CASE("plan transfer: bad limits and a stop request") {
  const TransferProblem problem =
      problem_of({{mesh_of("a", {2}, 0), mesh_of("b", {2}, 2)},
                  {tensor_of("v", {64}, layout_of(0, {"S(0)"}, 1), layout_of(1, {"R"}, 1))},
                  {}});
  CHECK(plan_transfer(problem, {0, 10}).error().where == "message_bytes");
  CHECK(plan_transfer(problem, {11, 10}).error().where == "memory");
  std::stop_source stop;
  stop.request_stop();
  CHECK(plan_transfer(problem, {}, stop.get_token()).error().code == ErrorCode::kStopped);
}

}  // namespace shardwright::plan_transfer_test
