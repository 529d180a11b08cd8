// shardwright report
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "runtime/commands/files/files_commands.h"
#include "runtime/commands/files/saved_text.h"
#include "runtime/commands/pages.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/kinds/document_kind.h"

namespace shardwright::commands {
namespace {

constexpr std::array kAnswers{DocumentKind::kPlan,
                              DocumentKind::kSearchSpace,
                              DocumentKind::kSweep,
                              DocumentKind::kExplanation,
                              DocumentKind::kVerification,
                              DocumentKind::kDiff,
                              DocumentKind::kCostInstance,
                              DocumentKind::kSolution,
                              DocumentKind::kModelPlan,
                              DocumentKind::kMeshSweep,
                              DocumentKind::kPaths,
                              DocumentKind::kAutoshardAnswer,
                              DocumentKind::kStrategiesAnswer,
                              DocumentKind::kProgram,
                              DocumentKind::kReshardAnswer,
                              DocumentKind::kRedistributionAnswer,
                              DocumentKind::kTransferPlan};

Result<DocumentKind> answer_kind(JsonValue root) {
  const std::optional<DocumentKind> kind = kind_of(root);
  if (!kind) {
    return root.error("is none of the answers that commands write with -o");
  }
  if (std::find(kAnswers.begin(), kAnswers.end(), *kind) != kAnswers.end()) return *kind;
  return root.error("this is " + std::string(name_of(*kind)) +
                    ", which is none of the answers that commands write with -o");
}

// "a plan" -> "plan"
std::string title_of(DocumentKind kind) {
  std::string title(name_of(kind));
  title.erase(0, title.find(' ') + 1);
  std::erase(title, '`');
  return title;
}

SavedAnswer::Page page_kind(DocumentKind kind, JsonValue root) {
  switch (kind) {
    case DocumentKind::kSweep:
      return SavedAnswer::Page::kSweep;
    case DocumentKind::kMeshSweep:
      return SavedAnswer::Page::kMeshSweep;
    case DocumentKind::kDiff:
      return root.find("same_problem") ? SavedAnswer::Page::kPlanDiff
                                       : SavedAnswer::Page::kProblemDiff;
    default:
      return SavedAnswer::Page::kAny;
  }
}

}  // namespace

Result<Answer> answer(const ReportRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::string text, request.answer.read(watch.read));
  const Result<JsonDocument> document = JsonDocument::parse(text);
  if (!document.ok()) return request.answer.locate(document.error());
  const Result<DocumentKind> kind = answer_kind(document->root());
  if (!kind.ok()) return request.answer.locate(kind.error());
  const auto saved = std::make_shared<SavedAnswer>();
  saved->page = page_kind(*kind, document->root());
  saved->title = title_of(*kind);
  saved->file = request.answer.name();
  saved->json = std::move(text);
  Answer answer;
  answer.write_json = [saved](const TextSink& sink) { sink(saved->json); };
  answer.text = [document = *document, title = saved->title](const TextForm& form) {
    return saved_text(document.root(), title, form.width);
  };
  answer.write_page = page_of(saved, [text = answer.text] { return text({}); });
  return answer;
}

}  // namespace shardwright::commands
