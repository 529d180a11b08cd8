// shardwright enumerate
#include <string>

#include "runtime/commands/embedding/embedding_commands.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/search_space/search_space_json.h"
#include "runtime/report/embedding/plan/text.h"

namespace shardwright::commands {

Result<Answer> answer(const EnumerateRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const LoadedProblem loaded, load(request.problem, watch));
  const auto enumerated = enumerate_embedding(loaded.problem);
  if (!enumerated.ok()) return request.problem.problem.locate(enumerated.error());
  const std::shared_ptr<const embedding::SearchSpace>& space = *enumerated;
  watch.log.info("enumerated " + std::to_string(space->size()) + " sharding options");
  Answer answer;
  const ShardForm form = request.runs ? ShardForm::kRuns : ShardForm::kExpanded;
  answer.write_json = [space, form](const TextSink& sink) {
    write_search_space(*space, form, sink);
  };
  answer.text = [space](const TextForm& text) {
    TextReportOptions options;
    options.width = text.width;
    return text_report(*space, options);
  };
  return answer;
}

}  // namespace shardwright::commands
