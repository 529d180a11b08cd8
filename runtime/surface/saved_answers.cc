#include "runtime/surface/saved_answers.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/io/embedding/answers_json.h"
#include "runtime/io/embedding/plan_reader.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/report/embedding/audit_text.h"
#include "runtime/report/embedding/changes_text.h"
#include "runtime/report/embedding/explain_text.h"
#include "runtime/report/embedding/plan_file_text.h"
#include "runtime/report/embedding/sweep_text.h"
#include "runtime/report/operators/aten_plan_text.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"
#include "runtime/surface/answer.h"
#include "runtime/surface/files_requests.h"
#include "runtime/surface/pages.h"

namespace shardwright::commands {
namespace {

constexpr std::size_t kShortList = 8;
constexpr std::size_t kFewMembers = 12;  // an object with more members is shown as a list

using Member = std::pair<std::string, JsonValue>;

bool is_plain(JsonValue value) { return !value.is_array() && !value.is_object(); }

// Returns true if the value fits into a cell: a plain value, or a short list of plain values.
bool is_cell(JsonValue value) {
  if (is_plain(value)) return true;
  if (!value.is_array() || value.size() == 0 || value.size() > kShortList) return false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!is_plain(value[i])) return false;
  }
  return true;
}

// Collects the members of a value with their names. Members of a small inner object have both
// names, such as "outer inner".
void collect(JsonValue value, const std::string& before, std::vector<Member>& members) {
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string name =
        before + (value.is_object() ? std::string(value[i].key()) : std::to_string(i + 1));
    if (value[i].is_object() && value[i].size() <= kFewMembers) {
      collect(value[i], name + " ", members);
    } else {
      members.emplace_back(name, value[i]);
    }
  }
}

std::vector<Member> members_of(JsonValue value) {
  std::vector<Member> members;
  is_plain(value) ? static_cast<void>(members.emplace_back("value", value))
                  : collect(value, "", members);
  return members;
}

std::string cell_text(const std::string& name, JsonValue value) {
  if (const Result<std::int64_t> whole = value.integer(); whole.ok()) {
    return name.ends_with("bytes") && *whole >= 0 ? format_bytes(Bytes(*whole))
                                                  : std::to_string(*whole);
  }
  if (const Result<double> number = value.number(); number.ok()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", *number);
    return text;
  }
  if (const Result<bool> flag = value.boolean(); flag.ok()) return *flag ? "yes" : "no";
  if (const Result<std::string_view> text = value.string(); text.ok()) return printable(*text);
  std::string list;
  for (std::size_t i = 0; i < value.size(); ++i)
    list += (list.empty() ? "" : ", ") + cell_text(name, value[i]);
  return list.empty() ? "-" : list;
}

std::string table_text(JsonValue list, std::size_t width) {
  std::vector<std::vector<Member>> rows;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(list.size(), kMostTextRows); ++i) {
    std::vector<Member>& row = rows.emplace_back();
    if (list.is_object()) row.emplace_back("name", list[i]);
    for (Member& member : members_of(list[i])) {
      if (!is_cell(member.second)) continue;
      if (std::find(names.begin(), names.end(), member.first) == names.end())
        names.push_back(member.first);
      row.push_back(std::move(member));
    }
  }
  std::vector<TextTable::Column> columns{
      {list.is_object() ? "name" : "#", TextTable::Align::kLeft}};
  for (std::size_t c = 0; c < names.size(); ++c)
    columns.push_back({names[c], TextTable::Align::kLeft, static_cast<int>(c)});
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> cells{list.is_object() ? std::string(list[i].key())
                                                    : std::to_string(i)};
    for (const std::string& name : names) {
      const auto found = std::find_if(rows[i].begin() + (list.is_object() ? 1 : 0), rows[i].end(),
                                      [&](const Member& member) { return member.first == name; });
      cells.push_back(found == rows[i].end() ? "" : cell_text(name, found->second));
    }
    table.add_row(std::move(cells));
  }
  std::string text = table.render(width);
  if (list.size() > rows.size())
    text += "  and " + format_plural(list.size() - rows.size(), "row") + " more, in the file\n";
  return text;
}

}  // namespace

std::string saved_text(JsonValue answer, const std::string& title, std::size_t width) {
  std::vector<Member> members;
  answer.is_array() ? static_cast<void>(members.emplace_back("entries", answer))
                    : collect(answer, "", members);
  std::size_t longest = 0;
  for (const auto& [name, value] : members) {
    if (is_cell(value)) longest = std::max(longest, name.size());
  }
  std::string figures;
  std::string lists;
  for (const auto& [name, value] : members) {
    if (is_cell(value)) {
      figures += "  " + printable(name) + std::string(longest + 2 - name.size(), ' ') +
                 cell_text(name, value) + "\n";
    } else if (value.size() > 0) {
      lists += "\n" + printable(name) + "\n" + table_text(value, width);
    }
  }
  return title + "\n" + figures + lists;
}

namespace {

constexpr std::array kAnswers{DocumentKind::kPlan,
                              DocumentKind::kSearchSpace,
                              DocumentKind::kSweep,
                              DocumentKind::kExplanation,
                              DocumentKind::kVerification,
                              DocumentKind::kDiff,
                              DocumentKind::kAudit,
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
                              DocumentKind::kTransferPlan,
                              DocumentKind::kExpertPlan,
                              DocumentKind::kExpertSweep,
                              DocumentKind::kExpertExplanation};

Result<DocumentKind> answer_kind(JsonValue root) {
  const std::optional<DocumentKind> kind = kind_of(root);
  if (!kind) {
    return root.error("is none of the answers that commands write with -o");
  }
  if (std::find(kAnswers.begin(), kAnswers.end(), *kind) != kAnswers.end()) return *kind;
  return root.error("this is " + std::string(name_of(*kind)) +
                    ", which is none of the answers that commands write with -o");
}

// Returns the kind without its article: "a plan" becomes "plan".
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
    case DocumentKind::kAudit:
      return root.find("failure") ? SavedAnswer::Page::kAny : SavedAnswer::Page::kAudit;
    default:
      return SavedAnswer::Page::kAny;
  }
}

using Text = std::function<std::string(const TextForm&)>;

// Returns the text that the command which wrote the answer would print.
template <class T>
Result<Text> text_by(std::string (*report)(const T&, std::size_t), JsonValue root) {
  T answer;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(root, answer));
  return Text([report, answer = std::move(answer)](const TextForm& form) {
    return report(answer, form.width);
  });
}

Result<Text> text_of(DocumentKind kind, const JsonDocument& document) {
  const JsonValue root = document.root();
  switch (kind) {
    case DocumentKind::kSweep:
      return text_by(sweep_report, root);
    case DocumentKind::kPlan: {
      SHARDWRIGHT_ASSIGN_OR_RETURN(PlanDocument plan, read_plan(root));
      return Text([plan = std::move(plan)](const TextForm& form) {
        return plan_file_report(plan, form.width);
      });
    }
    case DocumentKind::kExplanation:
      return text_by(explain_report, root);
    case DocumentKind::kMeshSweep:
      return text_by(aten_sweep_report, root);
    case DocumentKind::kAudit:
      return root.find("failure") ? text_by(failed_report, root) : text_by(audit_report, root);
    case DocumentKind::kDiff:
      return page_kind(kind, root) == SavedAnswer::Page::kPlanDiff
                 ? text_by<PlanDiff>(diff_report, root)
                 : text_by<ProblemDiff>(diff_report, root);
    default:
      return Text([document, title = title_of(kind)](const TextForm& form) {
        return saved_text(document.root(), title, form.width);
      });
  }
}

}  // namespace

Result<Answer> answer(const ReportRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::string text, request.answer.read(watch.read));
  const Result<JsonDocument> document = JsonDocument::parse(text);
  if (!document.ok()) return request.answer.locate(document.error());
  const Result<DocumentKind> kind = answer_kind(document->root());
  if (!kind.ok()) return request.answer.locate(kind.error());
  const Result<Text> shown = text_of(*kind, *document);
  if (!shown.ok()) return request.answer.locate(shown.error());
  const auto saved = std::make_shared<SavedAnswer>();
  saved->page = page_kind(*kind, document->root());
  saved->title = title_of(*kind);
  saved->file = request.answer.name();
  saved->json = std::move(text);
  Answer answer;
  answer.write_json = [saved](const TextSink& sink) { sink(saved->json); };
  answer.text = *shown;
  answer.write_page = page_of(saved, [text = answer.text] { return text({}); });
  return answer;
}

}  // namespace shardwright::commands
