// shardwright operators strategies FILE
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "core/units.h"
#include "runtime/cli/operators/operators_commands.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/io/file.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/io/operators/strategies_json.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"
#include "search/operators/strategies/generate.h"

namespace shardwright::cli {
namespace {

using operators::CommAction;
using operators::CommPattern;
using operators::NodeStrategies;
using operators::Operand;
using operators::Strategy;

struct StrategiesArguments {
  std::string path;
  OutputArguments output;
};

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

std::string report(const std::vector<NamedStrategies>& records, std::size_t width) {
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

Result<NamedStrategies> answer(const StrategyRecord& record) {
  auto table = std::make_shared<operators::SpecTable>(record.mesh);
  operators::ReshardPlanner planner(*table, operators::PathCost::kCompat);
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      NodeStrategies strategies,
      operators::generate_chain(record.graph, record.chain, record.options, *table, planner));
  return NamedStrategies{record.id, std::move(table), std::move(strategies)};
}

int run(const StrategiesArguments& arguments) {
  const Log log = arguments.output.log();
  const Result<std::string> text = read_file(arguments.path);
  if (!text.ok()) return fail(text.error());
  const auto records = read_strategy_records(*text);
  if (!records.ok()) return fail(in_file(records.error(), arguments.path));
  std::vector<NamedStrategies> answers;
  std::size_t count = 0;
  for (std::size_t i = 0; i < records->size(); ++i) {
    Result<NamedStrategies> strategies = answer((*records)[i]);
    if (!strategies.ok()) {
      Error error = strategies.error();
      // The nodes of a record's graph have no place in the file, so the message names them.
      const bool of_mesh = error.where == "/mesh";
      error.where = "/records/" + std::to_string(i) + (of_mesh ? "/mesh" : "");
      return fail(in_file(std::move(error), arguments.path));
    }
    count += strategies->strategies.size();
    answers.push_back(std::move(strategies).value());
  }
  log.info("generated " + std::to_string(count) + " strategies of " +
           std::to_string(answers.size()) + " operators");
  return emit(
      arguments.output, kDone, [&](const TextSink& sink) { write_strategies(answers, sink); },
      [&](std::size_t width) { return report(answers, width); });
}

}  // namespace

void add_operators_strategies_command(CLI::App& operators, Action& chosen) {
  auto arguments = std::make_shared<StrategiesArguments>();
  CLI::App& command = *operators.add_subcommand(
      "strategies", "Lists the ways in which single operators can be sharded, with their costs");
  command
      .add_option("FILE", arguments->path,
                  "Operators with their mesh, operands and attributes (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_output_arguments(command, arguments->output);
  add_example(command, "shardwright operators strategies samples/data/linear.json");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
