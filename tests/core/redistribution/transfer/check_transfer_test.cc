#include "core/redistribution/transfer/check_transfer.h"

#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "core/redistribution/transfer/execute_transfer.h"
#include "core/redistribution/transfer/port_loads.h"
#include "tests/support/redistribution/transfer_builders.h"

namespace shardwright::check_transfer_test {

using namespace shardwright;
using namespace shardwright::redistribution;
using test_support::layout_of;
using test_support::mesh_of;
using test_support::problem_of;
using test_support::tensor_of;
using Kind = TransferPort::Kind;

namespace {

// Two tensors of 4 x 2 bytes. Ranks 0 and 1 hold them by rows; ranks 1 and 2 want them by columns.
TransferProblem rows_to_columns() {
  const TensorLayout rows = layout_of(0, {"S(0)"}, 2);
  const TensorLayout columns = layout_of(1, {"S(1)"}, 2);
  return problem_of({{mesh_of("a", {2}, 0), mesh_of("b", {2}, 1)},
                     {tensor_of("v", {4, 2}, rows, columns), tensor_of("w", {4, 2}, rows, columns)},
                     {}});
}

TransferPlan right_plan() {
  TransferPlan plan;
  plan.message_bytes = 3;
  plan.memory_bytes = 4;
  plan.rounds = 2;
  plan.transfers = {
      {0, 1, 4, {{0, 0, 2, {{0, 2}, {0, 1}}}}, {{0, 4}}},
      {0, 2, 4, {{0, 0, 2, {{0, 2}, {1, 2}}}}, {{1, 4}}},
      {1, 1, 4, {{0, 0, 2, {{2, 4}, {0, 1}}}}, {}},
      {1, 2, 4, {{0, 0, 1, {{2, 4}, {1, 2}}}, {0, 1, 1, {{2, 4}, {1, 2}}}}, {{0, 4}}},
  };
  plan.bounds = {{{{Kind::kReceive, 2}}, 8}, {{{Kind::kSend, 0}}, 8}};
  return plan;
}

}  // namespace

TEST_CASE("check transfer: a right plan is accepted and executes") {
  const TransferProblem problem = rows_to_columns();
  const TransferPlan plan = right_plan();
  const Status status = check_transfer(problem, plan);
  CHECK_MESSAGE(status.ok(), status.error().to_string());
  CHECK(execute_transfer(problem, plan).ok());
  const PortLoads loads = port_loads(problem, plan);
  CHECK(loads.hosts.empty());
  REQUIRE(loads.ranks.size() == 3);
  CHECK(loads.ranks[0].sent == 8);
  CHECK(loads.ranks[1].sent == 4);
  CHECK(loads.ranks[1].kept == 4);
  CHECK(loads.ranks[1].received == 4);
  CHECK(loads.ranks[2].received == 8);
  CHECK(busiest(problem, loads) == 8);
  CHECK(proved(problem, plan) == 8);
}

TEST_CASE("check transfer: every wrong claim is refused at its place") {
  const TransferProblem problem = rows_to_columns();
  const auto check = [&](const std::function<void(TransferPlan&)>& change, const char* expected) {
    TransferPlan plan = right_plan();
    change(plan);
    const Status status = check_transfer(problem, plan);
    REQUIRE_MESSAGE(!status.ok(), expected);
    CHECK(status.error().code == ErrorCode::kVerificationFailed);
    CHECK_MESSAGE(status.error().to_string().starts_with(expected), status.error().to_string());
  };
  using Plan = TransferPlan;
  check([](Plan& p) { std::swap(p.transfers[0], p.transfers[1]); }, "/transfers/1: transfers are");
  check([](Plan& p) { p.transfers[3].to = 7; }, "/transfers/3: there is no rank 7");
  check([](Plan& p) { p.transfers[0].bytes = 5; }, "/transfers/0/bytes: the pieces have 4 bytes");
  check([](Plan& p) { p.transfers[0].pieces[0].group = 1; }, "/transfers/0/pieces/0: there is no");
  check([](Plan& p) { p.transfers[0].pieces[0].first = 1; }, "/transfers/0/pieces/0: the group");
  check(
      [](Plan& p) {
        p.transfers[0].pieces[0].box[0] = {2, 4};
      },
      "/transfers/0/pieces/0: rank 0 does not hold");
  check([](Plan& p) { p.transfers[0].pieces[0].box.pop_back(); },
        "/transfers/0/pieces/0: rank 0 does not hold");
  check([](Plan& p) { p.transfers[1].pieces[0].box[1] = {0, 1}; }, "/groups/0: rank 2 does not");
  check([](Plan& p) { p.transfers.erase(p.transfers.begin() + 2); }, "/groups/0: rank 1 does not");
  check([](Plan& p) { p.transfers[2].to = 0; }, "/transfers/2/runs: the runs do not carry");
  const Transfer to_itself{0, 0, 4, right_plan().transfers[0].pieces, {}};
  check([&](Plan& p) { p.transfers.insert(p.transfers.begin(), to_itself); },
        "/groups/0: rank 0 gets elements");
  check([](Plan& p) { p.transfers[0].runs[0].bytes = 3; }, "/transfers/0/runs: the runs do not");
  check([](Plan& p) { p.transfers[0].runs[0].bytes = 5; }, "/transfers/0/runs: the runs have not");
  check([](Plan& p) { p.transfers[2].runs = {{0, 4}}; }, "/transfers/2/runs: the runs have not");
  check(
      [](Plan& p) {
        p.transfers[0].runs = {{1, 2}, {0, 2}};
      },
      "/transfers/0/runs: rounds do not");
  check([](Plan& p) { p.transfers[0].runs[0].round = 2; }, "/transfers/0/runs: rounds do not");
  check([](Plan& p) { p.transfers[0].runs[0].round = 1; },
        "/memory_bytes: rank 0 needs 8 bytes in round 1");
  check([](Plan& p) { p.transfers[3].runs[0].round = 1; },
        "/memory_bytes: rank 2 needs 8 bytes in round 1");
  check([](Plan& p) { p.message_bytes = 5; }, "/message_bytes: ");
  check([](Plan& p) { p.bounds[1].bytes = 9; }, "/bounds/1/bytes: 8 bytes must pass");
}

TEST_CASE("check transfer: ranks pass on what they want and have, within their host") {
  // Rank 0 holds 8 bytes that ranks 1, 2 and 3 want. Ranks 0, 1 and 2 are on one host.
  const auto problem = [](std::int64_t ranks_per_host) {
    return problem_of({{mesh_of("a", {1}, 0), mesh_of("b", {3}, 1)},
                       {tensor_of("v", {8}, layout_of(0, {"R"}, 1), layout_of(1, {"R"}, 1))},
                       TransferHosts{ranks_per_host, 1, 1}});
  };
  const auto piece = [](std::int64_t begin, std::int64_t end) {
    return std::vector<TransferPiece>{{0, 0, 1, {{begin, end}}}};
  };
  TransferPlan right;
  right.message_bytes = right.memory_bytes = 16;
  right.rounds = 2;
  right.transfers = {{0, 1, 4, piece(0, 4), {{0, 4}}},
                     {0, 2, 4, piece(4, 8), {{0, 4}}},
                     {0, 3, 8, piece(0, 8), {{0, 8}}},
                     {1, 2, 4, piece(0, 4), {{1, 4}}, 4},
                     {2, 1, 4, piece(4, 8), {{1, 4}}, 4}};
  right.transfers[2].runs = {{1, 8}};
  const Status status = check_transfer(problem(3), right);
  CHECK_MESSAGE(status.ok(), status.error().to_string());
  CHECK(execute_transfer(problem(3), right).ok());
  const auto check = [&](const std::function<void(TransferPlan&)>& change, const char* expected,
                         std::int64_t ranks_per_host = 3) {
    TransferPlan plan = right;
    change(plan);
    const Status found = check_transfer(problem(ranks_per_host), plan);
    REQUIRE_MESSAGE(!found.ok(), expected);
    CHECK_MESSAGE(found.error().to_string().starts_with(expected), found.error().to_string());
  };
  using Plan = TransferPlan;
  check([](Plan&) {}, "/transfers/3: a rank passes on within its host only", 2);
  check([](Plan& p) { p.transfers[3].runs[0].round = 0; },
        "/transfers/3: passes on what has not arrived");
  check(
      [](Plan& p) {
        p.transfers[0].runs = {{0, 3}, {1, 1}};
      },
      "/transfers/3: passes on what has not arrived");
  check([](Plan& p) { p.transfers[3].passed_on = 0; },
        "/transfers/3/pieces/0: rank 1 does not hold");
  check([](Plan& p) { p.transfers[0].passed_on = 4; },
        "/transfers/0/pieces/0: rank 0 does not want");
  check([](Plan& p) { p.transfers[0].passed_on = -1; }, "/transfers/0/passed_on: ");
  check([&](Plan& p) { p.transfers[3].pieces = piece(4, 8); }, "/groups/0: rank 2 does not get");
}

TEST_CASE("execute transfer: a plan that mixes up two tensors leaves wrong bytes") {
  const TransferProblem problem = rows_to_columns();
  TransferPlan plan = right_plan();
  std::swap(plan.transfers[3].runs, plan.transfers[2].runs);
  const Status status = execute_transfer(problem, plan);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message == "rank 2 has a wrong byte of \"v\"");
}

TEST_CASE("passing bytes: replicas open ways, ports close them") {
  // Ranks 0 and 2 hold a tensor of 8 bytes that ranks 1 and 3 want. If there are hosts, each has
  // two ranks; otherwise 1 and 3 may pass the tensor on to each other.
  const auto bytes = [](bool hosts, const std::vector<TransferPort>& ports) {
    TransferSpec spec{{{"a", {2}, {0, 2}}, {"b", {2}, {1, 3}}},
                      {tensor_of("v", {8}, layout_of(0, {"R"}, 1), layout_of(1, {"R"}, 1))},
                      {}};
    if (hosts) spec.hosts = TransferHosts{2, 10, 1};
    return passing_bytes(problem_of(std::move(spec)), ports);
  };
  CHECK(bytes(false, {}) == 0);
  CHECK(bytes(false, {{Kind::kReceive, 1}}) == 8);
  CHECK(bytes(false, {{Kind::kSend, 0}}) == 0);
  CHECK(bytes(false, {{Kind::kSend, 0}, {Kind::kSend, 2}}) == 8);
  CHECK(bytes(false, {{Kind::kSend, 0}, {Kind::kSend, 1}, {Kind::kSend, 2}}) == 8);
  CHECK(bytes(false, {{Kind::kSend, 0}, {Kind::kSend, 1}, {Kind::kSend, 2}, {Kind::kSend, 3}}) ==
        16);
  CHECK(bytes(false, {{Kind::kSend, 0}, {Kind::kSend, 2}, {Kind::kReceive, 1}}) == 8);
  CHECK(bytes(false, {{Kind::kSend, 0}, {Kind::kSend, 1}, {Kind::kSend, 2}, {Kind::kReceive, 1}}) ==
        16);
  CHECK(bytes(true, {{Kind::kSend, 0}}) == 0);
  CHECK(bytes(true, {{Kind::kSend, 0}, {Kind::kHostIn, 0}}) == 8);
  CHECK(bytes(true, {{Kind::kSend, 0}, {Kind::kHostOut, 1}}) == 8);
  CHECK(bytes(true, {{Kind::kSend, 0}, {Kind::kHostOut, 0}}) == 0);
  CHECK(bytes(true, {{Kind::kSend, 0}, {Kind::kSend, 2}}) == 0);
  CHECK(bytes(true, {{Kind::kSend, 0}, {Kind::kSend, 2}, {Kind::kHostIn, 0}, {Kind::kHostIn, 1}}) ==
        16);
}

}  // namespace shardwright::check_transfer_test
