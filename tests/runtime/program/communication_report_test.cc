// The report of a program's communication, computed by replaying it.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/program/communication_report.h"
#include "runtime/program/reshard_program.h"

namespace shardwright::communication_report_test {

using namespace shardwright;
using namespace shardwright::program;

namespace {

constexpr std::int64_t kRows = 1024, kColumns = 256;

Variable variable(std::string name, MeshId mesh, DimsMapping mapping) {
  Variable var;
  var.name = std::move(name);
  var.shape = {kRows, kColumns};
  var.mesh = mesh;
  var.dims_mapping = std::move(mapping);
  return var;
}

// Reshards a tensor of mesh 0 from placement `source` to `target` for an operator on mesh `reader`.
program::ReshardResult reshard(std::int64_t reader, const DimsMapping& source,
                               const DimsMapping& target) {
  ProgramSpec spec;
  spec.meshes = {ProcessMesh::make({2}, {0, 1}).value(), ProcessMesh::make({2}, {2, 3}).value()};
  const MeshId mesh(static_cast<std::uint32_t>(reader));
  spec.vars = {variable("x", MeshId(0), source), variable("y", mesh, target)};
  Operation op;
  op.number = 0;
  op.type = "gelu";
  op.mesh = mesh;
  op.inputs.push_back({VarId(0), 0, target});
  op.outputs.push_back({VarId(1), 0, target});
  spec.ops.emplace_back(BlockId(0), std::move(op));
  const auto made = Program::make(std::move(spec));
  REQUIRE_MESSAGE(made.ok(), made.error().to_string());
  auto result = shardwright::reshard_program(*made, {}, 1);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  return std::move(result).value();
}

CommunicationReport report_on(const program::ReshardResult& result) {
  std::vector<RankedProgram> ranks;
  for (const RankProgram& rank : result.ranks)
    ranks.push_back({rank.rank, &rank.program});
  return make_communication_report(ranks, {});
}

}  // namespace

TEST_CASE(
    "communication report: a collective is one of all its ranks, with the bytes of each pair") {
  const auto result = reshard(0, {0, -1}, {-1, -1});
  const CommunicationReport report = report_on(result);
  REQUIRE(report.communications.size() == 1);
  const ReportedCommunication& gather = report.communications.front();
  CHECK(gather.type == "c_allgather");
  CHECK(gather.ranks == std::vector<Rank>{0, 1});
  CHECK(gather.tensor == "x");
  CHECK(gather.reader == "gelu");
  CHECK(gather.pair_bytes == kRows / 2 * kColumns * 4);
  CHECK(gather.us == all_gather_us({}, {2, 1}, static_cast<double>(kRows * kColumns * 4)));
  CHECK(report.moved_bytes == kRows * kColumns * 4);
  CHECK(report.ranks[0].sent == gather.pair_bytes);
  CHECK(report.ranks[1].received == gather.pair_bytes);
  CHECK(report.ranks[2].sent == 0);
  CHECK(report.total_us == gather.us);
}

TEST_CASE("communication report: a message is received after it was sent") {
  const auto result = reshard(1, {0, -1}, {-1, -1});
  const CommunicationReport report = report_on(result);
  std::int64_t received = 0;
  for (const ReportedCommunication& one : report.communications) {
    if (one.type != "send_v2") continue;
    REQUIRE(one.ranks.size() == 2);
    CHECK(one.ranks[0] < 2);
    CHECK(one.ranks[1] >= 2);
    CHECK(one.receive_us >= one.start_us);
    CHECK(one.reader == "gelu");
    received += one.pair_bytes;
  }
  CHECK(received > 0);
  CHECK(report.ranks[2].received + report.ranks[3].received >= received);
  double latest = 0;
  for (const ReportedRankLoad& rank : report.ranks) {
    CHECK(rank.finish_us >= rank.communicating_us + rank.local_us - 1e-9);
    latest = std::max(latest, rank.finish_us);
  }
  CHECK(report.total_us == latest);
}

TEST_CASE("communication report: nothing is sent where every rank has what it needs") {
  const auto result = reshard(0, {0, -1}, {0, -1});
  const CommunicationReport report = report_on(result);
  CHECK(report.communications.empty());
  CHECK(report.moved_bytes == 0);
  CHECK(report.total_us == 0);
}

TEST_CASE("communication report: a rank that is left out holds nobody up") {
  auto result = reshard(1, {0, -1}, {-1, -1});
  result.ranks.erase(result.ranks.begin());  // the answer lacks rank 0, which sends
  const CommunicationReport report = report_on(result);
  CHECK(report.ranks.size() == 3);
  CHECK(report.total_us > 0);
}

}  // namespace shardwright::communication_report_test
