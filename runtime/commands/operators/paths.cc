// shardwright operators paths
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/operators/graph/sharding_spec.h"
#include "runtime/commands/operators/operators_commands.h"
#include "runtime/io/operators/paths_json.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"
#include "search/operators/strategies/reshard_path.h"

namespace shardwright::commands {
namespace {

using operators::PathCost;
using operators::ReshardPath;
using operators::ReshardPattern;
using operators::ReshardStep;

struct AnsweredQuestions {
  std::vector<ReshardQuestions> questions;
  std::vector<std::vector<ReshardPath>> paths;  // one list per question
};

std::vector<ReshardPath> paths_of(const ReshardQuestions& questions, PathCost mode) {
  operators::SpecTable table(questions.mesh);
  operators::ReshardPlanner planner(table, mode);
  const operators::TensorShape* shape = table.shape(questions.shape);
  std::vector<ReshardPath> paths;
  paths.reserve(questions.pairs.size());
  for (const ReshardQuestions::Pair& pair : questions.pairs)
    paths.push_back(planner.path(table.intern(shape, pair.from), table.intern(shape, pair.to)));
  return paths;
}

template <class Number>
std::string joined(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number number : numbers)
    text += (text.empty() ? "" : "x") + std::to_string(number);
  return text.empty() ? "scalar" : text;
}

std::string route_text(const operators::DimSpecs& from, const ReshardPath& path) {
  if (!path.found) return "no path found";
  if (path.steps.empty()) return "-";
  std::string text = from.to_string();
  for (const ReshardStep& step : path.steps)
    text += " -> " + step.result.to_string();
  return text;
}

std::string step_text(const ReshardStep& step) {
  const std::string gathered = std::to_string(step.gather_dim);
  const std::string axis = " along " + std::to_string(step.axis);
  switch (step.pattern) {
    case ReshardPattern::kAllGather:
      return "gather " + gathered + axis;
    case ReshardPattern::kAllToAll:
      return "all-to-all " + gathered + ">" + std::to_string(step.shard_dim) + axis;
    case ReshardPattern::kShard:
      break;
  }
  return "split " + std::to_string(step.shard_dim) + axis;
}

std::string steps_text(const ReshardPath& path) {
  std::string text;
  for (const ReshardStep& step : path.steps)
    text += (text.empty() ? "" : ", ") + step_text(step);
  return text;
}

std::string table_text(const std::vector<ReshardQuestions>& questions,
                       const std::vector<std::vector<ReshardPath>>& paths, std::size_t width) {
  using Align = TextTable::Align;
  std::string text =
      "Costs are the alpha-beta model's over numbers of elements; bytes are these times the "
      "element\n"
      "size. S01 = split over mesh axes 0 and 1, R = whole; steps say tensor dimension and mesh "
      "axis.\n\n";
  for (std::size_t i = 0; i < questions.size(); ++i) {
    text += (i == 0 ? "Mesh " : "\nMesh ") + joined(questions[i].mesh->spec().shape) + ", tensor " +
            joined(questions[i].shape) + "\n";
    TextTable table({{"source", Align::kLeft},
                     {"target", Align::kLeft},
                     {"path", Align::kLeft},
                     {"steps", Align::kLeft, 2},
                     {"forward", Align::kRight, 1},
                     {"backward", Align::kRight, 1},
                     {"total"}});
    for (std::size_t k = 0; k < paths[i].size(); ++k) {
      const ReshardPath& path = paths[i][k];
      const ReshardQuestions::Pair& pair = questions[i].pairs[k];
      table.add_row({pair.from.to_string(), pair.to.to_string(), route_text(pair.from, path),
                     steps_text(path), format_cost(path.cost.forward),
                     format_cost(path.cost.backward), format_cost(path.cost.total)});
    }
    text += table.render(width);
  }
  return text;
}

}  // namespace

Result<Answer> answer(const PathsRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.file.read(watch.read));
  auto questions = read_reshard_questions(text);
  if (!questions.ok()) return request.file.locate(questions.error());
  const auto answered = std::make_shared<AnsweredQuestions>();
  answered->questions = std::move(questions).value();
  std::size_t num_pairs = 0;
  for (const ReshardQuestions& asked : answered->questions) {
    answered->paths.push_back(paths_of(asked, request.cost));
    num_pairs += asked.pairs.size();
  }
  watch.log.info("found the paths of " + std::to_string(num_pairs) + " pairs");
  Answer answer;
  answer.write_json = [answered, cost = request.cost](const TextSink& sink) {
    write_reshard_answers(answered->questions, answered->paths, cost, sink);
  };
  answer.text = [answered](const TextForm& form) {
    return table_text(answered->questions, answered->paths, form.width);
  };
  return answer;
}

}  // namespace shardwright::commands
