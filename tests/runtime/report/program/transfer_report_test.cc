// The numbers of a transfer's report against the plan that they describe.
#include "runtime/report/program/transfer_report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include <doctest/doctest.h>

#include "tests/support/redistribution/transfer_builders.h"

namespace shardwright::transfer_report_test {

using namespace shardwright;
using namespace shardwright::redistribution;
using namespace shardwright::test_support;

namespace {

// `senders` ranks hold rows, and `receivers` others want columns.
TransferProblem rows_to_columns(Rank senders, Rank receivers, std::int64_t ranks_per_host) {
  TransferSpec spec;
  spec.meshes = {mesh_of("old", {senders}, 0), mesh_of("new", {receivers}, senders)};
  const TensorLayout rows = layout_of(0, {"S(0)"}, 2);
  const TensorLayout columns = layout_of(1, {"S(1)"}, 2);
  spec.tensors = {tensor_of("small", {1024, 1024}, rows, columns),
                  tensor_of("large", {2048, 2048}, rows, columns),
                  tensor_of("large too", {2048, 2048}, rows, columns)};
  if (ranks_per_host > 0) spec.hosts = TransferHosts{ranks_per_host, 8, 1};
  return problem_of(std::move(spec));
}

TransferAnswer answer_of(const TransferProblem& problem, std::int64_t memory) {
  TransferOptions options;
  options.limits.memory_bytes = memory;
  options.limits.message_bytes = std::min(options.limits.message_bytes, memory);
  auto answer = transfer_tensors(problem, options);
  REQUIRE_MESSAGE(answer.ok(), answer.error().to_string());
  return std::move(answer).value();
}

std::int64_t sum_of_flows(const TransferReport& report) {
  std::int64_t sum = 0;
  for (const ReportedFlow& flow : report.flows)
    sum += flow.bytes;
  return sum;
}

void check_rounds(const TransferAnswer& answer, const TransferReport& report) {
  std::map<std::pair<std::int64_t, Rank>, std::int64_t> sent;
  for (const Transfer& transfer : answer.plan.transfers) {
    for (const MessageRun& run : transfer.runs)
      sent[{run.round, transfer.from}] += run.bytes;
  }
  std::map<std::int64_t, std::int64_t> most_sent;  // by round
  for (const auto& [place, amount] : sent)
    most_sent[place.first] = std::max(most_sent[place.first], amount);
  std::int64_t next = 0, bytes = 0;
  for (const ReportedRounds& rounds : report.rounds) {
    CHECK(rounds.first == next);
    next = rounds.last + 1;
    bytes += rounds.bytes;
    std::int64_t most = 0;
    for (std::int64_t round = rounds.first; round <= rounds.last; ++round)
      most = std::max(most, most_sent[round]);
    CHECK(rounds.most_sent == most);
    CHECK(rounds.most_received <= answer.plan.memory_bytes);
    CHECK(rounds.most_received > 0);
  }
  CHECK(next == answer.plan.rounds);
  CHECK(bytes == answer.moved_bytes);
}

}  // namespace

TEST_CASE("transfer report: few ranks are shown one by one, and flows are what they send") {
  const TransferProblem problem = rows_to_columns(4, 4, 0);
  const TransferAnswer answer = answer_of(problem, 1 << 20);
  const TransferReport report = make_transfer_report(problem, answer);
  REQUIRE(report.senders.size() == 4);
  REQUIRE(report.receivers.size() == 4);
  CHECK(report.receivers[3].first == 7);
  CHECK(report.receivers[3].last == 7);
  REQUIRE(report.flows.size() == 16);
  for (const ReportedFlow& flow : report.flows)
    CHECK(flow.bytes == (1024 * 1024 + 2 * 2048 * 2048) / 16);
  CHECK(sum_of_flows(report) == answer.moved_bytes);
  REQUIRE(report.loads.size() == 8);
  CHECK(report.loads[0].sent == answer.moved_bytes / 4);
  CHECK(report.loads[0].received == 0);
  CHECK(report.loads[7].received == answer.moved_bytes / 4);
  check_rounds(answer, report);
}

TEST_CASE("transfer report: many ranks are put together by hosts, and the sums stay") {
  const TransferProblem problem = rows_to_columns(512, 128, 8);
  const TransferAnswer answer = answer_of(problem, 1 << 20);
  const TransferReport report = make_transfer_report(problem, answer);
  REQUIRE(report.senders.size() == 64);
  CHECK(report.senders[1].first == 8);
  CHECK(report.senders[1].last == 15);
  CHECK(report.senders[1].ranks == 8);
  REQUIRE(report.receivers.size() == 16);
  CHECK(report.receivers[0].first == 512);
  CHECK(sum_of_flows(report) == answer.moved_bytes);
  CHECK(report.loads.size() == 640);
  check_rounds(answer, report);
}

TEST_CASE("transfer report: its size does not grow with ranks, rounds and tensors") {
  TransferSpec spec;
  spec.meshes = {mesh_of("old", {900}, 0), mesh_of("new", {300}, 900)};
  for (std::int64_t rows = 900; rows < 1002; ++rows) {
    spec.tensors.push_back(tensor_of("t" + std::to_string(rows), {rows}, layout_of(0, {"S(0)"}, 1),
                                     layout_of(1, {"S(0)"}, 1)));
  }
  const TransferProblem problem = problem_of(std::move(spec));
  const TransferAnswer answer = answer_of(problem, 1);
  CHECK(answer.plan.rounds > static_cast<std::int64_t>(TransferReport::kMostRounds));
  const TransferReport report = make_transfer_report(problem, answer);
  CHECK(report.senders.size() <= TransferReport::kMostBlocks);
  CHECK(report.receivers.size() <= TransferReport::kMostBlocks);
  CHECK(report.loads.size() <= TransferReport::kMostLoads);
  CHECK(report.rounds.size() <= TransferReport::kMostRounds);
  CHECK(report.groups.size() == TransferReport::kMostGroups);
  CHECK(sum_of_flows(report) == answer.moved_bytes);
  check_rounds(answer, report);
}

TEST_CASE("transfer report: equal tensors are one group, and those that move most come first") {
  const TransferProblem problem = rows_to_columns(4, 4, 2);
  const TransferReport report = make_transfer_report(problem, answer_of(problem, 1 << 30));
  REQUIRE(report.groups.size() == 2);
  CHECK(problem.groups()[report.groups[0].group].tensors.size() == 2);
  CHECK(report.groups[0].bytes == 2 * 2048 * 2048);
  CHECK(report.groups[0].moved_bytes == 2 * 2048 * 2048);
  CHECK(report.groups[1].moved_bytes == 1024 * 1024);
}

TEST_CASE(
    "transfer report: the busiest ports have the loads of the plan, and none is below its bound") {
  const TransferProblem problem = rows_to_columns(4, 4, 2);
  const TransferAnswer answer = answer_of(problem, 1 << 30);
  const std::vector<ReportedPort> ports = busiest_ports(problem, answer);
  REQUIRE(ports.size() == 4);
  double busiest = 0;
  for (const ReportedPort& port : ports) {
    CHECK(port.time >= port.bound);
    busiest = std::max(busiest, port.time);
  }
  CHECK(busiest == answer.busiest);
  CHECK(ports[0].bytes == answer.loads.ranks[static_cast<std::size_t>(ports[0].number)].received);
  CHECK(ports[1].bytes == 0);  // nothing is sent within a host
  CHECK(ports[1].number == -1);
  CHECK(busiest_ports(rows_to_columns(4, 4, 0), answer).size() == 2);
}

TEST_CASE("transfer report: where nothing moves there are no flows") {
  TransferSpec spec;
  spec.meshes = {mesh_of("all", {4}, 0)};
  const TensorLayout rows = layout_of(0, {"S(0)"}, 1);
  spec.tensors = {tensor_of("still", {64}, rows, rows)};
  const TransferProblem problem = problem_of(std::move(spec));
  const TransferReport report = make_transfer_report(problem, answer_of(problem, 1 << 20));
  CHECK(report.flows.empty());
  CHECK(report.senders.empty());
  CHECK(report.loads[0].kept == 16);
}

}  // namespace shardwright::transfer_report_test
