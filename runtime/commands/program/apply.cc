// shardwright program apply
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/commands/pages.h"
#include "runtime/commands/program/program_commands.h"
#include "runtime/commands/program/program_doubts.h"
#include "runtime/commands/program/program_report.h"
#include "runtime/io/program/program_json.h"
#include "runtime/program/reshard_program.h"

namespace shardwright::commands {
namespace {

using Results = std::vector<std::pair<ProgramDocument, program::ReshardResult>>;

// Returns one startup program for each program; a file with one serves for all. Empty without a
// startup program.
Result<std::vector<program::Program>> read_startups(const Input& input, std::size_t programs,
                                                    const Watch& watch) {
  std::vector<program::Program> startups;
  if (!input.given()) return startups;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, input.read(watch.read));
  Result<std::vector<ProgramDocument>> documents = read_programs(text);
  if (!documents.ok()) return input.locate(documents.error());
  if (documents->size() != 1 && documents->size() != programs) {
    return input.locate(
        invalid_input("/programs", "must have one program, or as many as there are main programs"));
  }
  for (std::size_t i = 0; i < programs; ++i) {
    startups.push_back((*documents)[documents->size() == 1 ? 0 : i].program);
  }
  return startups;
}

program::ReshardOptions options_of(const ApplyRequest& request, const ProgramDocument& document,
                                   const std::stop_token& stop) {
  program::ReshardOptions options;
  options.compat = request.compat;
  options.sync = sync_mode(request.legacy_sync);
  options.whole = request.full;
  options.batch_size = request.batch_size;
  options.ranks = document.ranks;
  options.stop = stop;
  return options;
}

std::vector<NamedPrograms> named(const Results& results) {
  std::vector<NamedPrograms> all;
  for (const auto& [document, result] : results) {
    NamedPrograms& one = all.emplace_back();
    one.name = document.program.name();
    for (const program::RankProgram& rank : result.ranks)
      one.ranks.emplace_back(rank.rank, rank.program);
  }
  return all;
}

bool has_batch_dimension(const program::Program& program) {
  for (std::size_t i = 0; i < program.var_capacity(); ++i) {
    const program::VarId id(i);
    if (program.has(id) && program.var(id).is_open()) return true;
  }
  return false;
}

// What nobody means to ask.
Status check_asked(const std::vector<ProgramDocument>& programs, const ApplyRequest& request) {
  if (programs.empty())
    return request.program.locate(invalid_input("/programs", "the list of programs is empty"));
  for (const ProgramDocument& document : programs) {
    if (document.program.meshes().empty())
      return request.program.locate(
          invalid_input(document.place + "/meshes", "a program runs on at least one mesh"));
    if (document.program.op_capacity() == 0)
      return request.program.locate(
          invalid_input(document.place + "/ops", "the program has no operator"));
  }
  const bool is_used = std::any_of(
      programs.begin(), programs.end(),
      [](const ProgramDocument& document) { return has_batch_dimension(document.program); });
  if (!request.batch_size || is_used) return {};
  return invalid_input("batch_size",
                       "no variable has a batch dimension, an extent of -1, so the size would "
                       "change nothing; leave it out");
}

}  // namespace

Result<Answer> answer(const ApplyRequest& request, const Watch& watch) {
  if (request.startup.given() && !request.full) {
    return invalid_input("startup", "needs {full}");
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.program.read(watch.read));
  Result<std::vector<ProgramDocument>> programs = read_programs(text);
  if (!programs.ok()) return request.program.locate(programs.error());
  SHARDWRIGHT_ASSIGN_OR_RETURN(const auto startups,
                               read_startups(request.startup, programs->size(), watch));
  SHARDWRIGHT_RETURN_IF_ERROR(check_asked(*programs, request));
  const std::stop_token stop = watch.begin();
  Answer answer;
  const auto results = std::make_shared<Results>();
  for (const ProgramDocument& document : *programs) {
    program::ReshardOptions options = options_of(request, document, stop);
    if (!startups.empty()) options.startup = startups[results->size()];
    Result<program::ReshardResult> result =
        reshard_program(document.program, options, request.threads);
    if (!result.ok()) {
      Error error = result.error();
      error.where = document.place + error.where;
      return request.program.locate(std::move(error));
    }
    for (const auto& doubts : {wrong_plans(document.program, document.place, result->wrong),
                               empty_tensors(document.program, document.place),
                               reads_before_writes(document.program, document.place)})
      answer.warnings.insert(answer.warnings.end(), doubts.begin(), doubts.end());
    results->emplace_back(document, std::move(result).value());
  }
  answer.write_json = [results](const TextSink& sink) { write_programs(*results, sink); };
  answer.text = [results](const TextForm& form) { return apply_report(*results, form.width); };
  answer.write_page = page_of(named(*results), false, [text = answer.text] { return text({}); });
  return answer;
}

}  // namespace shardwright::commands
