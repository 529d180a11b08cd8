// The busiest ports of a transfer, compared with its plan.
#include "runtime/report/program/transfer_report.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <doctest/doctest.h>

#include "tests/support/redistribution/transfer_builders.h"

namespace shardwright::transfer_report_test {

using namespace shardwright;
using namespace shardwright::redistribution;
using namespace shardwright::test_support;

namespace {

// `senders` ranks hold rows, and `receivers` other ranks need columns.
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

}  // namespace

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
  CHECK(ports[1].bytes == 0);  // all traffic is between hosts
  CHECK(ports[1].number == -1);
  CHECK(busiest_ports(rows_to_columns(4, 4, 0), answer).size() == 2);
}

}  // namespace shardwright::transfer_report_test
