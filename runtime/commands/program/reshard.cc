// shardwright program reshard
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/commands/pages.h"
#include "runtime/commands/program/program_commands.h"
#include "runtime/commands/program/program_doubts.h"
#include "runtime/commands/program/program_report.h"
#include "runtime/io/program/program_json.h"
#include "runtime/program/reshard_tensor.h"

namespace shardwright::commands {
namespace {

std::vector<NamedPrograms> named(const std::vector<ReshardCaseDocument>& cases,
                                 const std::vector<TensorReshard>& answers) {
  std::vector<NamedPrograms> all;
  for (std::size_t i = 0; i < std::min(cases.size(), kMostTextRows); ++i) {
    NamedPrograms& one = all.emplace_back();
    one.name = case_name(cases[i].request);
    if (answers[i].simulation)
      one.note = answers[i].simulation->ok() ? "Simulated: correct" : "Simulated: WRONG";
    for (const RankReshard& rank : answers[i].ranks)
      one.ranks.emplace_back(rank.rank, *rank.program);
  }
  return all;
}

}  // namespace

Result<Answer> answer(const ReshardRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.cases.read(watch.read));
  Result<std::vector<ReshardCaseDocument>> read = read_reshard_cases(text);
  if (!read.ok()) return request.cases.locate(read.error());
  const auto cases =
      std::make_shared<const std::vector<ReshardCaseDocument>>(std::move(read).value());
  const auto answers = std::make_shared<std::vector<TensorReshard>>();
  for (std::size_t i = 0; i < cases->size(); ++i) {
    TensorReshardOptions options;
    options.compat = request.compat;
    options.mesh_steps = (*cases)[i].on_mesh;
    options.sync = sync_mode(request.legacy_sync);
    options.keep_programs = i < kMostTextRows;  // the page shows as many
    Result<TensorReshard> one = reshard_tensor((*cases)[i].request, options);
    if (!one.ok()) {
      Error error = one.error();
      error.where = "/" + std::to_string(i) + error.where;
      return request.cases.locate(std::move(error));
    }
    answers->push_back(std::move(one).value());
  }
  Answer answer;
  answer.warnings = wrong_plans(*answers);
  answer.write_json = [cases, answers](const TextSink& sink) {
    write_reshards(*cases, *answers, sink);
  };
  answer.text = [cases, answers](const TextForm& form) {
    return reshard_report(*cases, *answers, form.width);
  };
  answer.write_page =
      page_of(named(*cases, *answers), true, [text = answer.text] { return text({}); });
  return answer;
}

}  // namespace shardwright::commands
