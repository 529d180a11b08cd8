#include "runtime/report/html/html_report.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/report/embedding/changes_text.h"
#include "runtime/report/embedding/explain_text.h"
#include "runtime/report/embedding/sweep_text.h"
#include "runtime/report/html/answer_json.h"
#include "runtime/report/html/aten_plan_report_json.h"
#include "runtime/report/html/change_json.h"
#include "runtime/report/html/page.h"
#include "runtime/report/html/plan_report_json.h"
#include "runtime/report/operators/aten_plan_text.h"

namespace shardwright {
namespace {

constexpr std::size_t kTextWidth = 100;  // columns of the text for disabled scripts

// Writes a page with text and data. The text may be empty.
template <class WriteData>
void write_page(const PageParts& page, std::string_view text, const WriteData& write_data,
                const PageSink& sink) {
  sink.write(page.before_text);
  if (!text.empty()) {
    sink.write("<pre>");
    sink.write(escaped_markup(text));
    sink.write("</pre>");
  }
  sink.write(page.before_origin);
  sink.write(escaped_markup(sink.made_by));
  sink.write(page.before_data);
  write_data();
  sink.write(page.after_data);
}

PageParts parts_of(SavedAnswer::Page page) {
  switch (page) {
    case SavedAnswer::Page::kSweep:
      return sweep_page();
    case SavedAnswer::Page::kMeshSweep:
      return aten_sweep_page();
    case SavedAnswer::Page::kPlanDiff:
      return plan_change_page();
    case SavedAnswer::Page::kProblemDiff:
      return problem_change_page();
    case SavedAnswer::Page::kAudit:
      return audit_page();
    case SavedAnswer::Page::kAny:
      break;
  }
  return answer_page();
}

}  // namespace

void write_html_report(const SavedAnswer& saved, std::string_view text, const PageSink& sink) {
  write_page(
      parts_of(saved.page), text,
      [&] { write_saved_data(saved.title, saved.file, saved.json, sink.write); }, sink);
}

void write_html_report(const PlanReport& report, const ExplainedTables& explained,
                       const PlanChange* change, const PageSink& sink) {
  write_page(
      plan_page(), "", [&] { write_plan_report(report, explained, change, sink.write); }, sink);
}

void write_html_report(const PlanChange& change, const PageSink& sink) {
  write_page(
      plan_change_page(), diff_report(change.diff, kTextWidth),
      [&] { write_change_data(change, sink.write); }, sink);
}

void write_html_report(const ProblemDiff& diff, const PageSink& sink) {
  write_page(
      problem_change_page(), diff_report(diff, kTextWidth),
      [&] { write_change_data(diff, sink.write); }, sink);
}

void write_html_report(const Explanation& explanation, const ExplanationAnswer& answer,
                       const PageSink& sink) {
  const auto write_data = [&] {
    const PlanReport report = make_plan_report(*explanation.problem, explanation.result);
    write_plan_report(report, explanation, answer, sink.write);
  };
  write_page(plan_page(), explain_report(answer, kTextWidth), write_data, sink);
}

void write_html_report(const SweepAnswer& sweep, const PageSink& sink) {
  write_page(
      sweep_page(), sweep_report(sweep, kTextWidth), [&] { write_sweep_data(sweep, sink.write); },
      sink);
}

void write_html_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                       const AtenPlanResult& result, std::span<const operators::AtenMove> moves,
                       const PageSink& sink) {
  const auto write_data = [&] {
    write_aten_plan_report(graph, options, result,
                           make_aten_plan_report(graph, options, result, moves), sink.write);
  };
  write_page(aten_plan_page(), aten_plan_report(graph, options, result, kTextWidth), write_data,
             sink);
}

void write_html_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                       const AtenSweep& sweep, const PageSink& sink) {
  write_page(
      aten_sweep_page(), aten_sweep_report(mesh_sweep(sweep), kTextWidth),
      [&] { write_sweep_data(graph, options, sweep, sink.write); }, sink);
}

}  // namespace shardwright
