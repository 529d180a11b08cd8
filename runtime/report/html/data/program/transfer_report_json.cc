#include "runtime/report/html/data/program/transfer_report_json.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/redistribution/placement/placement_notation.h"
#include "core/version.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/program/transfer/transfer_json.h"
#include "runtime/report/html/data/markup.h"

namespace shardwright {
namespace {

using namespace redistribution;

constexpr std::size_t kMostMeshes = 100;

void write_figures(const TransferProblem& problem, const TransferAnswer& answer, JsonWriter& json) {
  json.member("unit", problem.hosts() ? "ms" : "bytes");
  json.member("busiest", answer.busiest).member("lower_bound", answer.bound);
  json.member("moved", answer.moved_bytes).member("kept", answer.kept_bytes).new_line();
  json.member("tensors", problem.tensors().size())
      .member("groups_of_equal", problem.groups().size());
  json.member("ranks", problem.ranks().size()).member("messages", answer.messages);
  json.member("message_bytes", answer.plan.message_bytes);
  json.member("memory_bytes", answer.plan.memory_bytes);
  json.member("num_rounds", answer.plan.rounds).member("least_rounds", answer.least_rounds);
  json.new_line().key("hosts");
  if (!problem.hosts()) {
    json.null().new_line();
    return;
  }
  json.begin_object()
      .member("ranks_per_host", problem.hosts()->ranks_per_host)
      .member("intra_host_bw", problem.hosts()->intra_host_bw)
      .member("inter_host_bw", problem.hosts()->inter_host_bw)
      .end_object()
      .new_line();
}

void write_ports(const std::vector<ReportedPort>& ports, bool hosts, JsonWriter& json) {
  json.key("ports").begin_array();
  for (const ReportedPort& port : ports) {
    json.begin_object()
        .member("name", name_of(port.kind, hosts))
        .member("number", port.number)
        .member("bytes", port.bytes)
        .member("time", port.time)
        .member("bound", port.bound)
        .end_object();
  }
  json.end_array().new_line();
}

void write_blocks(const char* key, const std::vector<RankBlock>& blocks, JsonWriter& json) {
  json.key(key).begin_array();
  for (const RankBlock& block : blocks)
    json.begin_array().value(block.first).value(block.last).value(block.ranks).end_array();
  json.end_array().new_line();
}

void write_traffic(const TransferReport& report, JsonWriter& json) {
  write_blocks("senders", report.senders, json);
  write_blocks("receivers", report.receivers, json);
  json.key("flows").begin_array();
  for (const ReportedFlow& flow : report.flows)
    json.begin_array().value(flow.from).value(flow.to).value(flow.bytes).end_array();
  json.end_array().new_line().key("loads").begin_array();
  for (const ReportedLoad& load : report.loads) {
    json.begin_array().value(load.block.first).value(load.block.last).value(load.sent);
    json.value(load.received).value(load.kept).end_array();
  }
  json.end_array().new_line().key("rounds").begin_array();
  for (const ReportedRounds& rounds : report.rounds) {
    json.begin_array().value(rounds.first).value(rounds.last).value(rounds.bytes);
    json.value(rounds.most_sent).value(rounds.most_received).end_array();
  }
  json.end_array().new_line();
}

void write_layout(const TransferProblem& problem, const TensorLayout& layout, JsonWriter& json) {
  const RankMesh& mesh = problem.meshes()[layout.mesh];
  json.begin_array().value(mesh.name);
  json.value(to_text(layout.placement, mesh.shape.size())).end_array();
}

void write_groups(const TransferProblem& problem, const std::vector<ReportedGroup>& groups,
                  JsonWriter& json) {
  json.key("groups").begin_array();
  for (const ReportedGroup& reported : groups) {
    const TensorGroup& group = problem.groups()[reported.group];
    json.new_line().begin_object();
    json.member("name", problem.tensors()[group.tensors.front()].name);
    json.member("count", group.tensors.size()).key("shape").begin_array();
    for (const std::int64_t extent : group.shape)
      json.value(extent);
    json.end_array().member("item_bytes", group.item_bytes).key("source");
    write_layout(problem, group.source, json);
    json.key("target");
    write_layout(problem, group.target, json);
    json.member("bytes", reported.bytes).member("moved", reported.moved_bytes).end_object();
  }
  json.end_array().new_line();
}

void write_meshes(const TransferProblem& problem, JsonWriter& json) {
  const std::vector<RankMesh>& meshes = problem.meshes();
  json.member("num_meshes", meshes.size()).key("meshes").begin_array();
  for (std::size_t i = 0; i < std::min(meshes.size(), kMostMeshes); ++i) {
    json.new_line().begin_object().member("name", meshes[i].name).key("shape").begin_array();
    for (const std::int64_t extent : meshes[i].shape)
      json.value(extent);
    json.end_array();
    json.member("ranks", ranges_text({meshes[i].ranks.begin(), meshes[i].ranks.end()}));
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void write_transfer_report(const TransferProblem& problem, const TransferAnswer& answer,
                           const TransferReport& report, const TextSink& sink) {
  JsonWriter json(without_markup(sink));
  json.begin_object()
      .member("format", "shardwright.transfer.report/1")
      .member("version", library_version())
      .new_line();
  write_figures(problem, answer, json);
  write_ports(report.ports, problem.hosts().has_value(), json);
  write_traffic(report, json);
  write_groups(problem, report.groups, json);
  write_meshes(problem, json);
  json.end_object().finish();
}

}  // namespace shardwright
