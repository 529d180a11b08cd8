#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/redistribution/placement/placement_notation.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/program/transfer/transfer_json.h"

namespace shardwright {
namespace {

using namespace redistribution;

constexpr std::array<std::string_view, 4> kPortNames{"send", "receive", "host_out", "host_in"};

template <class List>
void write_numbers(JsonWriter& json, std::string_view key, const List& list) {
  json.key(key).begin_array();
  for (const auto& number : list)
    json.value(number);
  json.end_array();
}

void write_meshes(JsonWriter& json, const TransferProblem& problem) {
  json.new_line().key("meshes").begin_object();
  for (const RankMesh& mesh : problem.meshes()) {
    json.new_line().key(mesh.name).begin_object();
    write_numbers(json, "shape", mesh.shape);
    json.member("ranks", ranges_text({mesh.ranks.begin(), mesh.ranks.end()})).end_object();
  }
  json.end_object();
}

void write_layout(JsonWriter& json, std::string_view key, const TransferProblem& problem,
                  const TensorLayout& layout) {
  const RankMesh& mesh = problem.meshes()[layout.mesh];
  json.key(key).begin_object().member("mesh", mesh.name);
  write_numbers(json, "placements", to_words(layout.placement, mesh.shape.size()));
  if (layout.rounding == Rounding::kBalanced) json.member("rounding", "balanced");
  json.end_object();
}

void write_groups(JsonWriter& json, const TransferProblem& problem) {
  json.new_line().key("groups").begin_array();
  for (const TensorGroup& group : problem.groups()) {
    json.new_line().begin_object();
    write_numbers(json, "shape", group.shape);
    json.member("item_bytes", group.item_bytes);
    write_layout(json, "source", problem, group.source);
    write_layout(json, "target", problem, group.target);
    json.key("tensors").begin_array();
    for (const std::uint32_t tensor : group.tensors)
      json.value(problem.tensors()[tensor].name);
    json.end_array().end_object();
  }
  json.end_array();
}

void write_transfers(JsonWriter& json, const TransferPlan& plan) {
  json.new_line().key("transfers").begin_array();
  for (const Transfer& transfer : plan.transfers) {
    json.new_line().begin_object().member("from", transfer.from).member("to", transfer.to);
    json.member("bytes", transfer.bytes);
    if (transfer.passed_on > 0) json.member("passed_on", transfer.passed_on);
    json.key("runs").begin_array();
    for (const MessageRun& run : transfer.runs)
      json.begin_array().value(run.round).value(run.bytes).end_array();
    json.end_array().key("pieces").begin_array();
    for (const TransferPiece& piece : transfer.pieces) {
      json.begin_array().value(piece.group).value(piece.first).value(piece.count);
      for (const Interval& interval : piece.box)
        json.value(interval.begin).value(interval.end);
      json.end_array();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

void write_bounds(JsonWriter& json, const TransferProblem& problem, const TransferPlan& plan) {
  json.new_line().key("bounds").begin_array();
  for (const TransferBound& bound : plan.bounds) {
    json.new_line().begin_object();
    for (std::size_t kind = 0; kind < kPortNames.size(); ++kind) {
      std::vector<std::int64_t> numbers;
      for (const TransferPort& port : bound.ports) {
        if (port.kind == static_cast<TransferPort::Kind>(kind)) numbers.push_back(port.number);
      }
      if (!numbers.empty()) json.member(kPortNames[kind], ranges_text(numbers));
    }
    json.member("bytes", bound.bytes).member("busiest", proved(problem, bound)).end_object();
  }
  json.end_array();
}

void write_loads(JsonWriter& json, const TransferProblem& problem, const PortLoads& loads) {
  json.new_line().key("ranks").begin_array();
  for (std::size_t i = 0; i < loads.ranks.size(); ++i) {
    const RankLoad& load = loads.ranks[i];
    json.begin_array().value(problem.ranks()[i]).value(load.sent).value(load.received);
    json.value(load.kept).end_array();
  }
  json.end_array();
  if (!problem.hosts()) return;
  json.new_line().key("hosts").begin_array();
  for (const HostLoad& host : loads.hosts)
    json.begin_array().value(host.host).value(host.out).value(host.in).end_array();
  json.end_array();
}

}  // namespace

std::string ranges_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += (i > 0 ? "," : "") + std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

void write_transfer(const TransferProblem& problem, const TransferAnswer& answer,
                    const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object().member("format", "shardwright.transfer/1");
  json.member("unit", problem.hosts() ? "ms" : "bytes");
  json.member("busiest", answer.busiest).member("lower_bound", answer.bound);
  json.member("moved_bytes", answer.moved_bytes).member("kept_bytes", answer.kept_bytes);
  json.new_line().member("message_bytes", answer.plan.message_bytes);
  json.member("memory_bytes", answer.plan.memory_bytes).member("messages", answer.messages);
  json.member("rounds", answer.plan.rounds).member("least_rounds", answer.least_rounds);
  json.member("work", answer.work);
  write_bounds(json, problem, answer.plan);
  write_loads(json, problem, answer.loads);
  write_meshes(json, problem);
  write_groups(json, problem);
  write_transfers(json, answer.plan);
  json.end_object().finish();
}

}  // namespace shardwright
