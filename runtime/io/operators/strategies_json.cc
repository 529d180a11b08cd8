#include "runtime/io/operators/strategies_json.h"

#include <string_view>

#include "runtime/io/json/json_writer.h"

namespace shardwright {
namespace {

using operators::CommAction;
using operators::CommPattern;
using operators::CommPlace;
using operators::MemoryCost;
using operators::NodeStrategies;
using operators::Operand;
using operators::PhaseCost;
using operators::ShardingSpec;
using operators::Strategy;

std::string_view name_of(CommPattern pattern) {
  switch (pattern) {
    case CommPattern::kAllReduceForward:
      return "all_reduce_fwd_identity_bwd";
    case CommPattern::kAllReduceBackward:
      return "identity_fwd_all_reduce_bwd";
    case CommPattern::kGatherForward:
      return "gather_fwd_split_bwd";
    case CommPattern::kReshard:
      break;
  }
  return "reshard";
}

std::string_view name_of(CommPlace place) {
  switch (place) {
    case CommPlace::kBefore:
      return "BEFORE";
    case CommPlace::kAfter:
      return "AFTER";
    case CommPlace::kHook:
      break;
  }
  return "HOOK";
}

void write_spec(const ShardingSpec& spec, JsonWriter& writer) {
  writer.value("[" + spec.dims.to_string() + "]");
}

void write_specs(const NodeStrategies& of, std::size_t s, JsonWriter& writer) {
  writer.key("specs").begin_object();
  for (const Operand& operand : of.operands()) {
    writer.key(operand.name);
    if (operand.tuple) writer.begin_array();
    for (const ShardingSpec* spec : of.specs(s, operand))
      write_spec(*spec, writer);
    if (operand.tuple) writer.end_array();
  }
  writer.end_object();
}

void write_comm(const NodeStrategies& of, const Strategy& strategy, JsonWriter& writer) {
  writer.key("comm").begin_object();
  for (const CommAction& action : strategy.comm_actions()) {
    writer.key(of.operands()[action.operand].name);
    if (action.pattern == CommPattern::kReshard) {
      writer.value(name_of(action.pattern));
      continue;
    }
    writer.begin_array().value(name_of(action.pattern)).value(action.axis());
    writer.value(name_of(action.place)).end_array();
  }
  writer.end_object();
}

void write_cost(std::string_view key, const PhaseCost& cost, JsonWriter& writer) {
  writer.key(key).begin_array();
  writer.value(cost.forward).value(cost.backward).value(cost.total).end_array();
}

void write_memory(const Strategy& strategy, JsonWriter& writer) {
  writer.key("memory").begin_array();
  for (const MemoryCost* cost :
       {&strategy.memory.forward, &strategy.memory.backward, &strategy.memory.total}) {
    writer.begin_object()
        .member("act", cost->activation)
        .member("param", cost->parameter)
        .member("temp", cost->temporary)
        .member("buf", cost->buffer)
        .end_object();
  }
  writer.end_array();
}

void write_record(const NamedStrategies& record, JsonWriter& writer) {
  const NodeStrategies& of = record.strategies;
  writer.new_line().begin_object();
  writer.member("id", std::string_view(record.id)).member("count", of.size());
  writer.key("strategies").begin_array();
  for (std::size_t s = 0; s < of.size(); ++s) {
    writer.new_line().begin_object();
    writer.member("name", std::string_view(of.name(s)));
    write_specs(of, s, writer);
    write_comm(of, of[s], writer);
    write_cost("comm_cost", of[s].comm, writer);
    write_cost("compute_cost", of[s].compute, writer);
    write_memory(of[s], writer);
    writer.end_object();
  }
  writer.end_array().end_object();
}

}  // namespace

void write_strategies(const std::vector<NamedStrategies>& records, const TextSink& sink) {
  JsonWriter writer(sink);
  writer.begin_object().key("records").begin_array();
  for (const NamedStrategies& record : records)
    write_record(record, writer);
  writer.end_array().end_object().finish();
}

}  // namespace shardwright
