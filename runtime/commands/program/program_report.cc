#include "runtime/commands/program/program_report.h"

#include <algorithm>

#include "core/text/printable.h"
#include "runtime/commands/answer.h"
#include "runtime/program/communication_report.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright::commands {
namespace {

template <class List>
std::string list_text(const List& list) {
  std::string text = "[";
  for (const auto& value : list) {
    if (text.size() > 1) text += ",";
    text += std::to_string(static_cast<std::int64_t>(value));
  }
  return text + "]";
}

std::string placement_text(const program::DistAttr& attr) {
  std::string text = list_text(attr.mesh.shape()) + " " + list_text(attr.dims_mapping);
  for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
    if (attr.partial[axis] == program::Reduction::kNone) continue;
    text += " " + std::string(to_name(attr.partial[axis])) + "@" + std::to_string(axis);
  }
  return text;
}

// The operators of the rank with the most of them, on one line.
std::string sequence_text(const TensorReshard& answer) {
  const auto busiest = std::max_element(answer.ranks.begin(), answer.ranks.end(),
                                        [](const RankReshard& a, const RankReshard& b) {
                                          return a.inserted.size() < b.inserted.size();
                                        });
  std::string text;
  for (const auto& [type, shape] : busiest->inserted)
    text += (text.empty() ? "" : ", ") + type;
  return text.empty() ? "nothing" : text;
}

// The types of the inserted operators in program order, such as "c_allgather, 2 x split".
std::string inserted_text(const program::Program& program) {
  std::vector<std::pair<std::string, std::size_t>> runs;
  for (std::size_t b = 0; b < program.num_blocks(); ++b) {
    for (program::OpId id = program.block(program::BlockId(b)).first; id.valid();
         id = program.next(id)) {
      const program::Operation& op = program.op(id);
      if (!op.is_inserted) continue;
      if (runs.empty() || runs.back().first != op.type) runs.emplace_back(op.type, 0);
      ++runs.back().second;
    }
  }
  std::string text;
  for (const auto& [type, count] : runs) {
    text += (text.empty() ? "" : ", ") + (count > 1 ? std::to_string(count) + " x " : "") + type;
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string case_name(const ReshardCase& request) {
  return list_text(request.shape) + " from " + placement_text(request.source) + " to " +
         placement_text(request.target);
}

std::string reshard_report(const std::vector<ReshardCaseDocument>& cases,
                           const std::vector<TensorReshard>& answers, std::size_t width) {
  using Align = TextTable::Align;
  TextTable table({{"shape", Align::kLeft},
                   {"from", Align::kLeft},
                   {"to", Align::kLeft},
                   {"us"},
                   {"simulated", Align::kLeft},
                   {"operators of the busiest rank", Align::kLeft}});
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ReshardCase& request = cases[i].request;
    const auto& simulation = answers[i].simulation;
    const bool ok = !simulation || simulation->ok();
    wrong += ok ? 0U : 1U;
    if (i >= kMostTextRows) continue;
    table.add_row({list_text(request.shape), placement_text(request.source),
                   placement_text(request.target), format_ms(answers[i].us),
                   !simulation ? "-"
                   : ok        ? "correct"
                               : "WRONG",
                   sequence_text(answers[i])});
  }
  std::string report =
      "A placement is the mesh, for each dimension the mesh axis that splits it (-1 = none), and "
      "the\n"
      "reductions that are due, each with its axis. Times are in microseconds.\n\n" +
      table.render(width);
  if (cases.size() > kMostTextRows)
    report +=
        "  and " + format_plural(cases.size() - kMostTextRows, "case") + " more, in the JSON\n";
  return report + "\n" + format_plural(cases.size(), "case") + ", " + std::to_string(wrong) +
         " wrong by simulation\n";
}

std::string apply_report(const std::vector<std::pair<ProgramDocument, program::ReshardResult>>& all,
                         std::size_t width) {
  using Align = TextTable::Align;
  std::string report;
  for (const auto& [document, result] : all) {
    if (!report.empty()) report += "\n";
    report += "program " + printable(document.program.name()) + ": " +
              format_plural(result.requests, "request") + ", " +
              format_plural(result.plans, "distinct plan") + "\n";
    const CommunicationReport communication = communication_of(result);
    report += "  " + format_bytes(Bytes(communication.moved_bytes)) + " between ranks, " +
              format_ms(communication.total_us) + " us if computing takes no time\n";
    TextTable table({{"rank"},
                     {"operators"},
                     {"inserted"},
                     {"sends"},
                     {"receives"},
                     {"us"},
                     {"edits", Align::kRight, 2},
                     {"planner calls", Align::kRight, 1},
                     {"syncs"},
                     {"items scanned", Align::kRight, 3},
                     {"inserted operators", Align::kLeft}});
    for (const program::RankProgram& rank : result.ranks) {
      const ReportedRankLoad& load = communication.load_of(rank.rank);
      std::uint64_t ops = 0;
      for (std::size_t i = 0; i < rank.program.num_blocks(); ++i) {
        ops += rank.program.block(program::BlockId(i)).num_ops;
      }
      table.add_row({std::to_string(rank.rank), format_count(ops),
                     format_count(rank.counters.inserted_ops), format_bytes(Bytes(load.sent)),
                     format_bytes(Bytes(load.received)), format_ms(load.communicating_us),
                     format_count(rank.counters.edits), format_count(rank.counters.planner_calls),
                     format_count(rank.counters.mirror_syncs),
                     format_count(rank.counters.items_scanned), inserted_text(rank.program)});
    }
    report += table.render(width);
  }
  return report;
}

}  // namespace shardwright::commands
