#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/options/interrupt.h"
#include "runtime/cli/program/program_commands.h"
#include "runtime/io/file.h"
#include "runtime/io/program/program_json.h"
#include "runtime/program/reshard_program.h"
#include "runtime/program/reshard_tensor.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright::cli {
namespace {


struct ProgramArguments {
  std::string path;
  OutputArguments output;
  bool compat = false;
  bool legacy_sync = false;
  bool whole = false;
  std::string startup_path;
  std::optional<std::int64_t> batch_size;
};

program::SyncMode sync_mode(const ProgramArguments& arguments) {
  return arguments.legacy_sync ? program::SyncMode::kPerInsert : program::SyncMode::kPerCommit;
}

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

// One line: the steps of the first rank that has any.
std::string sequence_text(const TensorReshard& answer) {
  const RankReshard* busiest = nullptr;
  for (const RankReshard& rank : answer.ranks) {
    if (busiest == nullptr || rank.inserted.size() > busiest->inserted.size()) busiest = &rank;
  }
  std::string text;
  for (const auto& [type, shape] : busiest->inserted)
    text += (text.empty() ? "" : ", ") + type;
  return text.empty() ? "nothing" : text;
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
    if (i >= kMostReportRows) continue;
    table.add_row({list_text(request.shape), placement_text(request.source),
                   placement_text(request.target), format_ms(answers[i].us),
                   !simulation ? "-"
                   : ok        ? "correct"
                               : "WRONG",
                   sequence_text(answers[i])});
  }
  std::string report =
      "A placement is the mesh, then by dimension the mesh axis that splits it (-1 = none), then\n"
      "what is still to be reduced along which axis. Times in microseconds.\n\n" +
      table.render(width);
  if (cases.size() > kMostReportRows)
    report += "  and " + format_plural(cases.size() - kMostReportRows, "case") + " more, in the JSON\n";
  return report + "\n" + format_plural(cases.size(), "case") + ", " + std::to_string(wrong) +
         " wrong by simulation\n";
}

int run_reshard(const ProgramArguments& arguments) {
  const Result<std::string> text = read_file(arguments.path);
  if (!text.ok()) return fail(text.error());
  const Result<std::vector<ReshardCaseDocument>> cases = read_reshard_cases(*text);
  if (!cases.ok()) return fail(in_file(cases.error(), arguments.path));
  std::vector<TensorReshard> answers;
  for (std::size_t i = 0; i < cases->size(); ++i) {
    TensorReshardOptions options;
    options.compat = arguments.compat;
    options.mesh_steps = (*cases)[i].on_mesh;
    options.sync = sync_mode(arguments);
    Result<TensorReshard> answer = reshard_tensor((*cases)[i].request, options);
    if (!answer.ok()) {
      Error error = answer.error();
      error.where = "/" + std::to_string(i) + error.where;
      return fail(in_file(std::move(error), arguments.path));
    }
    answers.push_back(std::move(answer).value());
  }
  return emit(
      arguments.output, kDone, [&](const TextSink& sink) { write_reshards(*cases, answers, sink); },
      [&](std::size_t width) { return reshard_report(*cases, answers, width); });
}

// The kinds of inserted operators in program order: "c_allgather, 2 x split".
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

std::string apply_report(const std::vector<std::pair<ProgramDocument, program::ReshardResult>>& all,
                         std::size_t width) {
  using Align = TextTable::Align;
  std::string report;
  for (const auto& [document, result] : all) {
    if (!report.empty()) report += "\n";
    report += "program " + document.program.name() + ": " +
              format_plural(result.requests, "request") + ", " +
              format_plural(result.plans, "distinct plan") + "\n";
    TextTable table({{"rank"},
                     {"operators"},
                     {"inserted"},
                     {"edits", Align::kRight, 2},
                     {"planner calls", Align::kRight, 1},
                     {"syncs"},
                     {"items scanned", Align::kRight, 3},
                     {"inserted operators", Align::kLeft}});
    for (const program::RankProgram& rank : result.ranks) {
      std::uint64_t ops = 0;
      for (std::size_t i = 0; i < rank.program.num_blocks(); ++i) {
        ops += rank.program.block(program::BlockId(i)).num_ops;
      }
      table.add_row({std::to_string(rank.rank), format_count(ops),
                     format_count(rank.counters.inserted_ops), format_count(rank.counters.edits),
                     format_count(rank.counters.planner_calls),
                     format_count(rank.counters.mirror_syncs),
                     format_count(rank.counters.items_scanned), inserted_text(rank.program)});
    }
    report += table.render(width);
  }
  return report;
}

// One startup program per program, or one for all; nothing without --startup.
Result<std::vector<program::Program>> read_startups(const ProgramArguments& arguments,
                                                    std::size_t programs) {
  std::vector<program::Program> startups;
  if (arguments.startup_path.empty()) return startups;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read_file(arguments.startup_path));
  Result<std::vector<ProgramDocument>> documents = read_programs(text);
  if (!documents.ok()) return in_file(documents.error(), arguments.startup_path);
  if (documents->size() != 1 && documents->size() != programs) {
    return invalid_input("/programs", "must be one, or as many as there are main programs");
  }
  for (std::size_t i = 0; i < programs; ++i) {
    startups.push_back((*documents)[documents->size() == 1 ? 0 : i].program);
  }
  return startups;
}

int run_apply(const ProgramArguments& arguments) {
  const Result<std::string> text = read_file(arguments.path);
  if (!text.ok()) return fail(text.error());
  Result<std::vector<ProgramDocument>> programs = read_programs(*text);
  if (!programs.ok()) return fail(in_file(programs.error(), arguments.path));
  const auto startups = read_startups(arguments, programs->size());
  if (!startups.ok()) return fail(startups.error());
  const InterruptGuard interrupt;
  std::vector<std::pair<ProgramDocument, program::ReshardResult>> results;
  for (const ProgramDocument& document : *programs) {
    program::ReshardOptions options;
    options.compat = arguments.compat;
    options.sync = sync_mode(arguments);
    options.whole = arguments.whole;
    options.batch_size = arguments.batch_size;
    options.ranks = document.ranks;
    if (!startups->empty()) options.startup = (*startups)[results.size()];
    options.stop = interrupt.token();
    Result<program::ReshardResult> result =
        reshard_program(document.program, options, arguments.output.threads);
    if (!result.ok()) {
      Error error = result.error();
      error.where = document.place + error.where;
      return fail(in_file(std::move(error), arguments.path));
    }
    results.emplace_back(document, std::move(result).value());
  }
  return emit(
      arguments.output, kDone, [&](const TextSink& sink) { write_programs(results, sink); },
      [&](std::size_t width) { return apply_report(results, width); });
}

void add_common(CLI::App& command, ProgramArguments& arguments) {
  command.add_flag("--compat", arguments.compat,
                   "Choose the sequences that Paddle chooses, instead of the cheapest known");
  command.add_flag("--legacy-sync", arguments.legacy_sync,
                   "Synchronise the mirror before every inserted operator, for comparison");
  add_output_arguments(command, arguments.output);
}

}  // namespace

void add_program_command(CLI::App& app, Action& chosen) {
  CLI::App& command =
      *app.add_subcommand("program", "Inserts the communication that a program's placements imply");
  command.require_subcommand(1);

  auto reshard = std::make_shared<ProgramArguments>();
  CLI::App& reshard_command = *command.add_subcommand(
      "reshard", "Plans how a tensor goes from one placement to another, rank by rank");
  reshard_command.add_option("CASES", reshard->path, "List of cases (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_common(reshard_command, *reshard);
  add_example(reshard_command, "shardwright program reshard samples/data/reshard.json");
  reshard_command.callback(
      [reshard, &chosen] { chosen = [reshard] { return run_reshard(*reshard); }; });

  auto apply = std::make_shared<ProgramArguments>();
  CLI::App& apply_command =
      *command.add_subcommand("apply", "Makes every rank's program, in one batch of edits each");
  apply_command.add_option("PROGRAM", apply->path, "Program file (- = stdin)")
      ->type_name(kFile)
      ->required();
  CLI::Option* const full = apply_command.add_flag(
      "--full", apply->whole, "Also send outputs, and remove what belongs to other ranks");
  apply_command
      .add_option("--startup", apply->startup_path,
                  "Startup program: every rank keeps what its main program needs")
      ->type_name(kFile)
      ->needs(full);
  apply_command
      .add_option("--batch-size", apply->batch_size, "Size of batch dimensions written as -1")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40).description(""));
  add_common(apply_command, *apply);
  add_example(apply_command,
              "shardwright program apply samples/data/program.json --full -o ranks.json");
  add_example(command, "shardwright program apply samples/data/program.json --full");
  apply_command.callback([apply, &chosen] { chosen = [apply] { return run_apply(*apply); }; });
}

}  // namespace shardwright::cli
