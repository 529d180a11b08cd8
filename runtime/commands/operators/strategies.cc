// shardwright operators strategies
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "core/units.h"
#include "runtime/commands/operators/operators_commands.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/io/operators/strategies_json.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"
#include "search/operators/strategies/generate.h"

namespace shardwright::commands {
namespace {

using operators::CommAction;
using operators::CommPattern;
using operators::NodeStrategies;
using operators::Operand;
using operators::Strategy;

std::string specs_text(const NodeStrategies& of, std::size_t s) {
  std::string text;
  for (const Operand& operand : of.operands()) {
    // The elements of a tuple are mostly equal, so the first one is shown for all.
    text += (text.empty() ? "" : " ") + operand.name + "[" +
            of.specs(s, operand)[0]->dims.to_string() + "]";
    if (operand.tuple) text += "x" + std::to_string(operand.shapes.size());
  }
  return text;
}

const char* pattern_text(CommPattern pattern) {
  switch (pattern) {
    case CommPattern::kAllReduceForward:
      return "all-reduce";
    case CommPattern::kAllReduceBackward:
      return "all-reduce gradient of";
    case CommPattern::kGatherForward:
      return "gather";
    case CommPattern::kReshard:
      break;
  }
  return "reshard";
}

std::string comm_text(const NodeStrategies& of, const Strategy& strategy) {
  std::string text;
  for (const CommAction& action : strategy.comm_actions()) {
    text += (text.empty() ? "" : ", ") + std::string(pattern_text(action.pattern)) + " " +
            of.operands()[action.operand].name;
    if (action.axes != 0) text += " over " + operators::DimSpec{action.axes}.to_string().substr(1);
  }
  return text.empty() ? "-" : text;
}

std::string strategies_text(const std::vector<NamedStrategies>& records, std::size_t width) {
  using Align = TextTable::Align;
  std::string text =
      "Communication costs bytes sent, computing multiplications, both forward and backward; "
      "memory\n"
      "is activations, parameters and buffers of one device.\n";
  for (const NamedStrategies& record : records) {
    const NodeStrategies& of = record.strategies;
    text += "\n" + printable(record.id) + ": " + std::to_string(of.size()) +
            (of.size() == 1 ? " strategy\n" : " strategies\n");
    TextTable table({{"strategy", Align::kLeft},
                     {"specs", Align::kLeft, 2},
                     {"communication", Align::kLeft, 3},
                     {"comm cost"},
                     {"compute cost"},
                     {"memory", Align::kRight, 1}});
    for (std::size_t s = 0; s < of.size(); ++s) {
      table.add_row({of.name(s), specs_text(of, s), comm_text(of, of[s]),
                     format_cost(of[s].comm.total), format_cost(of[s].compute.total),
                     format_bytes(Bytes(of[s].budget_bytes()))});
    }
    text += table.render(width);
  }
  return text;
}

Result<NamedStrategies> strategies_of(const StrategyRecord& record) {
  auto table = std::make_shared<operators::SpecTable>(record.mesh);
  operators::ReshardPlanner planner(*table, operators::PathCost::kCompat);
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      NodeStrategies strategies,
      operators::generate_chain(record.graph, record.chain, record.options, *table, planner));
  return NamedStrategies{record.id, std::move(table), std::move(strategies)};
}

}  // namespace

Result<Answer> answer(const StrategiesRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.file.read(watch.read));
  const auto records = read_strategy_records(text);
  if (!records.ok()) return request.file.locate(records.error());
  const auto answers = std::make_shared<std::vector<NamedStrategies>>();
  std::size_t count = 0;
  for (std::size_t i = 0; i < records->size(); ++i) {
    Result<NamedStrategies> strategies = strategies_of((*records)[i]);
    if (!strategies.ok()) {
      Error error = strategies.error();
      // The nodes of a record's graph have no place in the file, so the message names them.
      const bool of_mesh = error.where == "/mesh";
      error.where = "/records/" + std::to_string(i) + (of_mesh ? "/mesh" : "");
      return request.file.locate(std::move(error));
    }
    count += strategies->strategies.size();
    answers->push_back(std::move(strategies).value());
  }
  watch.log.info("generated " + std::to_string(count) + " strategies of " +
                 std::to_string(answers->size()) + " operators");
  Answer answer;
  answer.write_json = [answers](const TextSink& sink) { write_strategies(*answers, sink); };
  answer.text = [answers](const TextForm& form) { return strategies_text(*answers, form.width); };
  return answer;
}

}  // namespace shardwright::commands
